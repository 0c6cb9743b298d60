"""Views: the present contents of windows on streams.

A view is a registered query. All clients that look at the same stream through the same window share one view.
The view of a stream's own window is there as long as the stream. The other views are made when a client asks
for them, and dropped when nobody has asked for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

import pyarrow as pa

from rheos.algebra.streams import LogicalWindow, MovingWindow, PhysicalWindow
from rheos.answers.continuous import EPOCH, Answer
from rheos.durations import UNITS
from rheos.engine import Engine
from rheos.runtime.driver.handle import Handle
from rheos.server import windows
from rheos.server.limits import Limits
from rheos.server.problems import Problem
from rheos.sources import times

Triple = tuple[str, str, str]

SECOND = UNITS["s"]
NOTHING = pa.table({name: pa.array([], pa.string()) for name in "spo"})


@dataclass(frozen=True)
class Content:
    """What was in a window at an instant: `at` is the time of the instant, `table` has the triples (s, p, o,
    time). `same_second` is True if the content before this one was of the same second."""

    at: int
    table: pa.Table = field(repr=False)
    same_second: bool = False
    bodies: dict[str, bytes] = field(default_factory=dict, repr=False)  # written once for all clients

    @classmethod
    def of(cls, answer: Answer, before: Content | None) -> Content:
        at = (answer.at - EPOCH) // timedelta(microseconds=1)
        same = before is not None and before.at // SECOND == at // SECOND
        columns = answer.table.columns
        return cls(at, pa.table(columns, names=["s", "p", "o", "time"]), same)

    @cached_property
    def moments(self) -> dict[int, list[Triple]]:
        """The triples of each moment, in order of time."""
        found: dict[int, list[Triple]] = {}
        stamps = times.read(self.table.column("time").combine_chunks()).microseconds.tolist()
        terms = (self.table.column(name).to_pylist() for name in "spo")
        for moment, *triple in sorted(zip(stamps, *terms, strict=True)):
            found.setdefault(moment, []).append((triple[0], triple[1], triple[2]))
        return found

    def expires(self, window: MovingWindow) -> int:
        """When the window will move. A physical window moves with the next triple, which is expected after
        the average time between the others."""
        if isinstance(window, LogicalWindow):
            return self.at + window.step
        known = list(self.moments)
        gaps = max(1, self.table.num_rows - 1)
        return self.at + (max(1, (known[-1] - known[0]) // gaps) if len(known) > 1 else SECOND)


@dataclass
class View:
    """A window on a stream, and its latest content. A `lasting` view is never dropped."""

    stream: str
    iri: str
    window: MovingWindow
    lasting: bool
    handle: Handle | None = None
    content: Content | None = None
    opened: float = field(default_factory=time.monotonic)
    asked: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return f"{self.stream}/{windows.path_of(self.window)}"

    def take(self, answer: Answer) -> None:
        """The window has moved: keep its new content."""
        self.content = Content.of(answer, self.content)


@dataclass(frozen=True)
class Held(Mapping[str, pa.Table]):
    """The present contents of windows as tables, by the IRIs of their streams. `check` is asked for a stream
    only when its table is read."""

    views: Mapping[str, View]
    check: Callable[[str], None]

    def __getitem__(self, iri: str) -> pa.Table:
        view = self.views[iri]
        self.check(view.stream)
        return NOTHING if view.content is None else view.content.table

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)


class Views:
    """The views of an engine. Any thread may ask for them."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._lock = threading.RLock()
        self._views: dict[str, View] = {}

    def open(self, stream: str, iri: str, window: MovingWindow, *, lasting: bool = False) -> View:
        """The view of a window, which is registered when it is asked for the first time."""
        wanted = View(stream, iri, window, lasting)
        with self._lock:
            known = self._views.get(wanted.name)
            if known is not None:
                known.asked = time.monotonic()
                return known
            if not lasting:
                self._check(window)
            handle = self._engine.register(
                windows.view_text(wanted.name, iri, window),
                dialect="csparql",
                keep=0,
                view=True,
                entailment="none",  # a view shows elements, not what they entail
            )
            wanted.handle = handle
            handle.subscribe(wanted.take)
            self._views[wanted.name] = wanted
        if not lasting:
            self._engine.streaming.ask_for_batch()
        return wanted

    def _check(self, window: MovingWindow) -> None:
        """Refuse a window that is too large, or one too many: every client may choose windows."""
        limits = self._limits
        if sum(not view.lasting for view in self._views.values()) >= limits.views:
            detail = (
                f"{limits.views} windows are being looked through; one is dropped when nobody asks for it"
            )
            raise Problem(503, "There are too many views", detail, headers={"Retry-After": "60"})
        match window:
            case PhysicalWindow(triples) if triples > limits.triples:
                raise Problem(400, "The window is too large", f"at most {limits.triples} triples")
            case LogicalWindow(length, step) if length > limits.window * SECOND:
                raise Problem(400, "The window is too long", f"at most {limits.window} seconds")
            case LogicalWindow(length, step) if length // step > limits.triples:
                raise Problem(400, "The step is too short", "the window would move too often")

    def holding(self, stream: str, moment: int) -> Iterator[tuple[View, Content]]:
        """The views of a stream whose windows hold a moment now, with their contents."""
        for view in list(self._views.values()):
            content = view.content
            if view.stream == stream and content is not None and moment in content.moments:
                yield view, content

    def held(self, check: Callable[[str], None]) -> Held:
        """The present contents of the own windows of all streams. `check` gets the name of a stream, and
        raises a Problem if the client may not read that stream."""
        return Held({view.iri: view for view in list(self._views.values()) if view.lasting}, check)

    def close(self, stream: str) -> None:
        """Drop all the views of a stream."""
        self._drop(lambda view: view.stream == stream)

    def close_unasked(self) -> None:
        """Drop the views that nobody has asked for lately."""
        oldest = time.monotonic() - self._limits.unasked
        self._drop(lambda view: not view.lasting and view.asked < oldest)

    def _drop(self, chosen: Callable[[View], bool]) -> None:
        with self._lock:
            for view in [view for view in self._views.values() if chosen(view)]:
                assert view.handle is not None
                view.handle.unregister()
                del self._views[view.name]

    def __len__(self) -> int:
        return len(self._views)
