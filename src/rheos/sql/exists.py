"""EXISTS: a join that tells for each outer row whether the pattern matches.

The recommendation substitutes the row's values into the pattern (section 18.6). Where the pattern binds all
of the outer variables that it mentions, that is a semi-join. Elsewhere (an outer variable only in a filter of
the pattern, or bound in an OPTIONAL part only) the pattern is evaluated with the different outer values as
keys beside it: then its filters see them, and OPTIONAL and MINUS inside work for each of them apart.

No sub-query is correlated: both engines know correlated ones only in part.
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
    """The solutions of a pattern under an alias, and when an outer row is one that it exists for.

    `columns` are those of the solutions that the conditions read.
    """

    sql: str
    alias: str
    conditions: list[str]
    columns: list[str]


def semi_join(exists: Exists, rows: Rows) -> str:
    """The rows for which the pattern exists (or, negated, does not) as an item of FROM."""
    match = matches(exists, rows, unique=False)
    dialect = rows.dialect
    how = dialect.anti_join if exists.negated else dialect.semi_join
    return f"{rows.source()} {how} {nested(match.sql, match.alias)}\nON {all_of(match.conditions)}"


def mark(exists: Exists, rows: Rows) -> tuple[str, str]:
    """A join that finds at most one match for each row, and the SQL of whether it found one."""
    match = matches(exists, rows, unique=True)
    found = rows.compiler.fresh("found")
    columns = [f"{match.alias}.{column}" for column in match.columns]
    inner = select([*columns, f"TRUE AS {found}"], nested(match.sql, match.alias), distinct=True)
    join = f"LEFT JOIN {nested(inner, match.alias)}\nON {all_of(match.conditions)}"
    return join, f"{match.alias}.{found} IS {'NULL' if exists.negated else 'NOT NULL'}"


def matches(exists: Exists, rows: Rows, *, unique: bool) -> Match:
    """What to join a row with; `unique`: on equality alone, so that no row can have two different matches."""
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
