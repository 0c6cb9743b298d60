"""Lags: how far the evaluation of a query is behind the clock."""

from __future__ import annotations

import time

from rheos.server.host import Host, Query
from rheos.sources.times import FOREVER, NEVER


def lag_of(host: Host, query: Query) -> float | None:
    """The lag of a query in seconds; None unless the query runs and all its streams are live."""
    loop = host.engine.streaming.loop
    if query.handle is None or not query.handle.running or loop is None:
        return None
    reached = loop.reached.get(query.name, NEVER)
    sources = [loop.streams[name] for name in sources_of(host, query) if name in loop.streams]
    known = NEVER < reached < FOREVER and sources and all(source.live for source in sources)
    return time.time() - reached / 1_000_000 if known else None


def sources_of(host: Host, query: Query) -> set[str]:
    """The streams that a query reads. For streams that queries make, also the streams that these read."""
    handles = [known.handle.registered for known in list(host.queries.values()) if known.handle]
    found, left = set[str](), set(query.handle.registered.streams) if query.handle else set()
    while left:
        found |= left
        made_of = (made.streams for made in handles if made.derived in left)
        left = {stream for streams in made_of for stream in streams} - found
    return found
