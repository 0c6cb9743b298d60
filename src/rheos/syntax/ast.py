"""The syntax tree of a query: frozen nodes, each with its position in the text; names are not yet resolved.

Prefixed names and relative IRIs are kept as written; `algebra.translate` resolves them. Only the
abbreviations of the Turtle-like syntax (`;`, `,`, `[...]`, `(...)`, `a`) are already spelled out as triples.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, field

from rheos.errors import Position


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a position in the text."""

    position: Position = field(compare=False, repr=False)


# --- terms -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Var(Node):
    name: str  # without ? or $


@dataclass(frozen=True, slots=True)
class Iri(Node):
    """An IRI in angle brackets, as written (it may be relative); escapes are decoded."""

    value: str


@dataclass(frozen=True, slots=True)
class PrefixedName(Node):
    prefix: str
    local: str  # backslash escapes decoded, %-escapes kept


@dataclass(frozen=True, slots=True)
class BlankNode(Node):
    """A labelled blank node, or an anonymous one that the parser numbered.

    Labels written by the user are kept (`b`). The parser's own labels start with a dot (`.0`), with which no
    label of a user can start.
    """

    label: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A literal; numbers and booleans of the short syntax have their XSD datatype as `Iri`."""

    lexical: str
    datatype: Iri | PrefixedName | None = None
    language: str | None = None


Name = Iri | PrefixedName
Term = Var | Iri | PrefixedName | BlankNode | Literal


# --- property paths (section 9; a triple whose predicate is a plain name has the name, not a link) -


@dataclass(frozen=True, slots=True)
class Link(Node):
    """One predicate as a path."""

    predicate: Name


@dataclass(frozen=True, slots=True)
class Inverse(Node):
    path: Path


@dataclass(frozen=True, slots=True)
class PathSequence(Node):
    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PathAlternative(Node):
    options: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PathRepeat(Node):
    """A repetition by its sign: `*` (zero or more), `+` (one or more), `?` (zero or one)."""

    path: Path
    sign: str  # "*" | "+" | "?"


@dataclass(frozen=True, slots=True)
class NegatedSet(Node):
    """`!(p | ^q)`: the predicates that are excluded, forwards and backwards."""

    forward: tuple[Name, ...]
    backward: tuple[Name, ...]


Path = Link | Inverse | PathSequence | PathAlternative | PathRepeat | NegatedSet


@dataclass(frozen=True, slots=True)
class Triple(Node):
    """A triple pattern; the predicate is a name, a variable, or a path that is more than one link."""

    subject: Term
    predicate: Var | Name | Path
    object: Term


# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call(Node):
    """An operator or built-in by its name: `||` and `&&` with two or more arguments, `=`, `!=`, `<`, `>`,
    `<=`, `>=`, `+`, `-`, `*`, `/` with two, `!`, `unary-` and `unary+` with one, `IN` and `NOT IN` with the
    element first, and the built-ins in capitals (`BOUND`, `STRLEN`, ...).

    In C-SPARQL also `TIMESTAMP`, of a variable and, as a second argument, the stream: a name, or the
    variable of a GRAPH pattern. In EP-SPARQL also `DURATION`, `STARTTIME` and `ENDTIME`, without arguments.
    """

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    """A call of a function named by an IRI: a cast, or an extension."""

    function: Name
    arguments: tuple[Expression, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Exists(Node):
    pattern: Group
    negated: bool


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE, GROUP_CONCAT; `argument` None is the star of COUNT(*)."""

    name: str
    argument: Expression | None
    distinct: bool
    separator: str | None = None


Expression = Var | Iri | PrefixedName | Literal | Call | FunctionCall | Exists | Aggregate


# --- patterns ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Triples(Node):
    """A block of triple patterns up to the next other element of the group."""

    triples: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """`{ ... }`: the elements in the order written."""

    elements: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Optional(Node):
    pattern: Group


@dataclass(frozen=True, slots=True)
class Union(Node):
    options: tuple[Group, ...]  # two or more


@dataclass(frozen=True, slots=True)
class Minus(Node):
    pattern: Group


@dataclass(frozen=True, slots=True)
class Graph(Node):
    name: Var | Name
    pattern: Group


@dataclass(frozen=True, slots=True)
class Service(Node):
    name: Var | Name
    silent: bool
    pattern: Group


