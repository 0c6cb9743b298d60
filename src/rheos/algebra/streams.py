"""What makes a query continuous: the windows it looks through, when it reports, and as what."""

from __future__ import annotations

from dataclasses import dataclass

from rheos.algebra.nodes import Query


@dataclass(frozen=True, slots=True)
class LogicalWindow:
    """The elements of the last `range` microseconds; it moves on every `step` of them."""

    range: int
    step: int


@dataclass(frozen=True, slots=True)
class PhysicalWindow:
    """The last so many triples; it moves on after `step` more."""

    triples: int
    step: int


Window = LogicalWindow | PhysicalWindow


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window on a stream (a term): its named graph and, if not `named`, also part of the default graph."""

    stream: str
    window: Window
    named: bool = False


@dataclass(frozen=True, slots=True)
class Continuous:
    """A registered query: reported at the instants of its windows, or every so many microseconds.

    One that `makes_stream` gives its triples to other queries as a stream.
    """

    name: str
    query: Query
    windows: tuple[StreamWindow, ...]
    every: int | None = None
    makes_stream: bool = False
