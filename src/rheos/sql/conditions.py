"""Conditions: combines SQL conditions with AND, OR and NOT, and puts brackets where precedence needs them.

No other module may put AND, OR or NOT beside a condition that was made elsewhere: its operators could bind
wrongly (`tests/sql/test_conditions.py` looks for such places). Brackets are put around an OR that is part of
an AND, and around an AND or OR after NOT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

FALSE, TRUE = "FALSE", "TRUE"

# How tightly the loosest operator of a condition binds, from loose to tight.
OR, AND, TIGHTER = range(3)

# A literal ends at the next quote in the text of both dialects; DuckDB's '' then reads as two literals.
_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|[()\[\]{}]|\b(?:CASE|END|BETWEEN|AND|OR)\b""")
_OPEN, _CLOSE = frozenset({"(", "[", "{", "CASE"}), frozenset({")", "]", "}", "END"})


class Condition(str):
    """A text of SQL that knows how tightly its loosest operator binds."""

    binds: int

    @classmethod
    def of(cls, sql: str, binds: int) -> Condition:
        made = cls(sql)
        made.binds = binds
        return made


def all_of(conditions: Iterable[str], gap: str = " ") -> str:
    """The conjunction of conditions, each after a `gap`; TRUE for none."""
    parts = [bracketed(condition, AND) for condition in conditions if condition != TRUE]
    if len(parts) < 2:
        return parts[0] if parts else TRUE
    return Condition.of(f"{gap}AND ".join(parts), AND)


def any_of(conditions: Iterable[str]) -> str:
    """The disjunction of conditions; FALSE for none. Nothing binds less tightly than OR: no brackets."""
    parts = [condition for condition in conditions if condition != FALSE]
    if len(parts) < 2:
        return parts[0] if parts else FALSE
    return Condition.of(" OR ".join(parts), OR)


def same(left: str, right: str, columns: Iterable[str]) -> str:
    """The condition that the rows of two aliases are equal in some columns, and none of these is NULL."""
    return all_of(f"{left}.{column} = {right}.{column}" for column in columns)


def negated(condition: str) -> str:
    if condition in (FALSE, TRUE):
        return TRUE if condition == FALSE else FALSE
    return Condition.of(f"NOT {bracketed(condition, TIGHTER)}", TIGHTER)


def bracketed(sql: str, binds: int) -> str:
    """A condition that may stand beside an operator that binds as tightly as `binds`."""
    return in_brackets(sql) if loosest(sql) < binds else sql


def in_brackets(sql: str) -> str:
    return Condition.of(f"({sql})", TIGHTER)


def loosest(sql: str) -> int:
    """How tightly the loosest operator outside of all brackets binds: OR, AND, or TIGHTER."""
    if isinstance(sql, Condition):
        return sql.binds
    found, depth, ranges = TIGHTER, 0, 0
    for token in _TOKEN.findall(sql) if " OR " in sql or "AND " in sql else ():
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token == "OR":
            return OR
        elif depth == 0 and token == "BETWEEN":
            ranges += 1
        elif depth == 0 and token == "AND":
            # The first AND after BETWEEN is a part of it.
            found, ranges = (found, ranges - 1) if ranges else (AND, 0)
    return found