@dataclass(frozen=True, slots=True)
class Filter(Node):
    condition: Expression


@dataclass(frozen=True, slots=True)
class Bind(Node):
    expression: Expression
    variable: Var


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Inline data; None stands for UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Name | Literal | None, ...], ...]


@dataclass(frozen=True, slots=True)
class SubSelect(Node):
    query: SelectQuery


# --- streams among the patterns (CQELS-QL, section 4.1 of its paper; times are microseconds) ------


@dataclass(frozen=True, slots=True)
class RangeWindow(Node):
    """`[RANGE 10s SLIDE 1s]`. `slide` is None if it is left out. `[NOW]` is a range of 0."""

    range: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class LastWindow(Node):
    """`[TRIPLES 5]`: a number of triples."""

    triples: int


@dataclass(frozen=True, slots=True)
class AllWindow(Node):
    """`[ALL]`."""


@dataclass(frozen=True, slots=True)
class StreamPattern(Node):
    """`STREAM <iri> [window] { triples }`; no predicate among the triples is a path."""

    name: Var | Name
    window: RangeWindow | LastWindow | AllWindow
    triples: Triples


# --- patterns in time (EP-SPARQL, section 4.1 of its paper) ---------------------------------------


@dataclass(frozen=True, slots=True)
class Temporal(Node):
    """`{ ... } SEQ { ... }`, with the position of the operator. `left` may itself be a chain of groups.

    With `without`, it is `{ ... } SEQ NOT { ... } SEQ { ... }`, with the position of the first SEQ.
    """

    operator: str  # SEQ, EQUALS, OPTIONALSEQ, EQUALSOPTIONAL, or one of Allen's relations, as in "MET BY"
    left: Group | Union | Temporal | Run
    right: Group | Run
    without: Group | None = None


@dataclass(frozen=True, slots=True)
class Run(Node):
    """`{ ... }+ AS (COUNT(*) AS ?n)`, or `{ ... }{2,5}` with the least and the most repetitions."""

    pattern: Group
    least: int
    most: int | None
    aggregates: tuple[Projection, ...] = ()


@dataclass(frozen=True, slots=True)
class Limited(Node):
    """`{ ... } SEQ { ... } WITHIN 10m`: only solutions that last no longer."""

    pattern: Group | Union | Temporal | Run
    within: Within


# --- windows among the patterns (RSP-QL) ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WindowPattern(Node):
    """`WINDOW :w { ... }`: the pattern is matched on the content of the window."""

    name: Var | Name
    pattern: Group


Pattern = (
    Triples | Group | Optional | Union | Minus | Graph | Service | Filter | Bind | Values | SubSelect
    | StreamPattern | Temporal | Limited | Run | WindowPattern
)  # fmt: skip


