"""Expressions over one relation: the scope that gives them columns, shared work and EXISTS."""

from __future__ import annotations

import re
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

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler

SHARED = re.compile(r"\bshared_\d+\b")


@dataclass
class Rows:
    """The rows of a relation under an alias, as a `Scope`.

    What expressions share becomes columns between the relation and the operator at hand: `source()` is
    what that operator reads from.
    """

    relation: Relation
    context: Context
    compiler: Compiler
    alias: str
    shared: dict[str, str] = field(default_factory=dict)
    marks: dict[Exists, str] = field(default_factory=dict)
    mark_joins: list[str] = field(default_factory=list)
    mark_columns: list[str] = field(default_factory=list)

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
        if sql not in self.shared:
            self.shared[sql] = self.compiler.fresh("shared")
        return f"{self.alias}.{self.shared[sql]}"

    def exists(self, exists: Exists) -> str:
        if exists not in self.marks:
            join, found = mark(exists, self)
            name = self.compiler.fresh("exists")
            self.marks[exists] = name
            self.mark_joins.append(join)
            self.mark_columns.append(f"{found} AS {name}")
        return f"{self.alias}.{self.marks[exists]}"

    def source(self, *uses: str) -> str:
        """The relation as an item of FROM, with those of the shared columns beside its own that the texts in
        `uses` need; one that needs another stands a level above it."""
        expressions = {name: sql for sql, name in self.shared.items()}
        level_of: dict[str, int] = {}

        def place(text: str) -> int:
            """Give a level to all that a text needs, and say which is the first above them."""
            needed = [name for name in SHARED.findall(text) if name in expressions]
            for name in needed:
                if name not in level_of:
                    level_of[name] = place(expressions[name])
            return max((level_of[name] + 1 for name in needed), default=0)

        levels: list[list[str]] = [[] for _ in range(max(map(place, uses), default=0))]
        for name, level in level_of.items():
            levels[level].append(f"{expressions[name]} AS {name}")
        source = nested(self.relation.sql, self.alias)
        if self.marks:
            marked = [f"{self.alias}.*", *self.mark_columns]
            source = nested(select(marked, "\n".join((source, *self.mark_joins))), self.alias)
        for columns_of_level in levels:
            columns = ",\n  ".join((f"{self.alias}.*", *columns_of_level))
            source = nested(f"SELECT {columns}\nFROM {source}", self.alias)
        return source

    def columns(self, variables: Sequence[str] | None = None) -> list[str]:
        """Keys, interval, the given variables (all, if none are given) and hidden columns, for a SELECT."""
        chosen = self.relation.variables if variables is None else variables
        names = self.relation.carried
        names += [self.compiler.column(variable) for variable in chosen]
        names += [item.column for item in self.relation.sort]
        return [f"{self.alias}.{name}" for name in names]
