"""The algebra of section 18 of the SPARQL 1.1 recommendation as frozen nodes, shared by all languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rheos.algebra.expressions import Aggregate, Constant, Expression, Variable

Term = Variable | Constant


# --- property paths ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """One predicate, in the form of `rheos.terms`."""

    predicate: str


@dataclass(frozen=True, slots=True)
class Inverse:
    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class Alternative:
    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class ZeroOrMore:
    path: Path


@dataclass(frozen=True, slots=True)
class OneOrMore:
    path: Path


@dataclass(frozen=True, slots=True)
class ZeroOrOne:
    path: Path


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """Any one step whose predicate is not among these (inverse steps are an Alternative of an Inverse)."""

    predicates: frozenset[str]


Path = Link | Inverse | Sequence | Alternative | ZeroOrMore | OneOrMore | ZeroOrOne | NegatedSet


# --- patterns ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Time:
    """A variable for the time of the stream triple that a pattern matches; of one stream only, if named."""

    variable: Variable
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class TriplePattern:
    subject: Term
    predicate: Term
    object: Term
    times: tuple[Time, ...] = ()

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class BGP:
    """A basic graph pattern; the empty one has one solution that binds nothing.

    `small` are the places of the patterns that the optimiser found small enough to send to every worker.
    """

    patterns: tuple[TriplePattern, ...] = ()
    small: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path between two ends. With `seeds` only those solutions are asked for whose subject, a variable,
    has a value that it has in a solution of the seeds."""

    subject: Term
    path: Path
    object: Term
    seeds: Node | None = None


@dataclass(frozen=True, slots=True)
class Join:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class LeftJoin:
    left: Node
    right: Node
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Minus:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expression
    pattern: Node


@dataclass(frozen=True, slots=True)
class Graph:
    name: Term
    pattern: Node


@dataclass(frozen=True, slots=True)
class InWindow(Graph):
    """WINDOW of RSP-QL: the pattern on what the window of that name holds, as a default graph of its own.
    GRAPH inside is about the graphs of the stream that are in the window."""


@dataclass(frozen=True, slots=True)
class Extend:
    pattern: Node
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data: terms in the form of `rheos.terms`, None for UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Grouping by key variables (each already bound by an Extend), and the aggregates of each group.

    With no keys there is exactly one group, even of no rows.
    """

    pattern: Node
    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate over the rows that agree on some variables (AGGREGATE of C-SPARQL)."""

    variable: Variable
    aggregate: Aggregate
    group: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Every solution of the pattern, extended by aggregates: nothing is collapsed, as with SQL's windows."""

    pattern: Node
    aggregations: tuple[Aggregation, ...]


@dataclass(frozen=True, slots=True)
class Project:
    pattern: Node
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    pattern: Node


@dataclass(frozen=True, slots=True)
class Reduced:
    pattern: Node


@dataclass(frozen=True, slots=True)
class Order:
    """One condition of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy:
    pattern: Node
    conditions: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    pattern: Node
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class SeqJoin:
    """SEQ of EP-SPARQL: the left ends before the right starts.

    With SEQ NOT no solution that is compatible lies `between` both. If `alike`, none lies between any
    solutions of both sides that bind the same as these and have the same interval together: what the
    optimiser makes of how the papers say it. With a policy of consumption, which `pairs` it makes of what
    occurs is decided apart.
    """

    left: Node
    right: Node
    between: Node | None = None
    pairs: Pairs | None = None
    alike: bool = False


@dataclass(frozen=True, slots=True)
class SeqRightJoin:
    """OPTIONALSEQ: the left, which is optional, ends before the right starts."""

    left: Node
    right: Node
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class EqJoin:
    """EQUALS: both start and end together."""

    left: Node
    right: Node


AllenRelation = Literal["MEETS", "OVERLAPS", "STARTS", "DURING", "FINISHES"]


@dataclass(frozen=True, slots=True)
class AllenJoin:
    """One of Allen's relations between the intervals of both sides.

    Of the thirteen, EQUALS is an `EqJoin` and BEFORE a `SeqJoin`; converses have their sides exchanged. With
    FINISHES both sides end together, with all others the right one ends last.
    """

    relation: AllenRelation
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class EqLeftJoin:
    """EQUALSOPTIONAL: the right, which is optional, starts and ends with the left."""

    left: Node
    right: Node
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """WITHIN of EP-SPARQL: at each end e of a solution of the pattern, the aggregates over those solutions
    that agree with it in the variables of `group` and have ended in (e - within, e], itself among them.

    One row for each group and end, of these variables and the aggregates alone, as of a Group. Its interval
    goes from the earliest start among the solutions to e. `within` is in microseconds.
    """

    pattern: Node
    within: int
    group: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A triple pattern on a window of a CQELS-QL query, by its number among these, from 1.

    `part` are the elements that it looks at: all, those that came before the batch, or those that are new.
    Where all `objects` of a batch are short numbers of one datatype, their values are at hand in a column.
    """

    window: int
    pattern: TriplePattern
    part: Literal["all", "old", "new"] = "all"
    objects: Literal["integer", "decimal"] | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """`{ ... }+` and `{ ... }{m,n}`: solutions of a group one after the other, and aggregates over each run.

    With a `most`, all stretches of `least` to `most` neighbours. Without, runs that are as long as they can
    be: which they are is known only later than they end. If they are limited, none is longer than `within`.
    """

    pattern: Node
    group: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    least: int = 1
    most: int | None = None
    within: int | None = None
    closed: bool = False  # they are in a window, in which nothing more will come

    @property
    def is_late(self) -> bool:
        return self.most is None and not self.closed


