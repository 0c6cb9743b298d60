"""A query of CQELS-QL put together in Python: its parts come in; its text goes out, and what kind it is.

The reference evaluates the parts, the engine gets the text. Terms are written as in N-Triples, variables with
their question mark. Parts of WHERE that only read static data are SPARQL text: plain patterns, each with its
full stop, or a group in its own braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass

from tests.continuous.expressions import SECOND, Expression

PREFIX = "PREFIX : <http://ex/>"

Pattern = tuple[str, str, str]


# --- windows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Now:
    def __str__(self) -> str:
        return "NOW"


@dataclass(frozen=True)
class All:
    def __str__(self) -> str:
        return "ALL"


@dataclass(frozen=True)
class Triples:
    number: int

    def __str__(self) -> str:
        return f"TRIPLES {self.number}"


@dataclass(frozen=True)
class Range:
    """Microseconds."""

    range: int
    slide: int | None = None

    def __str__(self) -> str:
        moves = "" if self.slide is None else f" SLIDE {duration(self.slide)}"
        return f"RANGE {duration(self.range)}{moves}"


Window = Now | All | Triples | Range


def duration(micros: int) -> str:
    """At least a millisecond, the smallest unit that the language and rheos have in common."""
    seconds, rest = divmod(micros, SECOND)
    assert rest % 1000 == 0, "less than a millisecond"
    return (
        f"{seconds}s{rest // 1000}ms" if seconds and rest else f"{rest // 1000}ms" if rest else f"{seconds}s"
    )


# --- what WHERE is made of --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    iri: str
    window: Window
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Static:
    text: str


@dataclass(frozen=True)
class Values:
    variable: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Bind:
    expression: Expression
    variable: str


@dataclass(frozen=True)
class Filter:
    expression: Expression


@dataclass(frozen=True)
class Group:
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Optional:
    group: Group


@dataclass(frozen=True)
class Minus:
    group: Group


@dataclass(frozen=True)
class Union:
    branches: tuple[Group, ...]


@dataclass(frozen=True)
class Exists:
    """Its group may have streams, static parts and filters, and nothing else."""

    group: Group
    negated: bool = False


@dataclass(frozen=True)
class Aggregate:
    """`(COUNT(DISTINCT ?x) AS ?name)`; the argument is a variable, or `*` for COUNT."""

    function: str
    argument: str
    name: str
    distinct: bool = False

    @property
    def call(self) -> str:
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{self.argument})"

    def __str__(self) -> str:
        return f"({self.call} AS {self.name})"


@dataclass(frozen=True)
class Query:
    """SELECT, or with a template CONSTRUCT, or ASK; as an element of a group a sub-select.

    Nothing selected is `SELECT *`. `having` is the least value of the first aggregate.
    """

    where: Group
    select: tuple[str | Aggregate, ...] = ()
    template: tuple[Pattern, ...] = ()
    ask: bool = False
    distinct: bool = False
    group_by: tuple[str, ...] = ()
    having: int | None = None
    order_by: tuple[str, ...] = ()
    limit: int | None = None
    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(item for item in self.select if isinstance(item, Aggregate))


Element = Stream | Static | Values | Bind | Filter | Group | Optional | Minus | Union | Query
Node = Element | Expression | Aggregate


# --- going through them -----------------------------------------------------------------------------------


def parts(node: Node) -> Iterator[Node]:
    """A node and all that is in it, in the order of the text."""
    yield node
    if isinstance(node, Query):
        inside: tuple[object, ...] = (*node.select, node.where)
    elif is_dataclass(node):
        inside = tuple(getattr(node, field.name) for field in fields(node))
    else:
        return
    for value in inside:
        for item in value if isinstance(value, tuple) else (value,):
            if is_dataclass(item) and not isinstance(item, type):
                yield from parts(item)  # type: ignore[arg-type]


def clauses(query: Query) -> list[Stream]:
    """The different STREAM clauses, in the order of the text."""
    return list(dict.fromkeys(part for part in parts(query) if isinstance(part, Stream)))


NOT_MONOTONE = re.compile(r"\b(OPTIONAL|MINUS|EXISTS|DISTINCT|REDUCED|SELECT|GROUP|HAVING|LIMIT|OFFSET)\b")


def monotone(query: Query) -> bool:
    """Whether new elements can only add answers: joins, FILTER without EXISTS, BIND, UNION, VALUES,
    projection and ORDER BY, and nothing else anywhere, static parts included.

    ASK is not: its answer is one boolean.
    """
    if query.ask or query.distinct or query.group_by or query.aggregates or query.limit is not None:
        return False
    for part in parts(query.where):
        if isinstance(part, Optional | Minus | Exists | Query):
            return False
        if isinstance(part, Static) and NOT_MONOTONE.search(part.text):
            return False
    return True


# --- text -------------------------------------------------------------------------------------------------


def clause_text(clause: Stream) -> str:
    return f"STREAM {clause.iri} [{clause.window}] {{ {patterns_text(clause.patterns)} }}"


def patterns_text(patterns: tuple[Pattern, ...]) -> str:
    return " . ".join(" ".join(pattern) for pattern in patterns)


def text(query: Query, clause: Callable[[Stream], str] = clause_text) -> str:
    """The query in CQELS-QL, or with another spelling of its stream clauses."""
    return f"{PREFIX} {Printer(clause).query(query)}"


@dataclass(frozen=True)
class Printer:
    clause: Callable[[Stream], str] = clause_text

    def query(self, query: Query) -> str:
        if query.ask:
            head = "ASK"
        elif query.template:
            head = f"CONSTRUCT {{ {patterns_text(query.template)} }}"
        else:
            head = f"SELECT {'DISTINCT ' if query.distinct else ''}{' '.join(map(str, query.select)) or '*'}"
        return " ".join(
            [
                head,
                *(f"FROM {graph}" for graph in query.default),
                *(f"FROM NAMED {graph}" for graph in query.named),
                f"WHERE {self.group(query.where)}",
                *([f"GROUP BY {' '.join(query.group_by)}"] if query.group_by else []),
                *([] if query.having is None else [f"HAVING ({query.aggregates[0].call} >= {query.having})"]),
                *([f"ORDER BY {' '.join(query.order_by)}"] if query.order_by else []),
                *([] if query.limit is None else [f"LIMIT {query.limit}"]),
            ]
        )

    def group(self, group: Group) -> str:
        return f"{{ {' '.join(map(self.element, group.elements))} }}"

    def element(self, element: Element) -> str:
        match element:
            case Stream():
                return self.clause(element)
            case Static(written):
                return written
            case Values(variable, terms):
                return f"VALUES {variable} {{ {' '.join(terms)} }}"
            case Bind(expression, variable):
                return f"BIND ({self.expression(expression)} AS {variable})"
            case Filter(Exists() as exists):
                return f"FILTER {self.expression(exists)}"
            case Filter(expression):
                return f"FILTER ({self.expression(expression)})"
            case Group():
                return self.group(element)
            case Optional(group):
                return f"OPTIONAL {self.group(group)}"
            case Minus(group):
                return f"MINUS {self.group(group)}"
            case Union(branches):
                return " UNION ".join(map(self.group, branches))
            case Query():
                return f"{{ {self.query(element)} }}"

    def expression(self, expression: Expression) -> str:
        if isinstance(expression, Exists):
            return f"{'NOT ' if expression.negated else ''}EXISTS {self.group(expression.group)}"
        return str(expression)
