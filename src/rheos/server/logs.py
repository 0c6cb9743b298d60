"""The server's log: lines of JSON on standard error."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

_LOGGER = logging.getLogger("rheos.server")
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log(event: str, *, level: str = "info", exception: BaseException | None = None, **fields: object) -> None:
    """Write a line. Without `begin`, nothing is written."""
    _LOGGER.log(_LEVELS[level], event, exc_info=exception, extra={"fields": fields})


def begin() -> None:
    """Make all loggers of this process write lines of JSON, also those of uvicorn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.INFO)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.name != _LOGGER.name:
            content["logger"] = record.name
        if record.exc_info and record.exc_info[1] is not None:
            content["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(content, ensure_ascii=False, default=str)
