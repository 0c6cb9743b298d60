"""From a CQELS-QL query to the statement that gives what is new at each tick of a batch.

The statement reads tables that the runtime makes for every batch: `instants` (instant: the number of a tick,
consecutive; at: its time; turn: its number among those of the same time; bucket), `clause_1_all`, `…_old`,
`…_new` (s, p, o, valid_from, valid_until, bucket) for the windows of the query, and the tables in which its
static parts are kept.

What is new of a *monotone* query are the combinations of elements that the tick at which they begin
completes. Of any other it is, at each tick, the bag of its answers less that of the tick before; the
intervals of elements are then cut at the bounds of buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from rheos.algebra.families import MEMBER
from rheos.algebra.nodes import Ask, Construct, Node, OrderBy, Query, Select, Union
from rheos.sql.context import Context
from rheos.sql.continuous import asked, identity, with_turns
from rheos.sql.dialect import Dialect
from rheos.sql.patterns import Compiler
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL, Key, Relation, nested, select
from rheos.sql.solutions import sorted_by
from rheos.sql.statement import TRIPLE, makes_blanks, template_triples
from rheos.sql.validity import at_every_instant

# What the variable becomes that tells the queries of a family apart.
MEMBER_KEY = Key("member")


@dataclass(frozen=True, slots=True)
class ArrivingStatement:
    """SQL whose rows are the number of a query in its family (0 if it is alone), a tick, its time, and then
    `columns` (`found`, a boolean, for one that `asks`)."""

    sql: str
    columns: tuple[str, ...]
    asks: bool = False


def compile_new(
    query: Query, patterns: Sequence[Node], orders: OrderBy | None, dialect: Dialect, name: str
) -> ArrivingStatement:
    """The statement of a monotone query: `patterns` together have its new solutions, `orders` says how those
    of a tick are ordered."""
    compiler = Compiler(dialect)
    context = Context(query.dataset, ticking=True)
    found = compiler.node(reduce(Union, patterns), context)
    rows, ticks = compiler.fresh("r"), compiler.fresh("i")
    # A combination is in all the buckets in which it is valid; it is completed in one of them.
    first = f"{ticks}.{INSTANT.column} = {rows}.{INTERVAL[0]}"
    first += f" AND {ticks}.{BUCKET.column} = {rows}.{BUCKET.column}"
    columns = [f"{ticks}.{INSTANT.column}", *(f"{rows}.{compiler.column(v)}" for v in found.variables)]
    source = f"{nested(found.sql, rows)} JOIN instants AS {ticks} ON {first}"
    relation = replace(found, sql=select(columns, source), keys=(INSTANT,), valid=False)
    if orders is not None:
        relation = sorted_by(relation, orders, context, compiler)
    return reported(query, relation, compiler, name)


def compile_difference(query: Query, dialect: Dialect, name: str) -> ArrivingStatement:
    """The statement of a query that is not monotone: what it answers at a tick that it did not before."""
    compiler = Compiler(dialect)
    context = Context(query.dataset, ticking=True)
    relation = at_every_instant(compiler.node(query.form.pattern, context), compiler)
    match query.form:
        case Select(_, variables):
            kept = [name for name in (MEMBER.name, *variables) if name in relation.variables]
            relation = replace(relation, variables=tuple(kept))
            columns = [compiler.column(name) for name in kept]
        case Ask():
            relation = replace(relation, sql=asked(relation, compiler), variables=(), keys=(INSTANT,))
            columns = ["found"]
        case _:
            columns = [compiler.column(name) for name in relation.variables]
    return reported(query, difference(relation, columns, compiler), compiler, name)


def difference(relation: Relation, columns: Sequence[str], compiler: Compiler) -> Relation:
    """Of a relation at every tick the rows at a tick less those, as often as they are there, at the tick
    before; nothing of tick 0, which is before the batch."""
    instant, dialect = INSTANT.column, compiler.dialect
    rows = compiler.fresh("r")
    own = [f"{rows}.{column}" for column in (instant, *columns)]
    sorts = [f"min({rows}.{item.column}) AS {item.column}" for item in relation.sort]
    counted = select(
        [*own, "count(*) AS copies", *sorts], nested(relation.sql, rows), tail=f"GROUP BY {', '.join(own)}"
    )
    partition = f"PARTITION BY {', '.join(columns)} " if columns else ""
    over = f"OVER ({partition}ORDER BY {instant})"
    lagged = select(
        ["*", f"lag({instant}) {over} AS before", f"lag(copies) {over} AS copies_before"],
        nested(counted, compiler.fresh("r")),
    )
    more = f"copies - CASE WHEN before = {instant} - 1 THEN copies_before ELSE 0 END"
    kept = [instant, *columns, *(item.column for item in relation.sort)]
    added = select([*kept, f"{more} AS more"], nested(lagged, compiler.fresh("r")), [f"{instant} > 0"])
    source = dialect.counted(nested(added, rows), "0", f"{rows}.more", compiler.fresh("n"), "copy")
    sql = select([f"{rows}.{column}" for column in kept], source, [f"{rows}.more > 0"])
    return replace(relation, sql=sql, keys=(INSTANT,), valid=False)


def reported(query: Query, relation: Relation, compiler: Compiler, name: str) -> ArrivingStatement:
    """The statement that gives the rows of a relation at ticks as answers of the query's form."""
    if MEMBER.name in relation.variables:
        # From here on the queries of a family are apart.
        rows = compiler.fresh("r")
        others = tuple(variable for variable in relation.variables if variable != MEMBER.name)
        columns = [
            f"{rows}.{compiler.column(MEMBER.name)} AS {MEMBER_KEY.column}",
            f"{rows}.{INSTANT.column}",
        ]
        columns += [f"{rows}.{compiler.column(variable)}" for variable in others]
        columns += [f"{rows}.{item.column}" for item in relation.sort]
        sql = select(columns, nested(relation.sql, rows))
        relation = replace(relation, sql=sql, variables=others, keys=(MEMBER_KEY, INSTANT))
    columns_of_answer: tuple[str, ...]
    match query.form:
        case Select(_, variables):
            sql, shown, columns_of_answer = relation.sql, [compiler.column(v) for v in variables], variables
        case Construct(_, template):
            if makes_blanks(template):
                relation = with_turns(relation, compiler)
            sql = template_triples(relation, template, compiler, identity(name, relation, compiler))
            shown, columns_of_answer = list(TRIPLE), TRIPLE
        case _:
            sql, shown, columns_of_answer = relation.sql, ["found"], ("found",)
    member = f"answers.{MEMBER_KEY.column}" if MEMBER_KEY in relation.keys else "0"
    order = [member] if MEMBER_KEY in relation.keys else []
    order.append(f"answers.{INSTANT.column}")
    if isinstance(query.form, Select):
        order += [f"answers.{item.column} {item.direction}" for item in relation.sort]
    # The rest is ordered too: what comes out then depends on nothing but what came in.
    order += [f"answers.{column} NULLS FIRST" for column in shown]
    source = f"{nested(sql, 'answers')} JOIN instants ON instants.{INSTANT.column} = answers.{INSTANT.column}"
    chosen = [f"{member} AS member", f"answers.{INSTANT.column}", "instants.at"]
    chosen += [f"answers.{column}" for column in shown]
    statement = select(chosen, source, tail=f"ORDER BY {', '.join(order)}")
    return ArrivingStatement(statement, columns_of_answer, isinstance(query.form, Ask))
