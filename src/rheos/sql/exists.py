"""EXISTS: an outer row and a pattern come in, a condition on the row goes out.

The recommendation substitutes the row's values into the pattern (section 18.6). Where the pattern binds all
of the outer variables that it mentions, that is a semi-join. Elsewhere (an outer variable only in a filter of
the pattern, or bound in an OPTIONAL part only) the pattern is evaluated with the different outer values as
keys beside it: then its filters see them, and OPTIONAL and MINUS inside work for each of them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheos.algebra.expressions import Exists
from rheos.algebra.variables import certain, mentioned
from rheos.sql.context import KeySource
from rheos.sql.joins import compatible, same_keys
from rheos.sql.relation import Key, nested, select
from rheos.sql.validity import spread

if TYPE_CHECKING:
    from rheos.sql.rows import Rows


def exists_condition(exists: Exists, rows: Rows) -> str:
    outer = [name for name in rows.relation.variables if name in mentioned(exists.pattern)]
    inherited = [name for name in rows.context.environment if name in mentioned(exists.pattern)]
    if set(outer) <= certain(exists.pattern) and not inherited:
        condition = semi_join(exists, rows, outer)
    else:
        condition = with_outer_values(exists, rows, outer)
    return f"NOT {condition}" if exists.negated else condition


def semi_join(exists: Exists, rows: Rows, outer: list[str]) -> str:
    compiler = rows.compiler
    inner = spread(compiler.node(exists.pattern, rows.context), compiler)
    alias = compiler.fresh("e")
    common = [key for key in rows.relation.keys if key in inner.keys]
    conditions = same_keys(common, rows.alias, alias)
    conditions += [
        compatible(compiler.column(name), rows.alias, alias, name in rows.relation.certain, True)
        for name in outer
    ]
    return f"EXISTS (\n{select(['1'], nested(inner.sql, alias), conditions)}\n)"


def with_outer_values(exists: Exists, rows: Rows, outer: list[str]) -> str:
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
    return f"EXISTS (\n{select(['1'], nested(inner.sql, alias), conditions)}\n)"
