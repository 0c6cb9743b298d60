"""The Streaming Linked Data server: streams, queries and their answers over HTTP.

    config ─▶ serve ─▶ app ─┬─ linked (s-graphs and i-graphs), pages ◀─ views ◀─┐
                            ├─ control (queries, streams), push ──────────────▶ host ─▶ Engine
                            ├─ events (answers as they come) ◀─ answers ◀───────┤
                            ├─ details (plans, last answers, dry runs), rates ◀─┘
                            └─ protocol (/sparql), metrics, health, openapi

Only `host` knows the engine, and only `host` changes anything. The other modules turn requests into calls of
the host, and its results into responses. `models` has the types of all bodies.
"""

from __future__ import annotations

from importlib.util import find_spec

from rheos.errors import MissingExtra

# The packages of the extra `server`, by the names under which they are imported.
PACKAGES = ("jinja2", "msgspec", "prometheus_client", "starlette", "uvicorn", "websockets")


def check() -> None:
    """Raise MissingExtra if packages of the extra `server` are missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"the server needs {', '.join(missing)}", "server")
