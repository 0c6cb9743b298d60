"""From a continuous query to the statement that answers it at all the instants of a batch at once.

The statement reads, beside the static graphs, tables that the runtime makes for every batch: `instants`
(instant, and at: the time of the instant), and `window_1`, `window_2`, … (s, p, o, time, valid_from,
valid_until) in the order of the query's windows.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheos.algebra.nodes import Ask, Construct, Describe, Select
from rheos.algebra.streams import Continuous
from rheos.sql.context import Context, WindowTable
from rheos.sql.dialect import Dialect
from rheos.sql.paths import Closure
from rheos.sql.patterns import Compiler
from rheos.sql.relation import INSTANT, Relation, nested, select
from rheos.sql.statement import TRIPLE, describe_triples, template_triples
from rheos.sql.validity import at_every_instant

INSTANTS = "instants"


@dataclass(frozen=True, slots=True)
class ContinuousStatement:
    """SQL whose rows are an instant, its time, and then `columns` (`found`, a boolean, for an ASK)."""

    sql: str
    columns: tuple[str, ...]
    ordered: bool
    closures: tuple[Closure, ...] = ()


def window_name(number: int) -> str:
    return f"window_{number}"


def compile_continuous(query: Continuous, dialect: Dialect) -> ContinuousStatement:
    compiler = Compiler(dialect)
    windows = tuple(
        WindowTable(window_name(number), window.stream, window.named)
        for number, window in enumerate(query.windows, start=1)
    )
    context = Context(query.query.dataset, windows)
    form = query.query.form
    relation = at_every_instant(compiler.node(form.pattern, context), compiler)
    columns: tuple[str, ...]
    ordered = False
    match form:
        case Select(_, variables):
            kept = [compiler.column(name) for name in variables]
            kept += [item.column for item in relation.sort]
            sql, columns, ordered = relation.sql, variables, bool(relation.sort)
        case Ask():
            sql, kept, columns = asked(relation, compiler), ["found"], ("found",)
        case Construct(_, template):
            sql, kept, columns = template_triples(relation, template, compiler), list(TRIPLE), TRIPLE
        case Describe(_, terms):
            sql, kept, columns = describe_triples(relation, terms, context, compiler), list(TRIPLE), TRIPLE
    order = [f"answers.{INSTANT.column}"]
    order += [f"answers.{item.column} {item.direction}" for item in relation.sort] if ordered else []
    shown = [f"answers.{column}" for column in kept[: len(columns)]]
    source = f"{nested(sql, 'answers')} JOIN instants ON instants.{INSTANT.column} = answers.{INSTANT.column}"
    chosen = [f"answers.{INSTANT.column}", "instants.at", *shown]
    sql = select(chosen, source, tail=f"ORDER BY {', '.join(order)}")
    return ContinuousStatement(sql, columns, ordered, tuple(compiler.closures))


def asked(relation: Relation, compiler: Compiler) -> str:
    """For every instant, whether there is a solution."""
    instants, rows = compiler.fresh("i"), compiler.fresh("r")
    instant = INSTANT.column
    found = select([f"{rows}.{instant}"], nested(relation.sql, rows), distinct=True)
    same = f"found.{instant} = {instants}.{instant}"
    source = f"instants AS {instants} LEFT JOIN {nested(found, 'found')} ON {same}"
    return select([f"{instants}.{instant}", f"found.{instant} IS NOT NULL AS found"], source)
