"""The compiler of C-SPARQL: makes the statement that answers a query at all instants of a batch at once.

The statement reads, beside the static graphs, tables that the runtime makes for every batch: `instants`
(instant; at: its time; turn: its number among those of the same time; more in `rheos.sql.differences`),
`window_1`, `window_2`, … (s, p, o, time, valid_from, valid_until) in the order of the query's windows,
`window_default` and `window_static`: see `rheos.sql.context`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheos.algebra.nodes import Ask, Construct, Describe, Select, makes_blanks
from rheos.algebra.streams import CSparqlQuery, mark_of
from rheos.algebra.timestamps import is_timed
from rheos.sql.context import Context, WindowTable
from rheos.sql.dialect import Dialect
from rheos.sql.differences import difference_sql
from rheos.sql.paths import Closure
from rheos.sql.patterns import Compiler
from rheos.sql.relation import INSTANT, Relation, nested, select
from rheos.sql.statement import TRIPLE, describe_triples, template_triples
from rheos.sql.validity import at_every_instant

INSTANTS = "instants"


@dataclass(frozen=True, slots=True)
class CSparqlStatement:
    """SQL whose rows are an instant, its time, and then `columns` (`found`, a boolean, for ASK).

    With `timed`, the query asks for the times of triples.
    """

    sql: str
    columns: tuple[str, ...]
    ordered: bool
    closures: tuple[Closure, ...] = ()
    timed: bool = False
    asks: bool = False


def window_name(number: int) -> str:
    return f"window_{number}"


def compile_csparql(
    query: CSparqlQuery, dialect: Dialect, kind: type[Compiler] = Compiler
) -> CSparqlStatement:
    """The statement of a query, made by a compiler of the given class."""
    return _compiled(query, kind(dialect))


def compile_kept(
    query: CSparqlQuery, dialect: Dialect, kind: type[Compiler] = Compiler
) -> tuple[str, CSparqlStatement]:
    """For a query whose pattern contains `Kept`: two statements, to be run in this order.

    The first gives the rows that a batch adds to the table `kept`; the second answers the query from that
    table.
    """
    compiler = kind(dialect)
    statement = _compiled(query, compiler)
    assert compiler.fill is not None
    return compiler.fill, statement


def _compiled(query: CSparqlQuery, compiler: Compiler) -> CSparqlStatement:
    windows = tuple(
        WindowTable(window_name(number), window.stream, window.named, window.name)
        for number, window in enumerate(query.windows, start=1)
    )
    form = query.query.form
    timed = is_timed(form.pattern)
    context = Context(query.query.dataset, windows, timed=timed)
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
            mark = f"'{mark_of(query.name)}'"
            if not makes_blanks(template):
                sql = template_triples(relation, template, compiler)
            elif query.keeps_nodes:
                sql = template_triples(relation, template, compiler, solution(mark, relation, compiler))
            else:
                relation = with_turns(relation, compiler)
                sql = template_triples(relation, template, compiler, identity(mark, relation, compiler))
            kept, columns = list(TRIPLE), TRIPLE
        case Describe(_, terms):
            sql, kept, columns = describe_triples(relation, terms, context, compiler), list(TRIPLE), TRIPLE
    if query.compares:
        sort = relation.sort if ordered else ()
        sql = difference_sql(query.operator, sql, kept[: len(columns)], sort, compiler.dialect)
    order = [f"answers.{INSTANT.column}"]
    order += [f"answers.{item.column} {item.direction}" for item in relation.sort] if ordered else []
    shown = [f"answers.{column}" for column in kept[: len(columns)]]
    # Rows are also ordered by all their columns, so that the output depends only on the input.
    order += [f"{column} NULLS FIRST" for column in shown]
    source = f"{nested(sql, 'answers')} JOIN instants ON instants.{INSTANT.column} = answers.{INSTANT.column}"
    chosen = [f"answers.{INSTANT.column}", "instants.at", *shown]
    sql = select(chosen, source, tail=f"ORDER BY {', '.join(order)}")
    closures = tuple(compiler.closures)
    return CSparqlStatement(sql, columns, ordered, closures, timed, asks=isinstance(form, Ask))


def with_turns(relation: Relation, compiler: Compiler) -> Relation:
    """The relation with the time and the turn of each row's instant in the columns `at` and `turn`."""
    rows, instants = compiler.fresh("r"), compiler.fresh("i")
    same = f"{instants}.{INSTANT.column} = {rows}.{INSTANT.column}"
    source = f"{nested(relation.sql, rows)} JOIN instants AS {instants} ON {same}"
    return relation.with_sql(select([f"{rows}.*", f"{instants}.at", f"{instants}.turn"], source))


def identity(mark: str, relation: Relation, compiler: Compiler) -> str:
    """SQL that identifies a solution among those of all queries and all instants.

    It is the same however often, and in whatever batches, the solution is computed. `mark` is the SQL of the
    query's own mark.
    """
    columns = [f"solutions.{compiler.column(name)} NULLS FIRST" for name in sorted(relation.variables)]
    instant = f"solutions.{INSTANT.column}"
    keys = ", ".join(f"solutions.{key.column}" for key in relation.keys)
    over = f"PARTITION BY {keys} ORDER BY {', '.join(columns) or instant}"
    parts = [
        mark,
        "'t'",
        "solutions.at",
        "'e'",
        "solutions.turn",
        "'r'",
        f"row_number() OVER ({over})",
        "'v'",
    ]
    return f"concat({', '.join(compiler.dialect.cast_text(part) for part in parts)})"


def solution(mark: str, relation: Relation, compiler: Compiler) -> str:
    """SQL that identifies a solution among those of all queries, and is the same at all its instants.

    Equal solutions of an instant are numbered.
    """
    text = compiler.dialect.cast_text
    columns = [f"solutions.{compiler.column(name)}" for name in sorted(relation.variables)]
    over = ", ".join([*(f"solutions.{key.column}" for key in relation.keys), *columns])
    number = text(f"row_number() OVER (PARTITION BY {over})")
    # Each term is preceded by its length, because a literal could contain any separator.
    terms = [f"COALESCE(concat({text(f'length({column})')}, ':', {column}), '-')" for column in columns]
    return compiler.dialect.digest("MD5", f"concat({', '.join([mark, number, *terms])})")


def asked(relation: Relation, compiler: Compiler) -> str:
    """The answer of ASK: for every instant, whether there is a solution."""
    instants, rows = compiler.fresh("i"), compiler.fresh("r")
    instant = INSTANT.column
    found = select([f"{rows}.{instant}"], nested(relation.sql, rows), distinct=True)
    same = f"found.{instant} = {instants}.{instant}"
    source = f"instants AS {instants} LEFT JOIN {nested(found, 'found')} ON {same}"
    return select([f"{instants}.{instant}", f"found.{instant} IS NOT NULL AS found"], source)
