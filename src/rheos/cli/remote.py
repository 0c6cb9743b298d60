"""`rheos update` and `rheos load`: change the static data of a running server."""

from __future__ import annotations

import json
import sys
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from rheos.errors import RheosError
from rheos.store import formats

_PATIENCE = 600.0  # seconds


def update(server: str, text: str, token_file: Path | None) -> None:
    """Send an update, and say how many triples it has changed."""
    found = _send(server, "sparql", text.encode(), "application/sparql-update", token_file)
    _tell(found["changed"], "changed")


def load(
    server: str,
    files: list[Path],
    graph: str | None,
    format: str | None,
    replace: bool,
    token_file: Path | None,
) -> None:
    """Send files to a graph, one by one. With `replace`, the first of them replaces the graph."""
    where = "default" if graph is None else f"graph={quote(graph, safe='')}"
    for number, file in enumerate(files):
        kind = formats.by_path(str(file)) if format is None else formats.by_name(format, str(file))
        content = _content(file)
        method = "PUT" if replace and number == 0 else "POST"
        found = _send(server, f"rdf-graph-store?{where}", content, kind.media_type, token_file, method)
        _tell(found["changed"], f"changed by {file}")


def _content(file: Path) -> bytes:
    import gzip

    try:
        content = file.read_bytes()
        return gzip.decompress(content) if file.suffix == formats.GZIP_EXTENSION else content
    except OSError as error:
        raise RheosError(f"{file}: {error.strerror or error}") from None


def _tell(count: int, what: str) -> None:
    print(f"{count:,} {'triple' if count == 1 else 'triples'} {what}", file=sys.stderr)


def _send(
    server: str, path: str, body: bytes, kind: str, token_file: Path | None, method: str = "POST"
) -> dict[str, Any]:
    """Send a request; returns the server's answer. RheosError if the server refuses or does not answer."""
    headers = {"Content-Type": kind, "Accept": "application/json"}
    if token_file is not None:
        headers["Authorization"] = f"Bearer {token_file.read_text().strip()}"
    url = f"{server.rstrip('/')}/{path}"
    if not url.startswith(("http://", "https://")):
        raise RheosError(f"the address of a server begins with http:// or https://, not {server!r}")
    try:
        with urlopen(Request(url, body, headers, method=method), timeout=_PATIENCE) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except HTTPError as error:
        raise RheosError(_problem(error)) from None
    except (URLError, HTTPException, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise RheosError(f"{server} does not answer: {reason}") from None
    except ValueError:
        raise RheosError(f"{server} is no server of rheos: it does not answer with JSON") from None


def _problem(error: HTTPError) -> str:
    try:
        told = json.load(error)
        return f"{told['title']}: {told['detail']}" if told.get("detail") else str(told["title"])
    except (ValueError, KeyError, TypeError):
        return f"the server answers with {error.code}"
