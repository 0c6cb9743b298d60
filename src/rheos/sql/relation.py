"""Relations: compiled patterns, each the SQL of its solutions and what is known of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent

from rheos.sql.conditions import all_of


@dataclass(frozen=True, slots=True)
class Key:
    """A column that every relation of a context carries; operators never mix rows of different key values.

    Examples are the name of the graph under GRAPH ?g, a value of the outer row inside EXISTS, and the
    instant.
    """

    column: str
    nullable: bool = False


# A row about streams holds either at one instant, which is then a key, or for an interval, in two columns.
INSTANT = Key("instant")
INTERVAL = ("valid_from", "valid_until")
# The columns of the start and the end of a solution of EP-SPARQL, in microseconds since 1970. A solution of
# static data alone has no interval: its start is after all times and its end before all times, so that
# least() and greatest() over the times of joined solutions ignore it.
OCCURRENCE = ("starting", "ending")
TIMELESS = (str(2**62), str(-(2**62)))
# The column of the time at which a solution becomes known, where that can be after its end.
KNOWN = "known"
# The key of a relation on the ticks of CQELS-QL: a bucket is a stretch of ticks. Only rows of the same bucket
# are joined, so that elements of a long batch are not all paired with each other. A row that is valid in
# several buckets is in the table once for each of them.
BUCKET = Key("bucket")


def clause_name(window: int, part: str) -> str:
    """The table of the elements of a window of CQELS-QL or EP-SPARQL: `all`, the `old` or the `new` ones."""
    return f"clause_{window}_{part}"


def pairs_name(number: int, part: str) -> str:
    """The table of the pairs that a SEQ with a policy of consumption has made.

    Its columns are starting, ending, and one for each variable: c1, c2, …
    """
    return f"pairs_{number}_{part}"


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort key of ordered solutions: a hidden column and its direction."""

    column: str
    direction: str


@dataclass(frozen=True, slots=True)
class Relation:
    """SQL with one column for each variable, key and sort item.

    `certain` are the variables whose column is never NULL, `numeric` those that hold only numbers. `sort`
    names hidden columns that exist only for ORDER BY; `sorted_by` are the variables that these were computed
    from. With `valid`, each row holds for an interval of instants, in the columns INTERVAL. With `occurs`,
    each solution has a start and an end, in the columns OCCURRENCE; with `late`, it also has the column
    KNOWN. `more` are further columns that only the operator above this relation reads.
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
        """The columns that are neither variables nor sort items: keys, times, and `more`."""
        columns = [key.column for key in self.keys]
        columns += INTERVAL if self.valid else ()
        columns += OCCURRENCE if self.occurs else ()
        return columns + ([KNOWN] if self.late else []) + list(self.more)

    def shared(self, other: Relation) -> list[str]:
        """The variables that both relations have, in the order of this one."""
        return [name for name in self.variables if name in other.variables]

    def with_sql(self, sql: str) -> Relation:
        return replace(self, sql=sql)

    def unsorted(self, sql: str) -> Relation:
        """A relation with the same columns by other SQL, which drops the columns of the order."""
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
    """A SELECT statement on a few lines. Without columns it selects a constant: one row for each solution."""
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
