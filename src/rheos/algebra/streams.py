"""What makes a query continuous: the windows it looks through, when it reports, and as what."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from rheos.algebra.nodes import Query, TriplePattern


@dataclass(frozen=True, slots=True)
class LogicalWindow:
    """The elements of the last `range` microseconds before a time that is `delay` before the instant; it
    moves on every `step` microseconds."""

    range: int
    step: int
    delay: int = 0


@dataclass(frozen=True, slots=True)
class PhysicalWindow:
    """The last so many triples, or graphs of a stream of these; it moves on after `step` more."""

    triples: int
    step: int
    graphs: bool = False


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Elements of which each comes at most `gap` microseconds after the one before; `by_subject`, of the same
    subject. Its instant is as long after the last."""

    gap: int
    by_subject: bool = False


MovingWindow = LogicalWindow | PhysicalWindow
Window = MovingWindow | SessionWindow

# Report all answers, what is new among them, or what is gone.
StreamOperator = Literal["RSTREAM", "ISTREAM", "DSTREAM"]


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window on a stream (a term): its named graph and, if not `named`, also part of the default graph. In
    RSP-QL it is no graph of the data set, but has a `name` of its own, a term. With a `sample`, it holds so
    many triples of a million."""

    stream: str
    window: Window
    named: bool = False
    name: str | None = None
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A variable of a SELECT that is an aggregate of a sample: COUNT, SUM or AVG. The query answers what its
    error is computed from in further variables: how many values there are, their sum, and that of their
    squares, as far as the aggregate needs them."""

    variable: str
    function: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CSparqlQuery:
    """A registered query: reported at the instants of its windows, or every so many microseconds.

    One that `makes_stream` gives its triples to other queries as a stream. The `operator` says what it
    reports: its answers, or how these differ from those of the evaluation before. One that is `stretched`
    skips all but the last of the instants that a batch completes. Of samples, it has `estimates`.
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
        """Whether it is evaluated for sessions, and at no other instants."""
        return any(isinstance(window.window, SessionWindow) for window in self.windows)

    @property
    def compares(self) -> bool:
        """Whether what it reports depends on the evaluation before."""
        return self.operator != "RSTREAM"

    @property
    def keeps_nodes(self) -> bool:
        """Whether the same solution makes the same blank nodes at different instants."""
        return self.compares


@dataclass(frozen=True, slots=True)
class RspqlQuery(CSparqlQuery):
    """A registered query of RSP-QL: its windows have names, under which patterns look into them.

    Its text may say under which `entailment` it is.
    """

    entailment: str | None = None

    @property
    def keeps_nodes(self) -> bool:
        return True


# --- CQELS-QL: an answer on every arrival -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """The elements of the last `range` microseconds, both ends included; NOW is a range of 0.

    With a `slide` it moves only at the multiples of that.
    """

    range: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class LastWindow:
    """TRIPLES n: the last so many elements that match one of the patterns of the window."""

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
    """What the blank nodes that a query makes have in their labels, so that they are those of no other."""
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


# --- EP-SPARQL: events in order -----------------------------------------------------------------------

Consumption = Literal["unrestricted", "recent", "chronological"]


@dataclass(frozen=True, slots=True)
class EPSparqlQuery:
    """A registered query of EP-SPARQL: it reports each solution once, when its interval has ended.

    Its stream are all the elements of `streams`, terms; None are all streams that there are. A CONSTRUCT is a
    rule: what it makes is part of the stream of every such query.
    """

    name: str
    query: Query
    streams: tuple[str, ...] | None = None
    makes_stream: bool = False
    consumption: Consumption = "unrestricted"
