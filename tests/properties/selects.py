"""Random SELECT clauses, plain and with groups and aggregates, for queries and for sub-selects.

Left out, because two right engines may differ: SAMPLE of anything but a key, the order in
GROUP_CONCAT (only its length is looked at), MIN and MAX where two terms have one value or where values
of different types meet, and of values that may be missing (an error or not, section 18.5.1 is silent).
GROUP_CONCAT sees strings without language tags only: pyoxigraph keeps a common tag, as SPARQL 1.2 does
(W3C test aggregates/agg-groupconcat-04, which it fails). COUNT of an expression has no errors in it,
which pyoxigraph takes for an error of COUNT where section 18.5.1.2 leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .expressions import Scope
from .vocabulary import KIND, VARIABLES

if TYPE_CHECKING:
    from .patterns import Patterns, Place


@dataclass(frozen=True)
class Select:
    """The text, what is in scope outside, and the variables of the result."""

    text: str
    scope: Scope
    distinct: bool = False
    reduced: bool = False


class Selects:
    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.choose = patterns.choose

    def select(self, place: Place, reduced: bool = False) -> Select:
        if self.choose.chance(35):
            return self.grouped(place)
        return self.plain(place, reduced)

    def plain(self, place: Place, reduced: bool = False) -> Select:
        where, inner = self.patterns.group(place)
        sign = self.choose.weighted({"": 6, "DISTINCT ": 3, "REDUCED ": 1 if reduced else 0})
        star = self.choose.chance(30)
        if star:
            return self.finish(sign, "*", where, inner)
        names = [name for name in inner if self.choose.chance(70)] or list(inner)[:1]
        scope = {name: inner[name] for name in names}
        items = [f"?{name}" for name in names]
        visible = dict(inner)
        for _ in range(self.choose.weighted({0: 3, 1: 2, 2: 1})):
            definition = self.patterns.definition(place, visible, visible)
            if definition:
                expression, name = definition
                items.append(f"({expression} AS ?{name})")
                scope[name] = visible[name] = False
        if not items:
            return self.finish(sign, "*", where, inner)
        return self.finish(sign, " ".join(items), where, scope)

    def finish(self, sign: str, items: str, where: str, scope: Scope) -> Select:
        text = f"SELECT {sign}{items} WHERE {where}"
        return Select(text, scope, distinct=sign == "DISTINCT ", reduced=sign == "REDUCED ")

    # --- groups and aggregates -------------------------------------------------------------------

    def grouped(self, place: Place) -> Select:
        where, inner = self.patterns.group(place)
        keys: Scope = {}
        clause: list[str] = []
        if self.choose.chance(75):
            for name in [name for name in inner if self.choose.chance(35)][:2] or list(inner)[:1]:
                keys[name] = inner[name]
                clause.append(f"?{name}")
            if self.choose.chance(20):
                definition = self.patterns.definition(place, inner, {**inner, **keys})
                # pyoxigraph wrongly refuses `GROUP BY (?c AS ?a)`, a mere renaming
                if definition and not definition[0].startswith("?"):
                    expression, name = definition
                    keys[name] = False
                    clause.append(f"({expression} AS ?{name})")
        scope = {name: keys[name] for name in keys if self.choose.chance(80)}
        items = [f"?{name}" for name in scope]
        names = [name for name in VARIABLES["calc"] if name not in inner and name not in keys]
        for name in names[: self.choose.number(1, 2)]:
            items.append(f"({self.aggregate(inner, keys)} AS ?{name})")
            scope[name] = False
        if not items:
            return self.finish("", "*", where, inner)
        having = f" HAVING ({self.having(inner, keys)})" if self.choose.chance(20) else ""
        group = f" GROUP BY {' '.join(clause)}" if clause else ""
        text = f"SELECT {' '.join(items)} WHERE {where}{group}{having}"
        return Select(text, scope)

    def having(self, inner: Scope, keys: Scope) -> str:
        sign = self.choose.pick([">", "<", "=", "!=", ">="])
        return f"{self.aggregate(inner, keys)} {sign} {self.choose.number(0, 3)}"

    def aggregate(self, inner: Scope, keys: Scope) -> str:
        """An aggregate whose value does not depend on the order of the rows."""
        distinct = self.choose.pick(["", "", "DISTINCT "])
        numbers = [name for name in inner if KIND[name] in ("int", "num")]
        sure = [name for name in inner if inner[name]]
        kinds = {
            "star": 2,
            "count": 4 if inner else 0,
            "sum": 4 if numbers else 1,
            "avg": 3 if numbers else 1,
            "extreme": 4 if any(KIND[name] == "int" for name in sure) else 0,
            "concat": 2 if any(KIND[name] in ("str", "int") for name in sure) else 0,
            "sample": 1 if keys else 0,
        }
        match self.choose.weighted(kinds):
            case "star":
                return f"COUNT({distinct}*)"
            case "count":
                if self.choose.chance(25):
                    value = self.patterns.expressions_without_exists().value(inner, 1)
                    return f"COUNT({distinct}COALESCE({value}, 'none'))"
                return f"COUNT({distinct}?{self.choose.pick(list(inner))})"
            case "sum" | "avg" as name:
                if numbers and self.choose.chance(70):
                    return f"{name.upper()}({distinct}?{self.choose.pick(numbers)})"
                argument = self.patterns.expressions_without_exists().number(inner, 1)
                return f"{name.upper()}({distinct}{argument})"
            case "extreme":
                name = self.choose.pick([name for name in sure if KIND[name] == "int"])
                return f"{self.choose.pick(['MIN', 'MAX'])}({distinct}?{name})"
            case "concat":
                name = self.choose.pick([name for name in sure if KIND[name] in ("str", "int")])
                separator = self.choose.pick(["", '; SEPARATOR=", "', '; SEPARATOR=""'])
                return f"STRLEN(GROUP_CONCAT({distinct}STR(?{name}){separator}))"
        return f"SAMPLE({distinct}?{self.choose.pick(list(keys))})"
