"""Shared work: columns between a relation and an operator, computed once for each row of the relation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rheos.sql.relation import nested

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler

SHARED = re.compile(r"\bshared_\d+\b")


@dataclass
class Shared:
    """The columns that are added to the rows under an alias, by the SQL of each."""

    alias: str
    compiler: Compiler
    names: dict[str, str] = field(default_factory=dict)

    def share(self, sql: str) -> str:
        """The column that holds the value of an expression over these rows."""
        if sql not in self.names:
            self.names[sql] = self.compiler.fresh("shared")
        return f"{self.alias}.{self.names[sql]}"

    def added_to(self, source: str, *uses: str) -> str:
        """The rows, an item of FROM, with those of the columns that the texts in `uses` need; one that needs
        another stands a level above it."""
        expressions = {name: sql for sql, name in self.names.items()}
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
        for columns_of_level in levels:
            columns = ",\n  ".join((f"{self.alias}.*", *columns_of_level))
            source = nested(f"SELECT {columns}\nFROM {source}", self.alias)
        return source
