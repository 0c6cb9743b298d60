"""Hosting: what an engine does differently inside a server, where streams and queries come and go.

- All streams flow, with or without a query that reads them, so that a query can be registered at any time.
- The server keeps account of the queries. The state that a checkpoint has for a query that was removed or has
  changed is given up. Without a server that is an error, since it may be a mistake.
- A query is checked when it is registered, and stopped if it takes too long, so that others need not wait.
- Warnings go to the server's log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hosting:
    """The server's settings for its engine. `limit` is how many seconds a query may take for a batch."""

    warn: Callable[[str], None]
    limit: float | None = None
