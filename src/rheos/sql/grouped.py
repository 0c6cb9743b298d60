"""Groupings: one row for each group of a relation, with the results of aggregates over the group.

`Whole` groups rows as they are. `Parted` groups rows that hold for intervals, in two steps. First the rows of
a group with the same interval become one part: a few parts from many rows. Then, at each instant, the parts
that hold are put together. So for a window of ten minutes that moves by ten seconds, each row is aggregated
once, and only parts are aggregated sixty times. `Pieced` does the same for the ticks of CQELS-QL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rheos.sql.collected import Collected, filter_clause
from rheos.sql.relation import BUCKET, INSTANT, Relation, nested, select
from rheos.sql.rows import Rows
from rheos.sql.validity import FROM, UNTIL, holding, in_pieces

PRECEDING = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


class KeptGroups(NamedTuple):
    """What is known of a table of parts of groups.

    `by` are the columns by which parts are grouped. `again` has, for each other column of a part, the
    aggregate that combines the values of several parts.
    """

    by: tuple[str, ...]
    again: Mapping[str, str]


@dataclass(kw_only=True)
class Whole(Rows):
    """The groups of the rows `below`, as rows: each aggregate that is collected becomes a column."""

    below: Rows
    by: Sequence[str]
    collected: dict[str, str] = field(default_factory=dict)

    @property
    def never_empty(self) -> bool:
        return bool(self.by)

    def collect(
        self, item: Collected, where: str | None = None, distinct: Sequence[str] | None = None
    ) -> str:
        """The column of an aggregate over the rows of a group for which `where` holds.

        Of rows with the same values in the columns `distinct`, only one counts.
        """
        if distinct is not None and item.different is not None and where is None:
            return self._collected(item.different)
        first = None if distinct is None else self.first_of_its_kind(distinct)
        return self._collected(item.whole + filter_clause(where, first))

    def _collected(self, sql: str) -> str:
        if sql not in self.collected:
            self.collected[sql] = self.compiler.fresh("collected")
        return f"{self.alias}.{self.collected[sql]}"

    def first_of_its_kind(self, columns: Sequence[str]) -> str:
        """The condition that no row before this one in its group has the same values in some columns."""
        by = ", ".join([*self.by, *columns]) or "1"
        order = columns[0] if columns else "1"
        number = self.below.share(f"row_number() OVER (PARTITION BY {by} ORDER BY {order})")
        return f"{number} = 1"

    def sql(self, of_all: str) -> str:
        """The SQL of the groups; `of_all` ends the statement if there is nothing to group by."""
        collected = [f"{sql} AS {name}" for sql, name in self.collected.items()]
        grouping = f"GROUP BY {', '.join(self.by)}" if self.by else of_all
        columns = [*self.by, *collected] or ["count(*) AS unit"]
        return select(columns, self.below.source(*collected), tail=grouping)


@dataclass(kw_only=True)
class Sliding(Whole):
    """A group for each row: the row itself and the rows before it, by window functions.

    The first column of `by` is a time. A group has the rows with the same values in the other columns whose
    time is earlier than that of the row by less than `within`.
    """

    within: int

    def collect(
        self, item: Collected, where: str | None = None, distinct: Sequence[str] | None = None
    ) -> str:
        return self._collected(f"{item.whole}{filter_clause(where)} OVER near")

    def sql(self, of_all: str) -> str:
        collected = [f"{sql} AS {name}" for sql, name in self.collected.items()]
        time, *alike = self.by
        parts = f"PARTITION BY {', '.join(alike)} " if alike else ""
        frame = f"ORDER BY {time} RANGE BETWEEN {self.within - 1} PRECEDING AND CURRENT ROW"
        return select(
            [*self.by, *collected], self.below.source(*collected), tail=f"WINDOW near AS ({parts}{frame})"
        )


@dataclass(kw_only=True)
class Parted(Whole):
    """The groups of each instant, from rows that hold for intervals."""

    keeps: bool = False  # the parts are in a table that is kept between batches
    parts: dict[str, str] = field(default_factory=dict)
    starts: dict[str, str] = field(default_factory=dict)
    parts_alias: str = field(init=False)
    instants_alias: str = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.parts_alias, self.instants_alias = self.compiler.fresh("p"), self.compiler.fresh("i")

    @property
    def instant(self) -> str:
        return f"{self.instants_alias}.{INSTANT.column}"

    def collect(
        self, item: Collected, where: str | None = None, distinct: Sequence[str] | None = None
    ) -> str:
        part = item.part + filter_clause(where, item.part_where)
        if part not in self.parts:
            self.parts[part] = self.compiler.fresh("part")
        first = None if distinct is None else self.first_of_its_kind(distinct)
        return self._collected(item.combined(f"{self.parts_alias}.{self.parts[part]}", filter_clause(first)))

    def first_of_its_kind(self, columns: Sequence[str]) -> str:
        """The condition that the rows of a part count at an instant, where DISTINCT counts equal rows once.

        Each row counts from the instant at which all equal rows that began before it have ended. So at every
        instant at which equal rows hold, exactly one of them counts. This start is clamped to the row's own
        interval, only to have fewer different parts.
        """
        begin, end = (f"{self.below.alias}.{bound}" for bound in (FROM, UNTIL))
        alike = ", ".join([*self.by, *columns])
        over = f"{f'PARTITION BY {alike} ' if alike else ''}ORDER BY {begin} {PRECEDING}"
        reached = self.below.share(f"max({end}) OVER ({over})")
        start = f"least({end}, greatest({begin}, COALESCE({reached}, {begin})))"
        if start not in self.starts:
            self.starts[start] = self.compiler.fresh("counts_from")
        return f"{self.instant} >= {self.parts_alias}.{self.starts[start]}"

    def sql(self, of_all: str) -> str:
        interval = [f"{self.below.alias}.{bound}" for bound in (FROM, UNTIL)]
        starts = [f"{sql} AS {name}" for sql, name in self.starts.items()]
        parts = [f"{sql} AS {name}" for sql, name in self.parts.items()]
        parted = select(
            [*self.by, *interval, *starts, *parts],
            self.below.source(*starts, *parts),
            tail=f"GROUP BY {', '.join([*self.by, *interval, *self.starts])}",
        )
        names = [column.removeprefix(f"{self.below.alias}.") for column in self.by]
        by = [self.instant, *(f"{self.parts_alias}.{name}" for name in names)]
        collected = [f"{sql} AS {name}" for sql, name in self.collected.items()]
        item = nested(parted, self.parts_alias)
        if self.keeps:
            item = f"{self.compiler.keep(parted)} AS {self.parts_alias}"
        held = holding(item, self.parts_alias, self.instants_alias)
        return select([*by, *collected], held, tail=f"GROUP BY {', '.join(by)}")


@dataclass(kw_only=True)
class Pieced(Whole):
    """The groups of each piece of time, from rows that hold for intervals of ticks.

    `names` are the variables that the rows are grouped by. Between two ticks at which a part of a group
    begins or ends, the group does not change: that is a piece.
    """

    names: Sequence[str]
    keeps: bool = False  # the parts are in a table that is kept between batches
    parts: dict[str, str] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)
    pieces: str = ""  # the SQL of all pieces, once `sql` was called

    def collect(
        self, item: Collected, where: str | None = None, distinct: Sequence[str] | None = None
    ) -> str:
        assert distinct is None
        part = item.part + filter_clause(where, item.part_where)
        if part not in self.parts:
            self.parts[part] = self.compiler.fresh("part")
            self.again[self.parts[part]] = item.again(self.parts[part])
        return self._collected(item.combined(self.parts[part], ""))

    def sql(self, of_all: str) -> str:
        interval = [f"{self.below.alias}.{bound}" for bound in (FROM, UNTIL)]
        parts = [f"{sql} AS {name}" for sql, name in self.parts.items()]
        parted = select(
            [*self.by, *interval, *parts],
            self.below.source(*parts),
            tail=f"GROUP BY {', '.join([*self.by, *interval])}",
        )
        columns = [self.compiler.column(name) for name in self.names]
        if self.keeps:
            self.compiler.groups = KeptGroups(tuple(columns), self.again)
            kept = [f"0 AS {BUCKET.column}", *columns, FROM, UNTIL, *self.again]
            parted = select(kept, self.compiler.keep(parted))
        more = tuple(self.parts.values())
        relation = Relation(parted, tuple(self.names), frozenset(), (BUCKET,), valid=True, more=more)
        cut, self.pieces = in_pieces(relation, self.names, self.compiler)
        by = [*(key.column for key in cut.keys), *columns]
        collected = [f"{sql} AS {name}" for sql, name in self.collected.items()]
        item = nested(cut.sql, self.compiler.fresh("p"))
        return select([*by, *collected], item, tail=f"GROUP BY {', '.join(by)}")
