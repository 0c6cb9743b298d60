"""From a query of the algebra to the statement that answers it: the last step before a dialect's engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import Ask, Construct, Dataset, Describe, Query, Select, Term, TriplePattern
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.paths import Closure
from rheos.sql.patterns import Compiler
from rheos.sql.relation import Relation, nested, select
from rheos.sql.scans import scan
from rheos.sql.solutions import ordered

TRIPLE = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL whose columns are, in order, `columns`: the variables of a SELECT, the positions of a triple, or
    none for an ASK, which is true when there is a row. The closures are views to be made first."""

    sql: str
    columns: tuple[str, ...]
    closures: tuple[Closure, ...] = ()


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
            sql = graph_of(compiler.node(pattern, context), template, compiler)
            columns = TRIPLE
        case Describe(pattern, terms):
            sql = description(compiler.node(pattern, context), terms, query.dataset, compiler)
            columns = TRIPLE
    return Statement(sql, columns, tuple(compiler.closures))


def rows_of(relation: Relation, variables: Sequence[str], compiler: Compiler) -> str:
    columns = [f"solutions.{compiler.column(name)}" for name in variables]
    tail = ordered(relation) if relation.sort else ""
    return select(columns, nested(relation.sql, "solutions"), tail=tail)


def graph_of(relation: Relation, template: Sequence[TriplePattern], compiler: Compiler) -> str:
    """The triples of a CONSTRUCT: a set, without those that are not RDF (16.2)."""
    source = nested(relation.sql, "solutions")
    if any(is_new_blank(term) for triple in template for term in triple.terms):
        numbered = select(["solutions.*", f"{compiler.dialect.row_id()} AS solution"], source)
        source = nested(numbered, "solutions")
    triples = [[template_term(term, relation, compiler) for term in triple.terms] for triple in template]
    if not triples:
        null = compiler.dialect.null
        nothing = [f"{null} AS subject", f"{null} AS predicate", f"{null} AS object"]
        return select(nothing, source, ["FALSE"])
    made = compiler.dialect.unfold(triples, TRIPLE, source)
    conditions = [
        "made.subject NOT LIKE '\"%'",
        "made.predicate LIKE '<%'",
        "made.object IS NOT NULL",
    ]
    return select([f"made.{name}" for name in TRIPLE], nested(made, "made"), conditions, distinct=True)


def is_new_blank(term: Term) -> bool:
    return isinstance(term, Variable) and term.is_blank


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


def description(
    relation: Relation, terms: Sequence[Term], dataset: Dataset | None, compiler: Compiler
) -> str:
    """The triples of each resource, and of the blank nodes that are reached from it.

    The recommendation (16.4) leaves open what a description is; this is the Concise Bounded Description
    without reification.
    """
    context = Context(dataset)
    found = []
    for term in terms:
        if isinstance(term, Constant):
            found.append(f"SELECT {compiler.dialect.string(term.term)} AS a")
        elif term.name in relation.variables:
            column = f"solutions.{compiler.column(term.name)}"
            found.append(
                select([f"{column} AS a"], nested(relation.sql, "solutions"), [f"{column} IS NOT NULL"])
            )
    if not found:
        null = compiler.dialect.null
        return f"SELECT {null} AS subject, {null} AS predicate, {null} AS object WHERE FALSE"
    resources = select(["found.a"], nested("\nUNION ALL\n".join(found), "found"), distinct=True)
    graph = scan(context, "t", compiler)
    is_blank = compiler.dialect.starts_with("t.o", "'_:'")
    to_blank = select(["t.s AS a", "t.o AS b"], graph.item, [*graph.conditions, is_blank])
    reached = compiler.closure(Closure(compiler.fresh("closure"), to_blank, (), resources))
    blank = select(["reached.b AS a"], nested(reached, "reached"))
    nodes = f"{resources}\nUNION\n{blank}"
    triples = ["t.s AS subject", "t.p AS predicate", "t.o AS object"]
    joined = f"{graph.item} JOIN {nested(nodes, 'described')} ON described.a = t.s"
    return select(triples, joined, graph.conditions, distinct=True)
