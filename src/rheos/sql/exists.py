"""EXISTS: a join that tells for each outer row whether the pattern matches.

The recommendation substitutes the row's values into the pattern (section 18.6). If the pattern always binds
all outer variables that it mentions, that is a semi-join. Otherwise (an outer variable stands only in a
filter of the pattern, or is bound only in an OPTIONAL part) the pattern is evaluated with the distinct outer
values as keys: filters of the pattern then see them, and OPTIONAL and MINUS inside work for each value
separately.

No sub-query is correlated, because both engines support correlated sub-queries only in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.algebra.expressions import Exists
from rheos.algebra.variables import certain, mentioned
from rheos.sql.conditions import all_of
from rheos.sql.context import KeySource
from rheos.sql.joins import compatible, same_keys
from rheos.sql.relation import Key, nested, select
from rheos.sql.validity import spread

if TYPE_CHECKING:
    from rheos.sql.rows import Rows


@dataclass(frozen=True, slots=True)
class Match:
    """The solutions of a pattern under an alias, and the conditions under which they match an outer row.

    `columns` are the columns of the solutions that the conditions read.
    """

    sql: str
    alias: str
    conditions: list[str]
    columns: list[str]


def semi_join(exists: Exists, rows: Rows) -> str:
    """The rows for which the pattern has a solution (or, negated, has none) as an item of FROM."""
    match = matches(exists, rows, unique=False)
    dialect = rows.dialect
    how = dialect.anti_join if exists.negated else dialect.semi_join
    return f"{rows.source()} {how} {nested(match.sql, match.alias)}\nON {all_of(match.conditions)}"


def mark(exists: Exists, rows: Rows) -> tuple[str, str]:
    """A LEFT JOIN that finds at most one match for each row, and the condition that it found one.

    If EXISTS is negated, the condition is that it found none.
    """
    match = matches(exists, rows, unique=True)
    found = rows.compiler.fresh("found")
    columns = [f"{match.alias}.{column}" for column in match.columns]
    inner = select([*columns, f"TRUE AS {found}"], nested(match.sql, match.alias), distinct=True)
    join = f"LEFT JOIN {nested(inner, match.alias)}\nON {all_of(match.conditions)}"
    return join, f"{match.alias}.{found} IS {'NULL' if exists.negated else 'NOT NULL'}"


def matches(exists: Exists, rows: Rows, *, unique: bool) -> Match:
    """The solutions to join a row with.

    If `unique`, all conditions are equalities, so that no row can have two different matches.
    """
    pattern = exists.pattern
    outer = [name for name in rows.relation.variables if name in mentioned(pattern)]
    inherited = [name for name in rows.context.environment if name in mentioned(pattern)]
    plain = set(outer) <= certain(pattern) and not inherited
    if plain and (not unique or set(outer) <= rows.relation.certain):
        return by_variables(exists, rows, outer)
    return by_outer_values(exists, rows, outer)


def by_variables(exists: Exists, rows: Rows, outer: list[str]) -> Match:
    compiler = rows.compiler
    inner = spread(compiler.node(exists.pattern, rows.context), compiler)
    alias = compiler.fresh("e")
    common = [key for key in rows.relation.keys if key in inner.keys]
    conditions = same_keys(common, rows.alias, alias)
    conditions += [
        compatible(compiler.column(name), rows.alias, alias, name in rows.relation.certain, True)
        for name in outer
    ]
    columns = [key.column for key in common] + [compiler.column(name) for name in outer]
    return Match(inner.sql, alias, conditions, columns)


def by_outer_values(exists: Exists, rows: Rows, outer: list[str]) -> Match:
    compiler = rows.compiler
    values = compiler.fresh("o")
    environment = {
        name: Key(compiler.fresh("outer"), nullable=name not in rows.relation.certain) for name in outer
    }
    names = [f"{values}.{compiler.column(name)} AS {key.column}" for name, key in environment.items()]
    source = nested(rows.relation.sql, values)
    keys = KeySource(tuple(environment.values()), select(names, source, distinct=True))
    context = rows.context.inside(keys, environment) if environment else rows.context
    inner = spread(compiler.node(exists.pattern, context), compiler)
    alias = compiler.fresh("e")
    common = [key for key in rows.relation.keys if key in inner.keys]
    conditions = same_keys(common, rows.alias, alias)
    for name, key in environment.items():
        own = f"{rows.alias}.{compiler.column(name)}"
        operator = "IS NOT DISTINCT FROM" if key.nullable else "="
        conditions.append(f"{alias}.{key.column} {operator} {own}")
    return Match(inner.sql, alias, conditions, [key.column for key in (*common, *environment.values())])
