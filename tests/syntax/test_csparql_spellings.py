"""The ways of writing that the papers have, names that look like keywords, and the papers' own queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos.syntax import ast, parse
from tests.syntax.test_csparql_tree import MINUTE, continuous, expression, logical
from tests.syntax.test_tree import HERE, call, iri, name, number, triple, var

EXAMPLES = Path(__file__).parents[2] / "examples" / "csparql"


# --- spellings of the papers -----------------------------------------------------------------------


@pytest.mark.parametrize("clause", ["?a, ?b", "?a ,?b", "{ ?a ?b }", "{?a, ?b}", "?a ?b"])
@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_select_lists(distinct: str, clause: str) -> None:
    form = continuous(f"SELECT {distinct}{clause} WHERE {{ ?a ?p ?b }}").form
    assert isinstance(form, ast.SelectQuery)
    assert form.projection is not None
    assert [item.variable for item in form.projection] == [var("a"), var("b")]
    assert form.distinct == bool(distinct)


def test_select_lists_with_expressions() -> None:
    form = continuous("SELECT { ?a, (1 AS ?x) } { ?a ?p (1 2) }").form
    assert form == parse("SELECT ?a (1 AS ?x) { ?a ?p (1 2) }").form


def test_construct_star() -> None:
    form = continuous("CONSTRUCT * WHERE { ?s ?p ?o } LIMIT 1").form
    assert isinstance(form, ast.ConstructQuery)
    assert form.template is None
    assert form.modifiers.limit == 1


@pytest.mark.parametrize(
    ("papers", "sparql"),
    [
        ("?a AND ?b", "?a && ?b"),
        ("?a or ?b and ?c", "?a || ?b && ?c"),
        ("(?a)AND(?b)Or(?c)", "?a && ?b || ?c"),
        ("?a = 1 AND !?b OR BOUND(?c)", "?a = 1 && !?b || BOUND(?c)"),
    ],
)
def test_and_or(papers: str, sparql: str) -> None:
    assert expression(papers) == expression(sparql)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("?total-sensor", var("total-sensor")),
        ("$a-b-c", var("a-b-c")),
        ("?a-b1-c2", var("a-b1-c2")),
        ("?a-ä", var("a-ä")),
        ("?a - ?b", call("-", var("a"), var("b"))),
        ("?a-?b", call("-", var("a"), var("b"))),
        ("?a-1", call("-", var("a"), number("1"))),
        ("?a- b:c", call("-", var("a"), name("b:c"))),
        ("?a - STRLEN(?b)", call("-", var("a"), call("STRLEN", var("b")))),
        ("?a-b-?c", call("-", var("a-b"), var("c"))),
        ("?a-(?b)", call("-", var("a"), var("b"))),
    ],
)
def test_hyphens(source: str, expected: ast.Expression) -> None:
    assert expression(source) == expected


def test_graph_as_an_operand_of_union() -> None:
    elements = "GRAPH <a> { ?a ?b ?c } UNION GRAPH ?g { } UNION { ?d ?e ?f } GRAPH <b> { }"
    where = continuous(f"SELECT * {{ {elements} }}").form.where
    braces = "{ GRAPH <a> { ?a ?b ?c } } UNION { GRAPH ?g { } } UNION { ?d ?e ?f } GRAPH <b> { }"
    assert where == parse(f"SELECT * {{ {braces} }}").form.where


# --- keywords are keywords only where they can stand -----------------------------------------------


def test_names_that_look_like_keywords() -> None:
    query = continuous(
        """
        PREFIX stream: <http://ex/stream/> PREFIX register: <http://ex/register#> PREFIX range: <r>
        PREFIX and: <and> PREFIX d: <d> PREFIX m: <m> PREFIX as: <as>
        REGISTER QUERY register COMPUTED EVERY 1m AS
        PREFIX aggregate: <aggregate> PREFIX step: <http://ex/step/>
        SELECT ?stream ?step ?range, ?register, ?aggregate (?m AND ?d AS ?and)
        FROM STREAM stream:stream [RANGE 1d STEP 1m]
        FROM range:range
        FROM NAMED STREAM <STREAM> [RANGE TRIPLES 5]
        WHERE {
            ?stream stream:range/step:step|range:triples ?step ; <http://ex/nextStep> ?range, register:RANGE .
            ?m d:m m:d . ?d and:and and:or . ?register a stream:tumbling ; step:STEP "AGGREGATE {"@timestamp .
            _:stream ?timestamp ?triples
            FILTER(and:or(and:x) || ?step-range < 1 AND step:timestamp(?step))
        }
        AGGREGATE {(?aggregate, COUNT, {?step, ?range})} FILTER(?aggregate > 1)
        ORDER BY ?step step:f(?range) DESC(?stream)
        """
    )
    assert query.registration == ast.Registration(HERE, "QUERY", "register", MINUTE)
    assert [clause.iri for clause in query.streams] == [name("stream:stream"), iri("STREAM")]
    assert query.dataset == (ast.DatasetClause(HERE, name("range:range"), False),)
    assert len(query.form.modifiers.order_by) == 3


def test_a_prefix_called_stream_after_from() -> None:
    query = continuous("ASK FROM STREAM:x FROM NAMED stream:y FROM STREAM STREAM:z [RANGE TRIPLES 1] {}")
    assert [clause.iri for clause in query.dataset] == [name("STREAM:x"), name("stream:y")]
    assert [clause.iri for clause in query.streams] == [name("STREAM:z")]


# --- the papers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.rq")), ids=lambda file: file.stem)
def test_the_queries_of_the_papers(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    query = parse(text, "auto")
    assert "section" in text.split("\n")[1]
    assert query.dialect == ("sparql" if file.stem == "users-per-topic-at-once" else "csparql")


def test_full_streets() -> None:
    query = continuous((EXAMPLES / "full-streets.rq").read_text(encoding="utf-8"))
    tollgates, cameras = (iri(f"http://streams.org/milan{which}.trdf") for which in ("tollgates", "cameras"))
    five = logical(5 * MINUTE, 5 * MINUTE)
    assert query.streams == (
        ast.StreamClause(HERE, tollgates, False, five),
        ast.StreamClause(HERE, cameras, False, five),
    )
    form = query.form
    assert isinstance(form, ast.SelectQuery)
    (union,) = form.where.elements
    assert isinstance(union, ast.Union)
    graphs = [option.elements[0] for option in union.options[:2]]
    assert [graph.name for graph in graphs if isinstance(graph, ast.Graph)] == [tollgates, cameras]
    capacity = triple(var("street"), name("c:hasCapacity"), var("capacity"))
    assert union.options[2].elements == (ast.Triples(HERE, (capacity,)),)
    share = call("*", number("0.8", "decimal"), var("capacity"))
    counted = ast.Aggregation(
        HERE, var("passages"), "COUNT", None, (var("street"),), call(">", var("passages"), share)
    )
    assert form.modifiers == ast.Modifiers(aggregations=(counted,))
