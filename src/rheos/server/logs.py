"""The server's log: lines on standard error, as JSON or as text for people."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

_LOGGER = logging.getLogger("rheos.server")
_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")}


def log(event: str, *, level: str = "info", exception: BaseException | None = None, **fields: object) -> None:
    """Write a line. Before `begin`, lines below the level warning are dropped."""
    _LOGGER.log(_LEVELS[level], event, exc_info=exception, extra={"fields": fields})


def begin(level: str = "info", format: str = "json") -> None:
    """Make all loggers of this process write lines of this form, also those of uvicorn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines() if format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, _LEVELS[level]))
    _LOGGER.setLevel(_LEVELS[level])


def _content(record: logging.LogRecord) -> dict[str, object]:
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
    return content


class _Lines(logging.Formatter):
    """One object of JSON a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_content(record), ensure_ascii=False, default=str)


class _Text(logging.Formatter):
    """`time level event name=value …`, and a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        content = _content(record)
        trace = content.pop("traceback", None)
        head = " ".join(str(content.pop(key)) for key in ("time", "level", "event"))
        more = (f"{key}={json.dumps(value, default=str)}" for key, value in content.items())
        line = " ".join([head, *more])
        return line if trace is None else f"{line}\n{str(trace).rstrip()}"
