"""Statements: compiles a query of the algebra to the one SQL statement that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheos.algebra.entailment import Schema, schema_of
from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import Ask, Construct, Describe, Query, Select, Term, TriplePattern, makes_blanks
from rheos.sql.conditions import all_of
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.paths import Closure
from rheos.sql.patterns import Compiler
from rheos.sql.relation import INSTANT, Relation, nested, select
from rheos.sql.scans import scan
from rheos.sql.solutions import ordered
from rheos.sql.validity import FROM, UNTIL

TRIPLE = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Statement:
    """The SQL of a query and what it needs.

    `columns` are the columns of the result in order: the variables of a SELECT, or the positions of a triple.
    An ASK has no columns, and is true if there is a row. The views of `closures` must be made before the
    statement runs. Where `entailed` is a schema, the tables of entailed graphs must be made before these
    views.
    """

    sql: str
    columns: tuple[str, ...]
    closures: tuple[Closure, ...] = ()
    entailed: Schema | None = None


def compile_query(query: Query, dialect: Dialect) -> Statement:
    """The statement of a query in a dialect."""
    compiler = Compiler(dialect)
    context = Context(query.dataset)
    match query.form:
        case Select(pattern, variables):
            sql = rows_of(compiler.node(pattern, context), variables, compiler)
            columns = variables
        case Ask(pattern):
            found = compiler.node(pattern, context)
            sql = select(["1 AS found"], nested(found.sql, "solutions"), tail="LIMIT 1")
            columns = ()
        case Construct(pattern, template):
            sql = template_triples(compiler.node(pattern, context), template, compiler)
            columns = TRIPLE
        case Describe(pattern, terms):
            sql = describe_triples(compiler.node(pattern, context), terms, context, compiler)
            columns = TRIPLE
    return Statement(sql, columns, tuple(compiler.closures), schema_of(query))


def rows_of(relation: Relation, variables: Sequence[str], compiler: Compiler) -> str:
    columns = [f"solutions.{compiler.column(name)}" for name in variables]
    tail = ordered(relation) if relation.sort else ""
    return select(columns, nested(relation.sql, "solutions"), tail=tail)


def template_triples(
    relation: Relation, template: Sequence[TriplePattern], compiler: Compiler, identity: str | None = None
) -> str:
    """The triples of a CONSTRUCT for each key: a set, without triples that are not RDF (16.2).

    `identity` is SQL whose value differs from solution to solution: it names the blank nodes of the template.
    """
    source = nested(relation.sql, "solutions")
    if makes_blanks(template):
        numbered = select(["solutions.*", f"{identity or compiler.dialect.row_id()} AS solution"], source)
        source = nested(numbered, "solutions")
    keys = [key.column for key in relation.keys]
    if not template:
        return select([*keys, *nothing(compiler)], source, ["FALSE"])
    own = [f"solutions.{key}" for key in keys]
    triples = [
        [*own, *(template_term(term, relation, compiler) for term in triple.terms)] for triple in template
    ]
    columns = [*keys, *TRIPLE]
    if len(triples) == 1:
        made = select([f"{term} AS {name}" for term, name in zip(*triples, columns, strict=True)], source)
    else:
        made = compiler.dialect.unfold(triples, columns, source)
    conditions = [
        "made.subject NOT LIKE '\"%'",
        "made.predicate LIKE '<%'",
        "made.object IS NOT NULL",
    ]
    return select([f"made.{name}" for name in columns], nested(made, "made"), conditions, distinct=True)


def nothing(compiler: Compiler) -> list[str]:
    return [f"{compiler.dialect.null} AS {name}" for name in TRIPLE]


def template_term(term: Term, relation: Relation, compiler: Compiler) -> str:
    dialect = compiler.dialect
    if isinstance(term, Constant):
        return dialect.string(term.term)
    if term.is_blank:
        label = compiler.column(term.name)
        return f"concat({dialect.string('_:c')}, CAST(solutions.solution AS {dialect.text_type}), '{label}')"
    if term.name in relation.variables:
        return f"solutions.{compiler.column(term.name)}"
    return dialect.null


def describe_triples(relation: Relation, terms: Sequence[Term], context: Context, compiler: Compiler) -> str:
    """For each key, the triples of each resource and of the blank nodes that can be reached from it.

    The recommendation (16.4) leaves open what a description is; this is the Concise Bounded Description
    without reification.
    """
    keys = [key.column for key in relation.keys]
    own = [f"solutions.{key}" for key in keys]
    source = nested(relation.sql, "solutions")
    found = []
    for term in terms:
        if isinstance(term, Constant):
            resource = compiler.dialect.string(term.term)
            rows = select([*own, f"{resource} AS a"], source) if keys else f"SELECT {resource} AS a"
            found.append(rows)
        elif term.name in relation.variables:
            column = f"solutions.{compiler.column(term.name)}"
            found.append(select([*own, f"{column} AS a"], source, [f"{column} IS NOT NULL"]))
    if not found:
        return select([*own, *nothing(compiler)], source, ["FALSE"])
    columns = [f"found.{column}" for column in (*keys, "a")]
    resources = select(columns, nested("\nUNION ALL\n".join(found), "found"), distinct=True)
    graph = scan(context, "t", compiler)
    item = graph.item
    at = []
    if graph.valid:
        instant = f"now.{INSTANT.column}"
        item += f" JOIN instants AS now ON {instant} >= t.{FROM} AND {instant} < t.{UNTIL}"
        at = [instant]
    is_blank = compiler.dialect.starts_with("t.o", "'_:'")
    to_blank = select([*at, "t.s AS a", "t.o AS b"], item, [*graph.conditions, is_blank])
    reached = compiler.closure(Closure(compiler.fresh("closure"), to_blank, tuple(keys), resources))
    blank = select([f"reached.{key}" for key in keys] + ["reached.b AS a"], nested(reached, "reached"))
    nodes = f"{resources}\nUNION\n{blank}"
    same = ["described.a = t.s", *(f"described.{INSTANT.column} = {instant}" for instant in at)]
    triples = [*at, "t.s AS subject", "t.p AS predicate", "t.o AS object"]
    joined = f"{item} JOIN {nested(nodes, 'described')} ON {all_of(same)}"
    return select(triples, joined, graph.conditions, distinct=True)
