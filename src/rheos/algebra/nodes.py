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
    """One step whose predicate is not among these. Inverse steps are an Inverse, in an Alternative."""

    predicates: frozenset[str]


Path = Link | Inverse | Sequence | Alternative | ZeroOrMore | OneOrMore | ZeroOrOne | NegatedSet


# --- patterns ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Time:
    """A variable for the time of the stream triple that a pattern matches, in one `stream` or in any."""

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


# The part of a graph with windows that a pattern looks at: all triples, those of new elements, all but these,
# or only the static triples.
GraphPart = Literal["all", "new", "old", "static"]


@dataclass(frozen=True, slots=True)
class BGP:
    """A basic graph pattern; the empty one has one solution that binds nothing.

    `small` are the places of the patterns that the optimiser found small enough to send to every worker.
    `parts` has the part of the graph that each pattern of a continuous query looks at. If it is empty, all
    patterns look at all triples.
    """

    patterns: tuple[TriplePattern, ...] = ()
    small: frozenset[int] = frozenset()
    parts: tuple[GraphPart, ...] = ()


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path between two ends.

    With `seeds`, the subject is a variable, and only solutions are wanted in which it has a value that it
    also has in a solution of `seeds`.
    """

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
    """WINDOW of RSP-QL: the pattern on the window of that name, which is its default graph.

    GRAPH inside is about the graphs of the stream that are in the window.
    """


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
    """Grouping by key variables, and the aggregates of each group.

    A key that is an expression is bound by an Extend below. Without keys there is exactly one group, even if
    it has no rows.
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
    """Every solution of the pattern, extended by aggregates: no rows are merged, as with SQL's windows."""

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

    With SEQ NOT, no compatible solution of `between` lies between both. With `alike`, this must also hold for
    all other pairs that bind the same and have the same interval as the whole; the optimiser makes such a
    node from the way in which the papers write SEQ NOT. With a policy of consumption, the runtime decides
    which `pairs` of solutions the join makes.
    """

    left: Node
    right: Node
    between: Node | None = None
    pairs: Pairs | None = None
    alike: bool = False


@dataclass(frozen=True, slots=True)
class SeqRightJoin:
    """OPTIONALSEQ: the left side is optional, and ends before the right side starts."""

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

    Of the thirteen relations, EQUALS is an `EqJoin` and BEFORE a `SeqJoin`; converses exchange the sides.
    With FINISHES both sides end together; with all others the right side ends last.
    """

    relation: AllenRelation
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class EqLeftJoin:
    """EQUALSOPTIONAL: the right side is optional, and starts and ends with the left side."""

    left: Node
    right: Node
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """WITHIN of EP-SPARQL: aggregates over the recent solutions of a group, at the end of each solution.

    For each solution with the end e, the recent solutions are those with the same values of the variables
    `group` that ended in (e - within, e], itself included. There is one row for each group and end; as for a
    Group, it binds only these variables and the aggregates. Its interval goes from the earliest start of the
    recent solutions to e. `within` is in microseconds.
    """

    pattern: Node
    within: int
    group: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A triple pattern on a stream: on the window of that number, from 1, of a query.

    `part` says which elements it looks at: all, those that came before the batch, or the new ones. `objects`
    is set if all objects in a batch are short numbers of one datatype: then a column has their values.
    """

    window: int
    pattern: TriplePattern
    part: Literal["all", "old", "new"] = "all"
    objects: Literal["integer", "decimal"] | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """`{ ... }+` and `{ ... }{m,n}`: solutions of a group one after the other, and aggregates over each run.

    With `most`, the runs are all stretches of `least` to `most` neighbours. Without it, they are the longest
    runs, and which these are is known only after their end. With `within`, no run lasts longer.
    """

    pattern: Node
    group: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    least: int = 1
    most: int | None = None
    within: int | None = None
    closed: bool = False  # the runs are in a window, into which no more elements can come

    @property
    def is_late(self) -> bool:
        return self.most is None and not self.closed


@dataclass(frozen=True, slots=True)
class Events:
    """The events in a window of RSP-QL: the solutions of a pattern, a set of mappings with intervals.

    The result has the mapping of each, without its interval.
    """

    pattern: Node


@dataclass(frozen=True, slots=True)
class Pairs:
    """The solutions of a SeqJoin that a policy of consumption has made, by the number of the SeqJoin.

    `part` is as in StreamPattern.
    """

    number: int
    variables: tuple[str, ...]
    certain: frozenset[str]
    part: Literal["all", "old", "new"] = "all"


@dataclass(frozen=True, slots=True)
class TableScan:
    """The solutions in a table with a column for each variable, such as those of a pattern on static data.

    With `by_instant`, the table also has the instant of each solution: the results of shards.
    """

    table: str
    variables: tuple[str, ...]
    certain: frozenset[str]
    by_instant: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """The solutions of the pattern `whole`, of which those of earlier micro-batches are in a table.

    `pattern` has the solutions that this batch adds.
    """

    pattern: Node
    whole: Node


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A pattern that the optimiser found small enough to send to every worker that joins with it."""

    pattern: Node


Node = (
    BGP | PathPattern | Join | LeftJoin | Union | Minus | Filter | Graph | Extend | Values
    | Group | Aggregated | Project | Distinct | Reduced | OrderBy | Slice | Broadcast | Kept | StreamPattern
    | TableScan | SeqJoin | SeqRightJoin | EqJoin | EqLeftJoin | AllenJoin | Recent | Runs | Events | Pairs
)  # fmt: skip


# --- queries -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs named by FROM and FROM NAMED, as terms; a query without such clauses has no Dataset.

    With FROM NAMED alone, the default graph is empty, unless the dataset `keeps_default`: then it is the
    default graph of the engine, as in continuous queries. WITH of an update chooses only the default graph;
    `named` is None then, which means all named graphs.

    With `entailed`, all graphs also have the triples that RDFS entails by a schema. That is the schema of
    these graphs, whose merge is then the default graph, or, if it is empty, the schema of the engine's
    default graph.
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
    """Blank nodes of the template are variables whose name starts with a dot: new nodes for each solution."""

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
