"""The operators on solution sequences: Group, Project, Distinct, OrderBy and Slice (18.5).

In a context with keys, each operator works on the rows of each key value separately.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rheos.algebra.expressions import Aggregate
from rheos.algebra.nodes import Aggregated, Distinct, Group, Kept, OrderBy, Project, Slice
from rheos.algebra.variables import certain, has_exists, used
from rheos.sql import ordering
from rheos.sql.aggregates import aggregate as aggregate_sql
from rheos.sql.conditions import all_of
from rheos.sql.context import Context
from rheos.sql.grouped import Parted, Pieced, Whole
from rheos.sql.joins import same_keys
from rheos.sql.relation import BUCKET, INSTANT, Key, Relation, Sort, nested, select
from rheos.sql.rows import Rows
from rheos.sql.validity import PIECE, at_every_instant, in_pieces, of_pieces, spread
from rheos.terms import XSD, literal

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler

# The results of aggregates over no rows (18.5.1). All other aggregates are errors then, hence unbound.
OF_NO_ROWS = {
    "COUNT": literal("0", XSD + "integer"),
    "SUM": literal("0", XSD + "integer"),
    "AVG": literal("0", XSD + "integer"),
    "GROUP_CONCAT": literal(""),
}


def group(node: Group, context: Context, compiler: Compiler) -> Relation:
    keeps = isinstance(node.pattern, Kept) and keeps_parts(node, compiler)
    if isinstance(node.pattern, Kept) and keeps:
        inner = compiler.added(node.pattern, context)
    else:
        inner = compiler.node(node.pattern, context)
    if any(needs_rows(aggregate) for _, aggregate in node.aggregates):
        inner = spread(inner, compiler)
    if BUCKET in inner.keys or (keeps and context.ticking):
        return in_ticks(inner, node, context, compiler, keeps=keeps)
    relation = grouped(inner, node, context, compiler, keeps=keeps)
    if not relation.keys or node.keys:
        return relation
    unit = keyed_unit(context, compiler)
    return every_key(
        relation, node, at_every_instant(unit, compiler) if INSTANT in relation.keys else unit, compiler
    )


def in_ticks(inner: Relation, node: Group, context: Context, compiler: Compiler, *, keeps: bool) -> Relation:
    """The groups of a relation of CQELS-QL, for the pieces of time during which a group does not change."""
    bound = [key.name for key in node.keys if key.name in inner.variables]
    if any(aggregate.distinct for _, aggregate in node.aggregates):  # DISTINCT needs the solutions, not parts
        inner, pieces = in_pieces(inner, bound, compiler)
        found = grouped(inner, node, context, compiler)
    else:
        found, pieces = pieced(inner, node, context, compiler, keeps=keeps)
    if not node.keys:
        found = every_key(found, node, Relation(pieces, (), frozenset(), found.keys), compiler)
    return of_pieces(found, compiler)


def pieced(
    inner: Relation, node: Group, context: Context, compiler: Compiler, *, keeps: bool
) -> tuple[Relation, str]:
    """The groups of each piece of time, and the SQL of all pieces."""
    rows = compiler.rows(inner, context)
    present = [key.name for key in node.keys if key.name in inner.variables]
    by = [f"{rows.alias}.{key.column}" for key in inner.keys]
    by += [f"{rows.alias}.{compiler.column(name)}" for name in present]
    groups = Pieced(
        inner, context, compiler, compiler.fresh("r"), below=rows, by=by, names=present, keeps=keeps
    )
    return of_groups(groups, node, rows, (BUCKET, *PIECE)), groups.pieces


def grouped(
    inner: Relation, node: Group, context: Context, compiler: Compiler, *, keeps: bool = False
) -> Relation:
    """The groups of a relation that have rows. If `keeps`, they are made of the parts of all batches."""
    rows = compiler.rows(inner, context)
    present = [key.name for key in node.keys if key.name in inner.variables]
    by = [f"{rows.alias}.{key.column}" for key in inner.keys]
    by += [f"{rows.alias}.{compiler.column(name)}" for name in present]
    groups: Whole
    if inner.valid:
        groups = Parted(inner, context, compiler, compiler.fresh("r"), below=rows, by=by, keeps=keeps)
    else:
        groups = Whole(inner, context, compiler, compiler.fresh("r"), below=rows, by=by)
    return of_groups(groups, node, rows, (INSTANT, *inner.keys) if inner.valid else inner.keys)


def of_groups(groups: Whole, node: Group, rows: Rows, keys: tuple[Key, ...]) -> Relation:
    """The relation of groups, which have the given keys, with the aggregates over their rows."""
    compiler, inner = rows.compiler, rows.relation
    present = [key.name for key in node.keys if key.name in inner.variables]
    absent = [key.name for key in node.keys if key.name not in present]
    variables = present + absent + [variable.name for variable, _ in node.aggregates]
    found = [
        f"{aggregate_sql(aggregate, rows, groups, inner.variables)} AS {compiler.column(variable.name)}"
        for variable, aggregate in node.aggregates
    ]
    groups.relation = Relation(groups.sql(grouping_of_all(node)), tuple(present), frozenset(), keys)
    columns = groups.columns() + [f"{compiler.dialect.null} AS {compiler.column(name)}" for name in absent]
    sql = select(columns + found, groups.source(*found))
    return Relation(sql, tuple(variables), certain(node), keys)


def keeps_parts(node: Group, compiler: Compiler) -> bool:
    """Whether the table KEPT has parts of groups, rather than solutions.

    DISTINCT in an aggregate compares solutions, so it needs these. A query has only one table KEPT.
    """
    return compiler.fill is None and not any(aggregate.distinct for _, aggregate in node.aggregates)


def needs_rows(aggregate: Aggregate) -> bool:
    """Whether an aggregate needs the rows of each instant: its argument has an EXISTS."""
    return has_exists(aggregate.argument)


def aggregated(node: Aggregated, context: Context, compiler: Compiler) -> Relation:
    """AGGREGATE of C-SPARQL: every row with the aggregates of its groups, which are joined to the rows."""
    relation = spread(compiler.node(node.pattern, context), compiler)
    inner = relation
    for item in node.aggregations:
        groups = group(Group(node.pattern, item.group, ((item.variable, item.aggregate),)), context, compiler)
        rows, found = compiler.fresh("r"), compiler.fresh("g")
        conditions = same_keys(relation.keys, rows, found)
        for variable in item.group:
            column = compiler.column(variable.name)
            operator = "=" if variable.name in relation.certain else "IS NOT DISTINCT FROM"
            conditions.append(f"{rows}.{column} {operator} {found}.{column}")
        columns = [f"{rows}.{column}" for column in inner.carried]
        columns += [f"{rows}.{compiler.column(name)}" for name in inner.variables]
        columns.append(f"{found}.{compiler.column(item.variable.name)}")
        source = f"{nested(inner.sql, rows)} JOIN {nested(groups.sql, found)}\nON {all_of(conditions)}"
        inner = replace(
            inner,
            sql=select(columns, source),
            variables=(*inner.variables, item.variable.name),
            sort=(),
            sorted_by=frozenset(),
        )
    return replace(inner, certain=certain(node))


def grouping_of_all(node: Group) -> str:
    """The end of a grouping without GROUP BY columns.

    If the query groups by variables that nothing can bind, no rows make no group. Without GROUP BY, no rows
    make one group.
    """
    return "HAVING count(*) > 0" if node.keys else ""


def keyed_unit(context: Context, compiler: Compiler) -> Relation:
    """One solution that binds nothing, for every value of the keys of a context."""
    from rheos.sql.patterns import keyed

    return keyed(Relation("SELECT 1 AS unit", (), frozenset()), context, compiler)


def every_key(relation: Relation, node: Group, unit: Relation, compiler: Compiler) -> Relation:
    """The one group of a query without GROUP BY, for every key value of `unit`, even where it has no rows."""
    all_keys, found = compiler.fresh("k"), compiler.fresh("r")
    first = f"{found}.{relation.keys[0].column}"
    columns = [f"{all_keys}.{key.column}" for key in relation.keys]
    for variable, aggregate in node.aggregates:
        column = compiler.column(variable.name)
        columns.append(f"{or_of_no_rows(aggregate, f'{found}.{column}', first, compiler)} AS {column}")
    conditions = same_keys(relation.keys, all_keys, found)
    source = f"{nested(unit.sql, all_keys)} LEFT JOIN {nested(relation.sql, found)}"
    return relation.with_sql(select(columns, f"{source}\nON {all_of(conditions)}"))


def or_of_no_rows(aggregate: Aggregate, column: str, key: str, compiler: Compiler) -> str:
    if aggregate.name not in OF_NO_ROWS:
        return column
    nothing = compiler.dialect.string(OF_NO_ROWS[aggregate.name])
    return f"CASE WHEN {key} IS NULL THEN {nothing} ELSE {column} END"


def project(node: Project, context: Context, compiler: Compiler) -> Relation:
    inner = compiler.node(node.pattern, context)
    alias = compiler.fresh("p")
    names = tuple(dict.fromkeys(variable.name for variable in node.variables))
    columns = [f"{alias}.{column}" for column in inner.carried]
    for name in names:
        column = compiler.column(name)
        bound = name in inner.variables
        columns.append(f"{alias}.{column}" if bound else f"{compiler.dialect.null} AS {column}")
    columns += [f"{alias}.{item.column}" for item in inner.sort]
    sql = select(columns, nested(inner.sql, alias))
    return replace(inner, sql=sql, variables=names, certain=certain(node))


def distinct(node: Distinct, context: Context, compiler: Compiler) -> Relation:
    inner = compiler.node(node.pattern, context)
    # If all variables of ORDER BY are still there, equal solutions have equal sort keys.
    shown = inner.sorted_by <= set(inner.variables)
    if BUCKET in inner.keys and shown:
        cut, _ = in_pieces(inner, inner.variables, compiler)
        rows = compiler.rows(cut, context)
        return of_pieces(cut.with_sql(select(rows.columns(), rows.source(), distinct=True)), compiler)
    if inner.valid:
        # Duplicates with the same interval are removed before they are spread over the instants.
        rows = compiler.rows(inner, context)
        inner = spread(inner.with_sql(select(rows.columns(), rows.source(), distinct=True)), compiler)
    rows = compiler.rows(inner, context)
    if shown:
        return inner.with_sql(select(rows.columns(), rows.source(), distinct=True))
    place, first = compiler.fresh("place"), compiler.fresh("first")
    numbered = select([f"{rows.alias}.*", f"{row_number(rows)} AS {place}"], rows.source())
    kept = [f"{rows.alias}.{key.column}" for key in inner.keys]
    kept += [f"{rows.alias}.{compiler.column(name)}" for name in inner.variables]
    columns = [*kept, f"min({rows.alias}.{place}) AS {first}"]
    tail = f"GROUP BY {', '.join(kept)}" if kept else ""
    sql = select(columns, nested(numbered, rows.alias), tail=tail)
    return replace(inner, sql=sql, sort=(Sort(first, "ASC"),), sorted_by=frozenset())


def order_by(node: OrderBy, context: Context, compiler: Compiler) -> Relation:
    relation = compiler.node(node.pattern, context)
    # In CQELS-QL, the sort keys of a row are the same at all its ticks, so it need not be spread.
    relation = relation if BUCKET in relation.keys else spread(relation, compiler)
    return sorted_by(relation, node, context, compiler)


def sorted_by(relation: Relation, node: OrderBy, context: Context, compiler: Compiler) -> Relation:
    """The solutions of a relation in an order."""
    rows = compiler.rows(relation, context)
    items: list[Sort] = []
    columns: list[str] = []
    for order in node.conditions:
        for sql, direction in ordering.keys(order.expression, rows, order.descending):
            items.append(Sort(compiler.fresh("sort"), direction))
            columns.append(f"{sql} AS {items[-1].column}")
    read = frozenset().union(*(used(order.expression) for order in node.conditions))
    inner = replace(rows.relation, sort=())
    plain = replace(rows, relation=inner).columns()
    return replace(
        inner, sql=select([*plain, *columns], rows.source(*columns)), sort=tuple(items), sorted_by=read
    )


def sliced(node: Slice, context: Context, compiler: Compiler) -> Relation:
    inner = spread(compiler.node(node.pattern, context), compiler)
    rows = compiler.rows(inner, context)
    if not inner.keys:
        tail = [ordered(inner)] if inner.sort else []
        tail += [f"LIMIT {node.limit}"] if node.limit is not None else []
        tail += [f"OFFSET {node.offset}"] if node.offset else []
        return inner.with_sql(select(rows.columns(), rows.source(), tail="\n".join(tail)))
    place = compiler.fresh("place")
    numbered = select([f"{rows.alias}.*", f"{row_number(rows)} AS {place}"], rows.source())
    conditions = [f"{rows.alias}.{place} > {node.offset}"]
    if node.limit is not None:
        conditions.append(f"{rows.alias}.{place} <= {node.offset + node.limit}")
    return inner.with_sql(select(rows.columns(), nested(numbered, rows.alias), conditions))


def ordered(relation: Relation) -> str:
    return "ORDER BY " + ", ".join(f"{item.column} {item.direction}" for item in relation.sort)


def row_number(rows: Rows) -> str:
    """The number of a row in the order of its relation, counted for each key value.

    Rows with equal sort keys are ordered by their terms, so that LIMIT always cuts off the same rows.
    """
    keys = ", ".join(f"{rows.alias}.{key.column}" for key in rows.relation.keys)
    items = [f"{rows.alias}.{item.column} {item.direction}" for item in rows.relation.sort]
    items += [f"{rows.alias}.{rows.compiler.column(name)} NULLS FIRST" for name in rows.relation.variables]
    partition = f"PARTITION BY {keys} " if keys else ""
    return f"row_number() OVER ({partition}ORDER BY {', '.join(items) or '1'})"