# --- queries -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Projection(Node):
    """A variable of the SELECT or GROUP BY clause, with the expression that defines it, if any.

    In GROUP BY an expression without AS has no variable.
    """

    variable: Var | None
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class OrderCondition(Node):
    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Aggregation(Node):
    """A tuple of C-SPARQL's AGGREGATE: `(?variable, FUNCTION(?argument), {?group ...}) FILTER(...)`."""

    variable: Var
    function: str  # COUNT, SUM, AVG, MIN, MAX
    argument: Var | None  # None only for COUNT, which then counts the rows
    group: tuple[Var, ...]  # one or more
    filter: Expression | None = None


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`WITHIN 10d` of EP-SPARQL: microseconds, or a literal whose datatype is not resolved yet.

    EP-SPARQL has nanoseconds, but times are whole microseconds: `length` is rounded up, and `longest` down.
    """

    length: int | Literal
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class Modifiers:
    """GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET and the VALUES at the end. In C-SPARQL also the AGGREGATE
    clauses and the FILTERs after them, which apply before all of these. In EP-SPARQL also WITHIN."""

    group_by: tuple[Projection, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderCondition, ...] = ()
    limit: int | None = None
    offset: int | None = None
    values: Values | None = None
    aggregations: tuple[Aggregation, ...] = ()
    filters: tuple[Expression, ...] = ()
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class SelectQuery(Node):
    projection: tuple[Projection, ...] | None  # None is SELECT *
    distinct: bool
    reduced: bool
    where: Group
    modifiers: Modifiers


@dataclass(frozen=True, slots=True)
class ConstructQuery(Node):
    """CONSTRUCT. For the short form CONSTRUCT WHERE the template is a copy of the pattern."""

    template: tuple[Triple, ...] | None  # None is CONSTRUCT *, which only C-SPARQL has
    where: Group
    modifiers: Modifiers


@dataclass(frozen=True, slots=True)
class AskQuery(Node):
    where: Group
    modifiers: Modifiers


@dataclass(frozen=True, slots=True)
class DescribeQuery(Node):
    terms: tuple[Var | Name, ...] | None  # None is DESCRIBE *
    where: Group | None
    modifiers: Modifiers


@dataclass(frozen=True, slots=True)
class Base(Node):
    iri: Iri


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    prefix: str
    iri: Iri


@dataclass(frozen=True, slots=True)
class DatasetClause(Node):
    """`FROM <iri>` or `FROM NAMED <iri>`."""

    iri: Name
    named: bool


# --- continuous queries (C-SPARQL, sections 3.2 and 3.3 of its paper; times are microseconds) -----


Consumption = typing.Literal["unrestricted", "recent", "chronological"]
StreamOperator = typing.Literal["RSTREAM", "ISTREAM", "DSTREAM"]


@dataclass(frozen=True, slots=True)
class Registration(Node):
    """`REGISTER QUERY name COMPUTED EVERY 5m AS`; the name is a word, or an IRI without its brackets.

    In EP-SPARQL, CONSUMPTION says which events a pattern takes where it could take several. In RSP-QL the
    kind may also be a stream operator; the name may be a prefixed name in the text, which is spelled out
    here; and UNDER ENTAILMENT REGIME names the entailment.
    """

    kind: str  # "QUERY" | "STREAM", or a StreamOperator
    name: str
    every: int | None = None
    consumption: Consumption = "unrestricted"
    regime: Name | None = None
    stretched: Position | None = None  # the position of STRETCHED after COMPUTED EVERY, if it is there


@dataclass(frozen=True, slots=True)
class LogicalWindow(Node):
    """`[RANGE 10m STEP 1m]`; TUMBLING is a step as long as the range. A window in the past, in RSP-QL, ends
    `delay` microseconds before the instant."""

    range: int
    step: int
    delay: int = 0


@dataclass(frozen=True, slots=True)
class PhysicalWindow(Node):
    """`[RANGE TRIPLES 100 STEP 10]`: a number of triples; the window moves after every `step` triples. In
    RSP-QL, `[ELEMENTS 100 STEP 10]`: a number of graphs."""

    triples: int
    step: int = 1
    graphs: bool = False


@dataclass(frozen=True, slots=True)
class SessionWindow(Node):
    """`[SESSION 30s]`, or `[SESSION 30s PER SUBJECT]`. `gap` is the longest time without an element within a
    session."""

    gap: int
    by_subject: bool = False


@dataclass(frozen=True, slots=True)
class Sample(Node):
    """`SAMPLE 10%`: `parts` of a million triples are in the sample."""

    parts: int


@dataclass(frozen=True, slots=True)
class StreamClause(Node):
    """`FROM STREAM <iri> [...]` or `FROM NAMED STREAM <iri> [...]`. In EP-SPARQL there is no window. In
    RSP-QL it is `FROM NAMED WINDOW name ON <iri> [...]`."""

    iri: Name
    named: bool
    window: LogicalWindow | PhysicalWindow | SessionWindow | None
    name: Name | None = None
    sample: Sample | None = None


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A whole query text: what `syntax.parse` returns.

    `stream_patterns` are all STREAM patterns of CQELS-QL in the form, in the order of the text. `operator`
    says which answers a query with windows reports: all answers, the new ones, or those that are gone.
    """

    text: str
    prologue: tuple[Base | Prefix, ...]
    dataset: tuple[DatasetClause, ...]
    form: SelectQuery | ConstructQuery | AskQuery | DescribeQuery
    registration: Registration | None = None
    streams: tuple[StreamClause, ...] = ()
    dialect: str = "sparql"
    stream_patterns: tuple[StreamPattern, ...] = ()
    operator: StreamOperator = "RSTREAM"

    @property
    def is_continuous(self) -> bool:
        """True if the query is registered and reports again and again; False if it is answered once.

        Every query of EP-SPARQL is continuous: without FROM STREAM it reads all streams.
        """
        return self.dialect == "epsparql" or bool(self.registration or self.streams or self.stream_patterns)
