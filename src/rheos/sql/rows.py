"""Rows: the scope of expressions over one relation, with its columns, shared columns and EXISTS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rheos.algebra.expressions import Exists
from rheos.algebra.literals import EXACT_RANKS
from rheos.algebra.variables import number_name
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.exists import mark
from rheos.sql.relation import OCCURRENCE, Relation, nested, select
from rheos.sql.shared import Shared

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler
    from rheos.sql.values import Value


@dataclass
class Rows:
    """The rows of a relation under an alias, as a `Scope`.

    What expressions share becomes columns between the relation and the operator that uses them: that operator
    reads from `source()`.
    """

    relation: Relation
    context: Context
    compiler: Compiler
    alias: str
    shared: Shared = field(init=False)
    values: dict[str, Value] = field(default_factory=dict, init=False)
    marks: dict[Exists, str] = field(default_factory=dict)
    mark_joins: list[str] = field(default_factory=list)
    mark_columns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shared = Shared(self.alias, self.compiler)

    @property
    def dialect(self) -> Dialect:
        return self.compiler.dialect

    def column(self, variable: str) -> str | None:
        outer = self.context.environment.get(variable)
        if variable not in self.relation.variables:
            return f"{self.alias}.{outer.column}" if outer else None
        own = f"{self.alias}.{self.compiler.column(variable)}"
        if outer and variable not in self.relation.certain:
            return f"COALESCE({own}, {self.alias}.{outer.column})"
        return own

    def is_number(self, variable: str) -> bool:
        return variable in self.relation.numeric

    def exact(self, variable: str) -> tuple[int, str] | None:
        for kind, rank in EXACT_RANKS.items():
            name = number_name(kind, variable)
            if name in self.relation.variables and name in self.relation.certain:
                return rank, f"{self.alias}.{self.compiler.column(name)}"
        return None

    @property
    def interval(self) -> tuple[str, str] | None:
        if not self.relation.occurs:
            return None
        start, end = OCCURRENCE
        return f"{self.alias}.{start}", f"{self.alias}.{end}"

    def share(self, sql: str) -> str:
        return self.shared.share(sql)

    def exists(self, exists: Exists) -> str:
        if exists not in self.marks:
            join, found = mark(exists, self)
            name = self.compiler.fresh("exists")
            self.marks[exists] = name
            self.mark_joins.append(join)
            self.mark_columns.append(f"{found} AS {name}")
        return f"{self.alias}.{self.marks[exists]}"

    def source(self, *uses: str) -> str:
        """The relation as an item of FROM, with the shared columns that the texts in `uses` need."""
        source = nested(self.relation.sql, self.alias)
        if self.marks:
            marked = [f"{self.alias}.*", *self.mark_columns]
            source = nested(select(marked, "\n".join((source, *self.mark_joins))), self.alias)
        return self.shared.added_to(source, *uses)

    def columns(self, variables: Sequence[str] | None = None) -> list[str]:
        """The SELECT list: keys and times, the given variables (all of them for None), and sort columns."""
        chosen = self.relation.variables if variables is None else variables
        names = self.relation.carried
        names += [self.compiler.column(variable) for variable in chosen]
        names += [item.column for item in self.relation.sort]
        return [f"{self.alias}.{name}" for name in names]