@dataclass(frozen=True, slots=True)
class Events:
    """What happens in a window of RSP-QL: the solutions of a pattern with intervals, which are a set. What is
    left of each is its mapping."""

    pattern: Node


@dataclass(frozen=True, slots=True)
class Pairs:
    """The solutions of the SeqJoin of this number that a policy of consumption has made; `part` as above."""

    number: int
    variables: tuple[str, ...]
    certain: frozenset[str]
    part: Literal["all", "old", "new"] = "all"


@dataclass(frozen=True, slots=True)
class TableScan:
    """The solutions in a table, with a column for each variable: of a pattern on static data or, with the
    instant of each solution, what the shards of a continuous query have found."""

    table: str
    variables: tuple[str, ...]
    certain: frozenset[str]
    by_instant: bool = False


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A pattern that the optimiser found small enough to send to every worker that joins with it."""

    pattern: Node


Node = (
    BGP | PathPattern | Join | LeftJoin | Union | Minus | Filter | Graph | Extend | Values
    | Group | Aggregated | Project | Distinct | Reduced | OrderBy | Slice | Broadcast | StreamPattern
    | TableScan | SeqJoin | SeqRightJoin | EqJoin | EqLeftJoin | AllenJoin | Recent | Runs | Events | Pairs
)  # fmt: skip


# --- queries -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs named by FROM and FROM NAMED, as terms; a query without such clauses has no Dataset.

    With FROM NAMED alone the default graph is empty, but that of a continuous query is the engine's: it
    `keeps_default`. WITH, of an update, chooses the default graph alone, and `named` is None: all named
    graphs are there.

    With `entailed`, what RDFS entails by a schema is in all graphs, too: by the schema of these graphs, whose
    merge is then the default graph, or of the engine's default graph, if there are none.
    """

    default: tuple[str, ...]
    named: tuple[str, ...] | None
    keeps_default: bool = False
    entailed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Select:
    pattern: Node
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Construct:
    """Template blank nodes are variables whose name starts with a dot: new ones for each solution."""

    pattern: Node
    template: tuple[TriplePattern, ...]


def makes_blanks(template: Iterable[TriplePattern]) -> bool:
    """Whether a template makes blank nodes."""
    terms = (term for triple in template for term in triple.terms)
    return any(isinstance(term, Variable) and term.is_blank for term in terms)


@dataclass(frozen=True, slots=True)
class Ask:
    pattern: Node


@dataclass(frozen=True, slots=True)
class Describe:
    pattern: Node
    terms: tuple[Term, ...]


Form = Select | Construct | Ask | Describe
Kind = Literal["select", "construct", "ask", "describe"]
KINDS: dict[type[Form], Kind] = {
    Select: "select",
    Construct: "construct",
    Ask: "ask",
    Describe: "describe",
}


@dataclass(frozen=True, slots=True)
class Query:
    form: Form
    dataset: Dataset | None = None
