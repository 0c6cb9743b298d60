"""An engine inside a server: what is different where streams and queries come and go for as long as it runs.

- All streams flow, with or without a query that reads them, so that one can be registered at any time.
- The server keeps account of the queries. What a checkpoint has of one that is no longer registered, or is
  another now, is given up; without a server that is an error, since nobody may have meant it.
- A query is checked at once, and one that takes too long is stopped, so that it does not hold up the others.
- Warnings go to the server's log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hosting:
    """`limit` is how many seconds a query may take for a batch."""

    warn: Callable[[str], None]
    limit: float | None = None
