"""Shared columns: expressions that an operator uses several times, computed once for each row below it."""

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
    """The columns that are added to the rows under an alias: `names` maps the SQL of each to its name."""

    alias: str
    compiler: Compiler
    names: dict[str, str] = field(default_factory=dict)

    def share(self, sql: str) -> str:
        """The column with the value of an expression over these rows."""
        if sql not in self.names:
            self.names[sql] = self.compiler.fresh("shared")
        return f"{self.alias}.{self.names[sql]}"

    def added_to(self, source: str, *uses: str) -> str:
        """The rows, an item of FROM, with the shared columns that the texts in `uses` need.

        A column that reads another shared column is added in a SELECT around the one that adds the other.
        """
        expressions = {name: sql for sql, name in self.names.items()}
        level_of: dict[str, int] = {}

        def place(text: str) -> int:
            """Give a level to each column that a text needs; returns the first level above all of them."""
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
