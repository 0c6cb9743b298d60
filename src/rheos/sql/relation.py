"""A compiled pattern: the SQL that gives its solutions, and what is known of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent

from rheos.sql.conditions import all_of


@dataclass(frozen=True, slots=True)
class Key:
    """A column that every relation of a context carries, and on which every operator works apart.

    The graph that GRAPH ?g is at is one; so are the values of an outer row inside EXISTS, and instants.
    """

    column: str
    nullable: bool = False


# The key of a relation whose rows are of one instant each; the columns of one whose rows hold for a while.
INSTANT = Key("instant")
INTERVAL = ("valid_from", "valid_until")
# The columns of the time that a solution of EP-SPARQL took, in microseconds since 1970. One of static data
# alone took none: it starts after all times and ends before them, and so adds nothing to what it joins.
OCCURRENCE = ("starting", "ending")
TIMELESS = (str(2**62), str(-(2**62)))
# The column of the time at which it is known that there is a solution, where that is after its end.
KNOWN = "known"
# The key of a relation on arrivals: a stretch of ticks. Only rows of the same stretch are joined, so that not
# everything is paired that ever met; a row that is valid in several stretches is there in each of them.
BUCKET = Key("bucket")


def clause_name(window: int, part: str) -> str:
    """The table of the elements of a window on arrivals: all of them, the `old` or the `new`."""
    return f"clause_{window}_{part}"


def pairs_name(number: int, part: str) -> str:
    """The table of the pairs that a sequence with a policy of consumption has made: starting, ending, and a
    column for each variable, c1, c2, …"""
    return f"pairs_{number}_{part}"


@dataclass(frozen=True, slots=True)
class Sort:
    """One item of an order that the solutions have: a hidden column and its direction."""

    column: str
    direction: str


@dataclass(frozen=True, slots=True)
class Relation:
    """SQL with one column for each variable, key and sort item.

    `certain` are the variables whose column is never NULL, `numeric` those that hold only numbers. The
    columns that `sort` names stay hidden and are only kept to order by; `sorted_by` are the variables that
    they were computed from. A relation that is `valid` for intervals only has them in the columns INTERVAL;
    one whose solutions `occur` has their times in the columns OCCURRENCE, and if they are known `late`, also
    the column KNOWN. It may have `more` columns that only the operator above it knows.
    """

    sql: str
    variables: tuple[str, ...]
    certain: frozenset[str]
    keys: tuple[Key, ...] = ()
    sort: tuple[Sort, ...] = ()
    sorted_by: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    valid: bool = False
    occurs: bool = False
    late: bool = False
    more: tuple[str, ...] = ()

    @property
    def carried(self) -> list[str]:
        """The columns that are neither variables nor part of the order: keys, and all times."""
        columns = [key.column for key in self.keys]
        columns += INTERVAL if self.valid else ()
        columns += OCCURRENCE if self.occurs else ()
        return columns + ([KNOWN] if self.late else []) + list(self.more)

    def shared(self, other: Relation) -> list[str]:
        """The variables of both, in this one's order."""
        return [name for name in self.variables if name in other.variables]

    def with_sql(self, sql: str) -> Relation:
        return replace(self, sql=sql)

    def unsorted(self, sql: str) -> Relation:
        """The same solutions by another SQL that does not keep the columns of the order."""
        return replace(self, sql=sql, sort=(), sorted_by=frozenset())


def select(
    columns: Sequence[str],
    source: str,
    where: Iterable[str] = (),
    *,
    hint: str = "",
    distinct: bool = False,
    tail: str = "",
) -> str:
    """A SELECT statement on a few lines. With no columns at all there is still one row per solution."""
    head = "SELECT" + (f" {hint}" if hint else "") + (" DISTINCT" if distinct else "")
    lines = [f"{head} {', '.join(columns) or '1 AS unit'}", f"FROM {source}"]
    conditions = list(where)
    if conditions:
        lines.append("WHERE " + all_of(conditions, gap="\n  "))
    if tail:
        lines.append(tail)
    return "\n".join(lines)


def nested(sql: str, alias: str) -> str:
    """A statement as an item of FROM."""
    return f"(\n{indent(sql, '  ')}\n) AS {alias}"
