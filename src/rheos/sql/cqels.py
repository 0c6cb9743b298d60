"""The compiler of CQELS-QL: makes the statement that gives what is new at each tick of a batch.

The statement reads tables that the runtime makes for every batch: `instants` (instant: the number of the
tick, consecutive; at: its time; turn: its number among the ticks of the same time; bucket; first: whether it
is the first tick of all), `clause_1_all`, `…_old`, `…_new` (s, p, o, valid_from, valid_until, bucket) for the
windows of the query, and the tables of its static parts.

What is new in a *monotone* query are the combinations of elements, each at the tick at which its interval
begins. What is new in any other query is, at each tick, the bag of its answers minus the bag at the tick
before; the intervals of elements are then cut at the bounds of buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import indent

from rheos.algebra.families import MEMBER, NAME
from rheos.algebra.nodes import Ask, Construct, Node, OrderBy, Query, Select, makes_blanks
from rheos.algebra.streams import mark_of
from rheos.sql.conditions import all_of, same
from rheos.sql.context import Context
from rheos.sql.csparql import asked, identity, with_turns
from rheos.sql.dialect import Dialect
from rheos.sql.grouped import KeptGroups
from rheos.sql.joins import united
from rheos.sql.paths import Closure
from rheos.sql.patterns import Compiler
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL, Key, Relation, Sort, nested, select
from rheos.sql.solutions import sorted_by
from rheos.sql.statement import TRIPLE, template_triples
from rheos.sql.validity import at_every_instant

# The key that the variable MEMBER becomes: the number of a query in its family.
MEMBER_KEY = Key("member")


@dataclass(frozen=True, slots=True)
class CqelsStatement:
    """SQL whose rows are the number of a query in its family (0 if it is alone), a tick, its time, `columns`.

    ASK has the single column `found`, a boolean. The views of `closures` must be made before the statement
    runs.
    """

    sql: str
    columns: tuple[str, ...]
    asks: bool = False
    closures: tuple[Closure, ...] = ()


def compile_new(
    query: Query, patterns: Sequence[Node], orders: OrderBy | None, dialect: Dialect, name: str
) -> CqelsStatement:
    """The statement of a monotone query.

    Its new solutions are those of all `patterns` together; `orders` says how the solutions of a tick are
    ordered. The solutions of a pattern without streams are new at the first tick of all.
    """
    compiler = Compiler(dialect)
    context = Context(query.dataset, ticking=True)
    parts = [completed(compiler.node(pattern, context), compiler) for pattern in patterns]
    always = frozenset.intersection(*(part.certain for part in parts))
    relation = united(parts, always, compiler)
    if orders is not None:
        relation = sorted_by(relation, orders, context, compiler)
    return reported(query, relation, compiler, name)


def completed(relation: Relation, compiler: Compiler) -> Relation:
    """The rows of a relation at the ticks that complete them."""
    rows, ticks = compiler.fresh("r"), compiler.fresh("i")
    if relation.valid:
        # A combination has a row in every bucket in which it is valid. Only the bucket of its first tick
        # counts.
        begins = all_of(
            [f"{ticks}.{INSTANT.column} = {rows}.{INTERVAL[0]}", same(ticks, rows, [BUCKET.column])]
        )
    else:
        begins = f"{ticks}.first"
    columns = [f"{ticks}.{INSTANT.column}", *(f"{rows}.{compiler.column(v)}" for v in relation.variables)]
    source = f"{nested(relation.sql, rows)} JOIN instants AS {ticks} ON {begins}"
    return replace(relation, sql=select(columns, source), keys=(INSTANT,), valid=False)


def compile_difference(query: Query, dialect: Dialect, name: str) -> CqelsStatement:
    """The statement of a query that is not monotone: its answers at a tick that it did not have before."""
    return _difference(query, Compiler(dialect), name)


def _difference(query: Query, compiler: Compiler, name: str) -> CqelsStatement:
    context = Context(query.dataset, ticking=True)
    relation = compiler.node(query.form.pattern, context)
    if isinstance(query.form, Ask) or not relation.valid:
        relation = at_every_instant(relation, compiler)
    match query.form:
        case Select(_, variables):
            kept = tuple(name for name in (MEMBER.name, *variables) if name in relation.variables)
            columns = [compiler.column(name) for name in kept]
            relation = replace(relation, variables=kept)
        case Ask():
            relation = replace(relation, sql=asked(relation, compiler), variables=(), keys=(INSTANT,))
            columns = ["found"]
        case _:
            columns = [compiler.column(name) for name in relation.variables]
    return reported(query, difference(relation, columns, compiler), compiler, name)


def compile_kept_groups(query: Query, dialect: Dialect, name: str) -> tuple[str, KeptGroups, CqelsStatement]:
    """For a query that groups a `Kept` pattern: the SQL of the parts of groups that a batch adds to the table
    `kept`, the columns of these parts, and the statement that then answers the query from this table."""
    compiler = Compiler(dialect)
    statement = _difference(query, compiler, name)
    assert compiler.fill is not None
    assert compiler.groups is not None
    return compiler.fill, compiler.groups, statement


def difference(relation: Relation, columns: Sequence[str], compiler: Compiler) -> Relation:
    """The bag of rows of a relation at each tick, minus the bag of rows at the tick before.

    For equal rows, that is the number of those that begin at the tick, minus the number of those that end.
    Rows that begin at tick 0 were there before the batch.
    """
    instant, rows = INSTANT.column, compiler.fresh("rows")
    first, end = INTERVAL if relation.valid else (instant, f"{instant} + 1")
    sorts = [item.column for item in relation.sort]
    places = [place_of(item) for item in relation.sort]
    events = "\nUNION ALL\n".join(
        select([f"{tick} AS {instant}", f"{count} AS change", *columns, *sorts], rows)
        for tick, count in ((first, "1"), (end, "-1"))
    )
    events = f"WITH {rows} AS (\n{indent(relation.sql, '  ')}\n)\n{events}"
    by = [instant, *columns]
    kept = [*by, *sorts]
    added = select(
        [*by, "CAST(sum(change) AS BIGINT) AS more", *places],
        nested(events, compiler.fresh("e")),
        [f"{instant} > 0"],
        tail=f"GROUP BY {', '.join(by)} HAVING sum(change) > 0",
    )
    source = compiler.dialect.counted(nested(added, rows), "0", f"{rows}.more", compiler.fresh("n"), "copy")
    sql = select([f"{rows}.{column}" for column in kept], source)
    return replace(relation, sql=sql, keys=(INSTANT,), valid=False)


def place_of(item: Sort) -> str:
    """The sort key of equal rows that differ in this key: that of the first row that begins at the tick."""
    first = "max" if item.direction.startswith("DESC") else "min"
    return f"{first}(CASE WHEN change > 0 THEN {item.column} END) AS {item.column}"


def with_unbound(relation: Relation, variables: Sequence[str], compiler: Compiler) -> str:
    """The rows of a relation, with NULL columns for variables that it does not have."""
    missing = [variable for variable in variables if variable not in relation.variables]
    if not missing:
        return relation.sql
    rows = compiler.fresh("r")
    unbound = (f"{compiler.dialect.null} AS {compiler.column(variable)}" for variable in missing)
    return select([f"{rows}.*", *unbound], nested(relation.sql, rows))


def reported(query: Query, relation: Relation, compiler: Compiler, name: str) -> CqelsStatement:
    """The statement that turns the rows of a relation at ticks into answers of the query's form."""
    if MEMBER.name in relation.variables:
        # From here on, MEMBER is a key, which keeps the queries of a family apart.
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
            sql = with_unbound(relation, variables, compiler)
            shown, columns_of_answer = [compiler.column(variable) for variable in variables], variables
        case Construct(_, template):
            if makes_blanks(template):
                relation = with_turns(relation, compiler)
            together = NAME.name in relation.variables
            mark = f"solutions.{compiler.column(NAME.name)}" if together else f"'{mark_of(name)}'"
            sql = template_triples(relation, template, compiler, identity(mark, relation, compiler))
            shown, columns_of_answer = list(TRIPLE), TRIPLE
        case _:
            sql, shown, columns_of_answer = relation.sql, ["found"], ("found",)
    member = f"answers.{MEMBER_KEY.column}" if MEMBER_KEY in relation.keys else "0"
    order = [member] if MEMBER_KEY in relation.keys else []
    order.append(f"answers.{INSTANT.column}")
    if isinstance(query.form, Select):
        order += [f"answers.{item.column} {item.direction}" for item in relation.sort]
    # Rows are also ordered by all their columns, so that the output depends only on the input.
    order += [f"answers.{column} NULLS FIRST" for column in shown]
    source = f"{nested(sql, 'answers')} JOIN instants ON instants.{INSTANT.column} = answers.{INSTANT.column}"
    chosen = [f"{member} AS member", f"answers.{INSTANT.column}", "instants.at"]
    chosen += [f"answers.{column}" for column in shown]
    statement = select(chosen, source, tail=f"ORDER BY {', '.join(order)}")
    asks, closures = isinstance(query.form, Ask), tuple(compiler.closures)
    return CqelsStatement(statement, columns_of_answer, asks, closures)
