"""The registry: the registered queries of an engine. It gives handles to users, and plans to the runtime. Any
thread may register, stop, start and unregister queries."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rheos.algebra.entailment import Schema
from rheos.errors import Position, QuerySyntaxError, RheosError
from rheos.iris import DEFAULT_BASE, closest
from rheos.runtime.driver.handle import Handle
from rheos.runtime.driver.metrics import QueryMetrics
from rheos.runtime.plan import (
    Plan,
    Registered,
    circle_path,
    components,
    families,
    grouped,
    is_circle,
    sharing,
    work,
)
from rheos.runtime.state.progress import Progress
from rheos.sources.times import NEVER

if TYPE_CHECKING:
    from rheos.runtime.driver.sinks import Sinks

# A group of queries has about so many queries at least: fewer are not worth a task of their own.
GROUP_SIZE = 8
# So many answers of a query are kept by default.
KEEP = 1000


@dataclass
class Registry:
    """The queries by name. `sources` are the existing streams from outside, as terms. `seen_after` says, for
    each query and stream, after which time the query sees elements."""

    handles: dict[str, Handle] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    seen_after: dict[str, dict[str, int]] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)  # by the first member of a family
    derivations: Callable[[Schema], pa.Table] | None = None  # what a schema entails of any triple
    warn: Callable[[str], None] = print
    sinks: Sinks | None = None

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._halted: set[str] = set()
        self._removed: set[str] = set()
        self._versions = itertools.count(1)
        self._version = next(self._versions)
        self._now: Callable[[], Mapping[str, int]] = dict
        self._plan: Plan | None = None

    def clocked(self, now: Callable[[], Mapping[str, int]]) -> None:
        """Set the function that says how far each stream is. Queries that are registered while streams flow
        see the elements after that."""
        self._now = now

    def add(
        self,
        registered: Registered,
        text: str,
        named: Sequence[tuple[str, Position]] = (),
        *,
        base: str = DEFAULT_BASE,
        keep: int | None = KEEP,
        entailment: str = "none",
        replace: bool = False,
        checked: bool = False,
        dry: bool = False,
    ) -> Handle:
        """Add a query; if it may `replace`, in the place of the query with its name. If `checked`, the
        streams that it names must exist; otherwise they may be added later. A `dry` query is only checked,
        not added."""
        with self._lock:
            name = registered.name
            known = self.handles.get(name)
            if known is not None and not replace:
                raise RheosError(f"there is a query {name} already: unregister it, or use another name")
            if known is not None and known.registered.derived != registered.derived:
                self._check_unread(known)
            if registered.derived is not None and registered.derived in self.sources:
                raise RheosError(
                    f"{name} would make a stream that has a source already: {registered.derived}"
                )
            others = [handle.registered for handle in self.handles.values() if handle is not known]
            # Only a query that makes a stream can close a circle.
            *others, registered = self._resolved([*others, registered])
            for together in components([*others, registered] if registered.derived is not None else []):
                if is_circle(together):
                    path = circle_path(together)
                    together[0].operator.check_circle(" → ".join([*path, path[0]]), together)
            handle = Handle(self, registered, text, base, named, keep, entailment)
            if checked:
                self._check(handle, {*(query.derived for query in others), registered.derived})
            if dry:
                return handle
            self.handles[name] = handle
            self._halted.discard(name)
            if registered.operator.rule:
                self.resolve()  # other queries may read the triples that it makes
            self._from_now(registered)
            self._version = next(self._versions)
            return handle

    def _check_unread(self, handle: Handle) -> None:
        readers = [
            other.name
            for other in self.handles.values()
            if other is not handle and other.reads(handle.registered.derived)
        ]
        if readers:
            raise RheosError(f"{handle.name} makes a stream that is read by {', '.join(sorted(readers))}")

    def remove(self, name: str) -> None:
        with self._lock:
            handle = self._known(name)
            self._check_unread(handle)
            del self.handles[name]
            if handle.registered.operator.rule:
                self.resolve()
            self._halted.discard(name)
            self._removed.add(name)
            self.seen_after.pop(name, None)
            self._version = next(self._versions)
        if self.sinks is not None:
            self.sinks.remove(name)

    def fail(self, name: str, reason: str) -> None:
        """Stop a query that cannot go on, if a query with this name still runs, and warn."""
        handle = self.handles.get(name)
        if handle is not None and self.runs(name):
            handle.fail(reason)
            self.warn(f"the query {name} was stopped: {reason}")

    def resolve(self) -> None:
        """Update every query that names no streams: it reads all present streams from outside, and the
        streams of those rules whose triples it could match."""
        with self._lock:
            resolved = self._resolved([handle.registered for handle in self.handles.values()])
            for handle, registered in zip(self.handles.values(), resolved, strict=True):
                handle.registered = registered
            self._version = next(self._versions)

    def _resolved(self, queries: Sequence[Registered]) -> list[Registered]:
        rules = {
            query.derived: query.operator.rule
            for query in queries
            if query.operator.rule and query.derived is not None
        }
        return [
            replace(query, operator=query.operator.reading(self.sources, rules, self.derivations))
            for query in queries
        ]

    def removed(self) -> set[str]:
        """The names of the queries that were removed since the last call. Other queries
        may have them by now."""
        with self._lock:
            found, self._removed = self._removed, set()
            return found

    def halt(self, name: str) -> None:
        with self._lock:
            self._known(name)
            self._halted.add(name)
            self._version = next(self._versions)

    def failures(self) -> dict[str, str]:
        """The reasons for which queries were stopped, by name, for those that could not go on."""
        with self._lock:
            return {name: h.metrics.failure for name, h in self.handles.items() if h.metrics.failure}

    def metrics(self) -> dict[str, QueryMetrics]:
        """The metrics of the queries, by name."""
        with self._lock:
            return {name: handle.metrics for name, handle in self.handles.items()}

    def resume(self, name: str) -> None:
        with self._lock:
            handle = self._known(name)
            handle.metrics = replace(handle.metrics, failure=None)
            if name in self._halted:
                self._halted.discard(name)
                self._from_now(handle.registered)
                self._version = next(self._versions)

    def behind(self, stream: str) -> tuple[set[str], list[Handle]]:
        """A stream together with all streams that are derived from it, and the queries
        that read one of these."""
        with self._lock:
            streams, found = {stream}, list[Handle]()
            while more := [
                h for h in self.handles.values() if h not in found and h.registered.streams & streams
            ]:
                found += more
                streams |= {h.registered.derived for h in more if h.registered.derived is not None}
            return streams, found

    def restart(self, handles: Sequence[Handle], now: Mapping[str, int]) -> None:
        """Let queries see only the elements after `now`, which says how far each stream is."""
        with self._lock:
            for handle in handles:
                self._from(handle.registered, now)

    def flow(self, name: str) -> str:
        """How the family of a query was last evaluated."""
        found = self._plan.families if self._plan is not None else ()
        first = next((some.members[0] for some in found if name in some.members), "")
        return self.flows.get(first, "")

    def runs(self, name: str) -> bool:
        return name in self.handles and name not in self._halted

    def clear(self) -> None:
        with self._lock:
            self.handles.clear()
            self.sources.clear()
            self.seen_after.clear()
            self._halted.clear()
            self._now = dict
            self._version = next(self._versions)

    def now(self, progress: Mapping[str, Progress], reached: Mapping[str, int]) -> dict[str, int]:
        """How far each stream is, including derived ones, given the progress of the streams from outside, and
        how far the queries were evaluated."""
        known = {name: found.high for name, found in progress.items()}
        with self._lock:
            makers = [(h.registered.derived, h.name) for h in self.handles.values()]
        return known | {derived: reached.get(name, NEVER) for derived, name in makers if derived is not None}

    def described(self) -> dict[str, Any]:
        """What a checkpoint keeps of the queries, and of the streams from outside that they read. The
        elements for a stopped query are dropped, so `seen_after` does not have it."""
        with self._lock:
            queries = [handle.registered for handle in self.handles.values()]
            read = {stream for query in queries for stream in query.streams}
            return {
                "queries": {
                    name: {"text": handle.text, "base": handle.base, "entailment": handle.entailment}
                    for name, handle in self.handles.items()
                },
                "streams": sorted(read - {query.derived for query in queries}),
                "seen_after": {name: dict(self.seen_after[name]) for name in self.handles if self.runs(name)},
            }

    def go_on(self, seen_after: Mapping[str, Mapping[str, int]], now: Mapping[str, int]) -> list[str]:
        """Let the queries of an earlier run see the same elements as in it, and all other queries the
        elements after `now`. The result is the names of the other queries."""
        with self._lock:
            self._now = lambda: now
            new = [name for name in self.handles if name not in seen_after]
            for name in new:
                self._from_now(self.handles[name].registered)
            self.seen_after |= {name: dict(seen_after[name]) for name in self.handles if name in seen_after}
            return new

    def plan(self, streams: Iterable[str], cores: int) -> Plan:
        """The plan of the queries that run now, with at most as many groups as there are cores. `streams` are
        those that flow."""
        with self._lock:
            version = str(self._version)
            if self._plan is not None and self._plan.version == version:
                return self._plan
            running = [h.registered for name, h in self.handles.items() if name not in self._halted]
            groups = grouped(running, max(1, min(cores, work(running) // GROUP_SIZE)))
            unread = set(streams) - {stream for query in running for stream in query.streams}
            makers = (self.handles[name].registered for name in self._halted)
            self._plan = Plan(
                version,
                tuple(map(sharing, groups or ((),) if unread else groups)),
                tuple(sorted(unread)),
                frozenset(query.derived for query in makers if query.derived is not None),
                families(running),
            )
            return self._plan

    def check(self) -> None:
        """Refuse queries that name a stream that does not exist."""
        with self._lock:
            made = {handle.registered.derived for handle in self.handles.values()}
            for handle in self.handles.values():
                self._check(handle, made)

    def _check(self, handle: Handle, made: set[str | None]) -> None:
        for stream, position in handle.named:
            if stream not in self.sources and stream not in made:
                raise QuerySyntaxError(self._unknown(stream, made), handle.text, position)

    def _unknown(self, stream: str, made: Iterable[str | None]) -> str:
        known = sorted({*self.sources, *(name for name in made if name is not None)})
        meant = closest(stream, known)
        if meant is not None:
            return f"nobody supplies the stream {stream}; did you mean {meant}?"
        supplied = f"there is {', '.join(known)}" if known else "there is none at all"
        return f"nobody supplies the stream {stream}: {supplied}"

    def _known(self, name: str) -> Handle:
        if name not in self.handles:
            raise RheosError(f"there is no query {name}")
        return self.handles[name]

    def _from_now(self, registered: Registered) -> None:
        self._from(registered, self._now())

    def _from(self, registered: Registered, now: Mapping[str, int]) -> None:
        if registered.operator.view:
            self.seen_after[registered.name] = {}
            return
        seen_after = {stream: now[stream] for stream in registered.streams if now.get(stream, NEVER) > NEVER}
        self.seen_after[registered.name] = seen_after
