"""Continuous queries of the four languages as data: their windows, when they report, and what they report."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from rheos.algebra.nodes import Query, TriplePattern


@dataclass(frozen=True, slots=True)
class LogicalWindow:
    """The elements of `range` microseconds that end `delay` before the instant; it moves every `step`."""

    range: int
    step: int
    delay: int = 0


@dataclass(frozen=True, slots=True)
class PhysicalWindow:
    """The last `triples` triples, or with `graphs` the last graphs; it moves after `step` more of them."""

    triples: int
    step: int
    graphs: bool = False


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Elements each of which comes at most `gap` microseconds after the one before.

    With `by_subject`, each subject has its own sessions. The instant of a session is `gap` after its last
    element.
    """

    gap: int
    by_subject: bool = False


MovingWindow = LogicalWindow | PhysicalWindow
Window = MovingWindow | SessionWindow

# What an evaluation reports: all answers, the new answers, or the answers that are gone.
StreamOperator = Literal["RSTREAM", "ISTREAM", "DSTREAM"]


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window on a stream, given as a term.

    The window is the named graph of its stream and, unless it is `named`, also part of the default graph. A
    window of RSP-QL is not a graph of the dataset, but has a `name` of its own, a term. With `sample`, the
    window holds that many of a million triples.
    """

    stream: str
    window: Window
    named: bool = False
    name: str | None = None
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A variable of a SELECT that is an aggregate over a sample: COUNT, SUM or AVG.

    The query has further variables (`needs`) from which the error of the estimate is computed: the number of
    values, their sum and the sum of their squares, as far as the aggregate needs them.
    """

    variable: str
    function: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CSparqlQuery:
    """A registered query: it reports at the instants of its windows, or `every` so many microseconds.

    If it `makes_stream`, other queries can read its triples as a stream. The `operator` says what it reports:
    its answers, or how these differ from the evaluation before. If it is `stretched`, it skips all but the
    last of the instants that a batch completes. A query on a sample has `estimates`.
    """

    name: str
    query: Query
    windows: tuple[StreamWindow, ...]
    every: int | None = None
    makes_stream: bool = False
    operator: StreamOperator = "RSTREAM"
    stretched: bool = False
    estimates: tuple[Estimate, ...] = ()

    @property
    def has_sessions(self) -> bool:
        """Whether the query has session windows, and so is evaluated only when sessions end."""
        return any(isinstance(window.window, SessionWindow) for window in self.windows)

    @property
    def compares(self) -> bool:
        """Whether the report depends on the evaluation before."""
        return self.operator != "RSTREAM"

    @property
    def keeps_nodes(self) -> bool:
        """Whether the same solution makes the same blank nodes at different instants."""
        return self.compares


@dataclass(frozen=True, slots=True)
class RspqlQuery(CSparqlQuery):
    """A registered query of RSP-QL: patterns look into its windows by their names.

    The text of the query may name its `entailment`.
    """

    entailment: str | None = None

    @property
    def keeps_nodes(self) -> bool:
        return True


# --- CQELS-QL: an answer on every arrival -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """The elements of the last `range` microseconds, both ends included; NOW is a range of 0.

    With `slide`, the window moves only at multiples of it.
    """

    range: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class LastWindow:
    """TRIPLES n: the last n elements that match one of the patterns of the window."""

    triples: int


@dataclass(frozen=True, slots=True)
class AllWindow:
    """ALL: every element so far."""


CqelsWindow = RangeWindow | LastWindow | AllWindow


@dataclass(frozen=True, slots=True)
class StreamClause:
    """`STREAM <iri> [window] { patterns }`; the stream is a term."""

    stream: str
    window: CqelsWindow
    patterns: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class CqelsQuery:
    """A registered query of CQELS-QL: it ticks with every element of its streams and reports what is new.

    The StreamPatterns of its pattern name the windows by their numbers, from 1.
    """

    name: str
    query: Query
    windows: tuple[StreamClause, ...]
    makes_stream: bool = False


def mark_of(name: str) -> str:
    """A mark in the labels of the blank nodes that a query makes, so that other queries make other nodes."""
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


# --- EP-SPARQL: events in order -----------------------------------------------------------------------

Consumption = Literal["unrestricted", "recent", "chronological"]


@dataclass(frozen=True, slots=True)
class EPSparqlQuery:
    """A registered query of EP-SPARQL: it reports each solution once, when its interval has ended.

    It reads all elements of `streams`, given as terms; None stands for all streams. A CONSTRUCT is a rule:
    its triples are part of the stream of every query of EP-SPARQL.
    """

    name: str
    query: Query
    streams: tuple[str, ...] | None = None
    makes_stream: bool = False
    consumption: Consumption = "unrestricted"
