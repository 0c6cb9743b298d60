"""A query of EP-SPARQL put together in Python: its parts come in; its text goes out.

The reference evaluates the parts, the engine gets the text. What other languages have too (groups, filters,
static parts, values) is the same here as in CQELS-QL. The functions of an interval are names in expressions,
`DURATION`, `START` and `END`, that stand beside the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tests.continuous.arrival_query import (
    PREFIX,
    Aggregate,
    Bind,
    Filter,
    Group,
    Optional,
    Pattern,
    Printer,
    Static,
    Values,
    patterns_text,
)
from tests.continuous.expressions import SECOND, Expression, literal

DURATION, START, END = "getDURATION()", "getSTARTTIME()", "getENDTIME()"

ALLEN = (
    "BEFORE", "AFTER", "MEETS", "MET BY", "OVERLAPS", "OVERLAPPED BY", "STARTS", "STARTED BY", "DURING",
    "CONTAINS", "FINISHES", "FINISHED BY",
)  # fmt: skip
# After SEQ NOT, with the group that must not come between, another SEQ follows.
OPERATORS = ("SEQ NOT", "UNION", "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", *ALLEN)


@dataclass(frozen=True)
class Triples:
    """A basic graph pattern: each of its patterns matches events and background knowledge."""

    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Run:
    """A group that is repeated: as often as can be, or from `least` to `most` times. It stands in chains."""

    group: Group
    least: int = 1
    most: int | None = None
    aggregates: tuple[Aggregate, ...] = ()


@dataclass(frozen=True)
class Chain:
    """Groups with an operator between any two neighbours; they associate to the left."""

    groups: tuple[Group | Run, ...]
    operators: tuple[str, ...]
    within: int | None = None

    @property
    def present(self) -> tuple[Group | Run, ...]:
        """Without those that must not be there."""
        first, *others = self.groups
        kept = zip(self.operators, others, strict=True)
        return first, *(group for operator, group in kept if operator != "SEQ NOT")

    def __post_init__(self) -> None:
        assert len(self.groups) == len(self.operators) + 1
        assert set(self.operators) <= set(OPERATORS)


@dataclass(frozen=True)
class As:
    expression: Expression
    name: str

    def __str__(self) -> str:
        return f"({self.expression} AS {self.name})"


@dataclass(frozen=True)
class Query:
    """SELECT, or with a template CONSTRUCT; as an element of a group a sub-select.

    Nothing selected is `SELECT *`. Aggregates are those of the last `within` microseconds. No streams are all
    of them.
    """

    where: Group
    select: tuple[str | As | Aggregate, ...] = ()
    template: tuple[Pattern, ...] = ()
    group_by: tuple[str, ...] = ()
    within: int | None = None
    streams: tuple[str, ...] = ()
    consumption: str = "unrestricted"

    def __post_init__(self) -> None:
        assert bool(self.aggregates) is bool(self.group_by) is (self.within is not None)

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(item for item in self.select if isinstance(item, Aggregate))


Element = Triples | Chain | Static | Values | Bind | Filter | Group | Optional | Query


def chain(operator: str, *groups: Group) -> Chain:
    """All with the same operator."""
    return Chain(groups, (operator,) * (len(groups) - 1))


def elements(node: Group | Element) -> Iterator[Element]:
    """All the elements of a group, those of the groups inside included."""
    match node:
        case Group(inside):
            for element in inside:
                yield element
                yield from elements(element)
        case Chain(groups):
            for group in groups:
                yield from elements(group.group if isinstance(group, Run) else group)
        case Optional(group) | Query(group):
            yield from elements(group)


def variables(nodes: Iterable[Element]) -> list[str]:
    """Those in scope after these elements; of a sub-select only what it selects."""
    found: dict[str, None] = {}
    for node in nodes:
        match node:
            case Triples(patterns):
                found.update((place, None) for pattern in patterns for place in pattern if place[0] == "?")
            case Static(written):
                found.update((word, None) for word in written.split() if word[0] == "?")
            case Values(variable) | Bind(_, variable):
                found[variable] = None
            case Chain():
                for group in node.present:
                    found.update((name, None) for name in variables([group]))
            case Run(Group(inside), aggregates=made):
                found.update((name, None) for name in [*variables(inside), *(item.name for item in made)])
            case Group(inside) | Optional(Group(inside)):
                found.update((name, None) for name in variables(inside))
            case Query(where, select):
                names = [item if isinstance(item, str) else item.name for item in select]
                found.update((name, None) for name in names or variables(where.elements))
    return sorted(found)


# --- terms ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def duration_term(micros: int) -> str:
    """In canonical form: `P1DT2H`, `PT0.5S`, `PT0S`."""
    minutes, rest = divmod(micros, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    seconds = f"{rest / SECOND:.6f}".rstrip("0").rstrip(".")
    date = f"{days}D" if days else ""
    time = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{seconds}S" * bool(rest)
    return literal(f"P{date}T{time}" if time else f"P{date or 'T0S'}", "duration")


@lru_cache(maxsize=10_000)
def time_term(micros: int) -> str:
    """In UTC, as short as it can be."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    written = moment.strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return literal(f"{written}{fraction}Z", "dateTime")


# --- text -------------------------------------------------------------------------------------------------


def text(query: Query, name: str = "q") -> str:
    """The query in EP-SPARQL; only with a policy of consumption does it say REGISTER, and its name."""
    written = f"{PREFIX} {EventPrinter().query(query)}"
    if query.consumption == "unrestricted":
        return written
    return f"REGISTER QUERY {name} CONSUMPTION {query.consumption.upper()} AS {written}"


class EventPrinter(Printer):
    def query(self, query: Query) -> str:
        if query.template:
            head = f"CONSTRUCT {{ {patterns_text(query.template)} }}"
        else:
            head = f"SELECT {' '.join(map(str, query.select)) or '*'}"
        parts = [head, *(f"FROM STREAM {stream}" for stream in query.streams)]
        parts.append(f"WHERE {self.group(query.where)}")
        if query.within is not None:
            parts.append(f"GROUP BY {' '.join(query.group_by)} WITHIN {duration_term(query.within)}")
        return " ".join(parts)

    def operand(self, operand: Group | Run) -> str:
        if isinstance(operand, Group):
            return self.group(operand)
        how = "+" if operand.most is None else f"{{{operand.least},{operand.most}}}"
        made = ", ".join(str(item)[1:-1] for item in operand.aggregates)
        return f"{self.group(operand.group)}{how}{f' AS ({made})' if made else ''}"

    def element(self, element: Element) -> str:
        match element:
            case Triples(patterns):
                return f"{patterns_text(patterns)} ."
            case Chain((first, *others), operators, within):
                rest = [f"{how} {self.operand(group)}" for how, group in zip(operators, others, strict=True)]
                rest += [] if within is None else [f"WITHIN {duration_term(within)}"]
                return " ".join([self.operand(first), *rest])
            case Query():
                return f"{{ {self.query(element)} }}"
        return super().element(element)
