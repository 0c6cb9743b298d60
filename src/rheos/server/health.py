"""Health: watches a server, and reports at /health which streams, queries and sinks have a problem."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from starlette.responses import Response

from rheos.server import models
from rheos.sources.push import PushLog

if TYPE_CHECKING:
    from rheos.server.host import Host

MINUTE = 60.0
LATE = 1.0  # seconds: from then on /health says how far the server is behind
DEAD_SHARE = 0.01  # of the elements of the last minute: a stream that loses more has a problem
_EVERY = 1.0  # seconds between two looks
_HIDDEN = "why is told to clients with the token for reading it"


class Health:
    """The health of a server, by the counts of the last minute. One thread calls `look`, any thread may
    ask."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._looks: deque[tuple[float, dict[str, tuple[int, int]]]] = deque()
        self._waiting: dict[str, deque[tuple[float, int]]] = {}

    def report(self, readable: Callable[[str], bool]) -> Response:
        """`/health`. It needs no token, and a reason may show a line of a query: those of queries that the
        client may not read are left out."""
        if self._host.failure is not None:
            return models.reply(models.Health("failing", self._host.failure), 503)
        if not self._host.runs:
            return models.reply(models.Health("starting"), 503)
        troubles, late = self.troubles(), self.behind
        if "queries" in troubles:
            told = troubles["queries"].items()
            troubles["queries"] = {name: why if readable(name) else _HIDDEN for name, why in told}
        wrong = {q.name: q.error for q in list(self._host.queries.values()) if q.kept.configured and q.error}
        if wrong:
            # Whoever wrote the configuration relies on its queries, so this is more than a trouble.
            reason = f"the configuration has queries that cannot be registered: {', '.join(sorted(wrong))}"
            return models.reply(models.Health("failing", reason, **troubles), 503)
        if troubles:
            return models.reply(models.Health("degraded", **troubles))
        return models.reply(models.Health("ok", behind=round(late, 1) if late >= LATE else UNSET))

    @property
    def behind(self) -> float:
        """How many seconds the elements of the slowest stream wait now."""
        return max(self._waits().values(), default=0.0)

    def look(self) -> None:
        """Note the counts of elements so far, and the positions at which the logs of push streams end."""
        now = time.monotonic()
        if self._looks and now - self._looks[-1][0] < _EVERY:
            return
        metrics = self._host.metrics().streams
        streams = list(self._host.streams.values())
        counts = {s.name: (metrics[s.iri], s.refused) for s in streams if s.iri in metrics}
        seen = {
            name: (found.read + refused, found.dead + refused) for name, (found, refused) in counts.items()
        }
        self._looks.append((now, seen))
        while len(self._looks) > 2 and now - self._looks[1][0] >= MINUTE:
            self._looks.popleft()
        self._waiting = {
            s.name: self._still_waiting(s.name, s.log, now) for s in streams if s.log is not None
        }

    def _still_waiting(self, name: str, log: PushLog, now: float) -> deque[tuple[float, int]]:
        """Positions at which a log ended at past looks, and up to which the engine has not read yet. Each has
        the time of its look."""
        waiting = self._waiting.get(name, deque())
        taken = log.position - log.backlog
        while waiting and waiting[0][1] <= taken:
            waiting.popleft()
        if log.backlog and (not waiting or waiting[-1][1] < log.position):
            waiting.append((now, log.position))
        return waiting

    def troubles(self) -> dict[str, Any]:
        """What is wrong with streams and queries, by their names. Empty if all is well."""
        streams = self._dead() | self._behind() | self._unreachable()
        queries = {query.name: query.failure for query in list(self._host.queries.values()) if query.failure}
        found = {"streams": streams, "queries": queries, "sinks": self._sinks_behind()}
        return {kind: named for kind, named in found.items() if named}

    def _sinks_behind(self) -> dict[str, str]:
        """Sinks that take nothing now, or for which answers wait too long."""
        found = {}
        for query, sinks in self._host.metrics().sinks.items():
            for sink in sinks:
                if sink.trouble or sink.behind > self._host.limits.behind:
                    late = f"it is {sink.behind:.0f} s behind, {sink.waiting} answers wait"
                    found[f"{query} → {sink.to}"] = f"{late}: {sink.trouble}" if sink.trouble else late
        return found

    def _unreachable(self) -> dict[str, str]:
        """Streams whose broker or server does not answer."""
        metrics = self._host.metrics().streams
        found = ((s.name, metrics[s.iri]) for s in list(self._host.streams.values()) if s.iri in metrics)
        return {name: f"it is not connected: {m.trouble}" for name, m in found if m.trouble}

    def _dead(self) -> dict[str, str]:
        """Streams that lost too many elements in the last minute."""
        looks = list(self._looks)
        found = {}
        for name, (read, dead) in looks[-1][1].items() if looks else ():
            # A stream that is not in the first look is newer, and began with nothing.
            read_before, dead_before = looks[0][1].get(name, (0, 0))
            more, bad = read - read_before, dead - dead_before
            if bad > DEAD_SHARE * more:
                found[name] = (
                    f"{bad} of the {more} elements of the last minute were late, bad or too far ahead"
                )
        return found

    def _behind(self) -> dict[str, str]:
        """Streams whose elements wait too long."""
        allowed = self._host.limits.behind
        return {name: f"it is {late:.0f} s behind" for name, late in self._waits().items() if late > allowed}

    def _waits(self) -> dict[str, float]:
        """How many seconds elements of each stream wait: for the next batch, or in the batch that runs."""
        loop, now = self._host.engine.streaming.loop, time.monotonic()
        busy = 0.0 if loop is None else loop.busy_for
        found = dict.fromkeys(self._host.streams, busy)
        for name, waiting in list(self._waiting.items()):
            if waiting and name in found:
                found[name] = max(busy, now - waiting[0][0])
        return found
