"""Texts in C-SPARQL and the trees they must give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheos.errors import Position
from rheos.syntax import ast, parse
from rheos.syntax.csparql import CSparqlBuilder
from rheos.syntax.grammar import Parser, grammar
from tests.syntax.test_tree import HERE, call, iri, name, number, var

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def continuous(source: str) -> ast.Query:
    query = parse(source, "csparql")
    assert query.dialect == "csparql"
    return query


def windows(text: str) -> tuple[object, ...]:
    clauses = f"FROM STREAM <s> {text}" if text.startswith("[") else text
    return tuple(clause.window for clause in continuous(f"ASK {clauses} {{}}").streams)


def logical(length: int, step: int) -> ast.LogicalWindow:
    return ast.LogicalWindow(HERE, length, step)


def physical(triples: int, step: int) -> ast.PhysicalWindow:
    return ast.PhysicalWindow(HERE, triples, step)


def aggregations(text: str) -> tuple[ast.Aggregation, ...]:
    return continuous(f"SELECT * {{ ?a ?b ?c }} {text}").form.modifiers.aggregations


def aggregation(
    variable: str,
    function: str,
    argument: str | None,
    group: str,
    filter: ast.Expression | None = None,
) -> ast.Aggregation:
    taken = var(argument) if argument else None
    return ast.Aggregation(HERE, var(variable), function, taken, tuple(map(var, group)), filter)


def expression(source: str) -> ast.Expression:
    form = continuous(f"ASK {{ ?a ?b ?c GRAPH ?g {{ }} FILTER({source}) }}").form
    assert form.where is not None
    condition = form.where.elements[-1]
    assert isinstance(condition, ast.Filter)
    return condition.condition


def test_every_rule_is_built() -> None:
    rules = Parser(grammar("csparql"), CSparqlBuilder())._lark.rules
    names = {rule.alias or rule.options.template_source or rule.origin.name for rule in rules}
    single = {rule.origin.name for rule in rules if rule.options.expand1}
    missing = {name for name in names if not name.startswith("_") and not hasattr(CSparqlBuilder, name)}
    assert {name.split("{")[0] for name in missing} <= {name.split("{")[0] for name in single}


# --- registration ----------------------------------------------------------------------------------

STREAM = "FROM STREAM <s> [RANGE 1m TUMBLING]"


@pytest.mark.parametrize(
    ("text", "kind", "registered", "every"),
    [
        ("REGISTER QUERY Cars AS", "QUERY", "Cars", None),
        ("register query Cars computed every 5m as", "QUERY", "Cars", 5 * MINUTE),
        ("REGISTER STREAM Cars COMPUTE EVERY 10 s AS", "STREAM", "Cars", 10 * SECOND),
        ("REGISTER STREAM <http://ex/cars> COMPUTED EVERY 1h30m AS", "STREAM", "http://ex/cars", 90 * MINUTE),
        ("REGISTER QUERY <cars> AS", "QUERY", "cars", None),
        ("REGISTER QUERY All_the-cars2 AS", "QUERY", "All_the-cars2", None),
        ("REGISTER QUERY Straßen AS", "QUERY", "Straßen", None),
        # Words that are keywords elsewhere.
        ("REGISTER STREAM stream AS", "STREAM", "stream", None),
        ("REGISTER QUERY Asking AS", "QUERY", "Asking", None),
        ("REGISTER QUERY d COMPUTED EVERY 1d AS", "QUERY", "d", DAY),
        ("REGISTER QUERY SELECT AS", "QUERY", "SELECT", None),
        ("REGISTER QUERY As-is AS", "QUERY", "As-is", None),
        ("REGISTER QUERY Computed2 AS", "QUERY", "Computed2", None),
    ],
)
def test_registrations(text: str, kind: str, registered: str, every: int | None) -> None:
    query = continuous(f"{text} CONSTRUCT {{ }} {STREAM} {{ }}")
    assert query.registration == ast.Registration(HERE, kind, registered, every)


@pytest.mark.parametrize(
    "source",
    [
        "PREFIX a: <a> PREFIX b: <b> REGISTER QUERY q AS ASK",
        "PREFIX a: <a> REGISTER QUERY q AS PREFIX b: <b> ASK",
        "REGISTER QUERY q AS PREFIX a: <a> PREFIX b: <b> ASK",
    ],
)
def test_the_prologue_stands_before_and_after(source: str) -> None:
    query = continuous(f"\n {source} {STREAM} {{}}")
    assert query.prologue == (ast.Prefix(HERE, "a", iri("a")), ast.Prefix(HERE, "b", iri("b")))
    assert query.position == Position(2, 2)
    assert query.registration is not None


def test_a_query_needs_no_registration() -> None:
    query = continuous(f"ASK {STREAM} {{}}")
    assert query.registration is None
    assert query.streams == (ast.StreamClause(HERE, iri("s"), False, logical(MINUTE, MINUTE)),)


# --- streams and windows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("[RANGE 10m STEP 1m]", logical(10 * MINUTE, MINUTE)),
        ("[range 10m step 1m]", logical(10 * MINUTE, MINUTE)),
        ("[ RANGE 30 m\nSTEP 10 m ]", logical(30 * MINUTE, 10 * MINUTE)),
        ("[#c\nRANGE#c\n30#c\nm#c\nTUMBLING#c\n]", logical(30 * MINUTE, 30 * MINUTE)),
        ("[RANGE 5m TUMBLING]", logical(5 * MINUTE, 5 * MINUTE)),
        ("[RANGE 250ms STEP 1ms]", logical(250_000, 1_000)),
        ("[RANGE 3s STEP 2s]", logical(3 * SECOND, 2 * SECOND)),
        ("[RANGE 2d STEP 12h]", logical(2 * DAY, 12 * HOUR)),
        ("[RANGE 1h30m STEP 1m30s500ms]", logical(90 * MINUTE, 90 * SECOND + 500_000)),
        ("[RANGE 1h 30 m TUMBLING]", logical(90 * MINUTE, 90 * MINUTE)),
        ("[RANGE 1s STEP 1m]", logical(SECOND, MINUTE)),  # longer than the range: elements are skipped
        ("[RANGE 0h5m STEP 007s]", logical(5 * MINUTE, 7 * SECOND)),
        ("[RANGE TRIPLES 100]", physical(100, 1)),
        ("[RANGE TRIPLES 100 STEP 10]", physical(100, 10)),
        ("[RANGE TRIPLES 100 TUMBLING]", physical(100, 100)),
        ("[ range triples 1 step 20 ]", physical(1, 20)),
    ],
)
def test_windows(text: str, window: object) -> None:
    assert windows(text) == (window,)


def test_streams_and_graphs_in_any_order() -> None:
    query = continuous(
        "PREFIX ex: <http://ex/> SELECT * FROM <g> FROM NAMED STREAM ex:a [RANGE 1s TUMBLING] FROM NAMED <n>"
        " FROM STREAM <b> [RANGE TRIPLES 2] FROM ex:h FROM STREAM stream: [RANGE TRIPLES 3] WHERE {}"
    )
    assert query.dataset == (
        ast.DatasetClause(HERE, iri("g"), False),
        ast.DatasetClause(HERE, iri("n"), True),
        ast.DatasetClause(HERE, name("ex:h"), False),
    )
    assert query.streams == (
        ast.StreamClause(HERE, name("ex:a"), True, logical(SECOND, SECOND)),
        ast.StreamClause(HERE, iri("b"), False, physical(2, 1)),
        ast.StreamClause(HERE, name("stream:"), False, physical(3, 1)),
    )


def test_places() -> None:
    (clause,) = continuous("ASK\n FROM STREAM <s>\n  [RANGE 1s TUMBLING] {}").streams
    assert clause.position == Position(2, 2)
    assert clause.iri.position == Position(2, 14)
    assert clause.window.position == Position(3, 3)


@pytest.mark.parametrize("form", ["SELECT *", "ASK", "CONSTRUCT {}", "CONSTRUCT *", "DESCRIBE <x>"])
def test_every_form_reads_streams(form: str) -> None:
    assert len(continuous(f"{form} {STREAM} {{ ?a ?b ?c }}").streams) == 1


# --- AGGREGATE -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AGGREGATE {(?n, COUNT, {?a})}", [aggregation("n", "COUNT", None, "a")]),
        ("aggregate { ( ?n , count , { ?a ?b } ) }", [aggregation("n", "COUNT", None, "ab")]),
        ("AGGREGATE {(?n, COUNT(?c), {?a, ?b})}", [aggregation("n", "COUNT", "c", "ab")]),
        ("AGGREGATE {(?n, COUNT(*), ?a)}", [aggregation("n", "COUNT", None, "a")]),
        ("AGGREGATE {(?n, SUM(?c), ?a)}", [aggregation("n", "SUM", "c", "a")]),
        ("AGGREGATE {(?n, avg(?a), ?a)}", [aggregation("n", "AVG", "a", "a")]),
        (
            "AGGREGATE ((?n, MIN(?c), ?a)) AGGREGATE {(?m, MAX(?c), {?b})}",
            [aggregation("n", "MIN", "c", "a"), aggregation("m", "MAX", "c", "b")],
        ),
        (
            "AGGREGATE {(?n, COUNT, ?a) FILTER(?n > 5) (?m, COUNT, ?b)}",
            [
                aggregation("n", "COUNT", None, "a", call(">", var("n"), number("5"))),
                aggregation("m", "COUNT", None, "b"),
            ],
        ),
        (
            "AGGREGATE ((?n, COUNT, ?a), (?m, COUNT, ?b) FILTER BOUND(?c))",
            [
                aggregation("n", "COUNT", None, "a"),
                aggregation("m", "COUNT", None, "b", call("BOUND", var("c"))),
            ],
        ),
    ],
)
def test_aggregations(text: str, expected: list[ast.Aggregation]) -> None:
    assert aggregations(text) == tuple(expected)


COUNT = "AGGREGATE {(?n, COUNT, ?a)}"


@pytest.mark.parametrize(
    "text",
    [
        f"{COUNT} FILTER(?n > 5) ORDER BY ?n LIMIT 3",
        f"ORDER BY ?n LIMIT 3 {COUNT} FILTER(?n > 5)",
    ],
)
def test_where_aggregate_stands(text: str) -> None:
    modifiers = continuous(f"SELECT ?a ?n {{ ?a ?b ?c }} {text}").form.modifiers
    assert modifiers == ast.Modifiers(
        order_by=(ast.OrderCondition(HERE, var("n"), False),),
        limit=3,
        aggregations=(aggregation("n", "COUNT", None, "a"),),
        filters=(call(">", var("n"), number("5")),),
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{COUNT} GROUP BY ?a HAVING(MAX(?n) > 1) ORDER BY ?a LIMIT 1 OFFSET 2 VALUES ?a {{ 1 }}", "ghlov"),
        (f"GROUP BY ?a HAVING(MAX(?n) > 1) ORDER BY ?a OFFSET 2 LIMIT 1 {COUNT} VALUES ?a {{ 1 }}", "ghlov"),
        (f"GROUP BY ?a {COUNT}", "g"),
        (f"GROUP BY ?a ORDER BY ?a {COUNT}", "go"),
        (f"HAVING(MAX(?n) > 1) {COUNT}", "h"),
        (f"OFFSET 2 {COUNT}", ""),
    ],
)
def test_all_modifiers_with_aggregate(text: str, parts: str) -> None:
    modifiers = continuous(f"SELECT (MAX(?n) AS ?m) {{ ?a ?b ?c }} {text}").form.modifiers
    assert modifiers.aggregations == (aggregation("n", "COUNT", None, "a"),)
    assert bool(modifiers.group_by) == ("g" in parts)
    assert bool(modifiers.having) == ("h" in parts)
    assert bool(modifiers.order_by) == ("o" in parts)
    assert modifiers.limit == (1 if "l" in parts else None)
    assert (modifiers.values is not None) == ("v" in parts)


def test_aggregations_at_both_ends_are_all_kept() -> None:
    before = f"{COUNT} FILTER(?n > 1) AGGREGATE {{(?m, COUNT, ?b)}}"
    after = "AGGREGATE {(?o, COUNT, ?c)} FILTER(?o)"
    modifiers = continuous(f"SELECT * {{ ?a ?b ?c }} {before} LIMIT 1 {after}").form.modifiers
    assert [item.variable.name for item in modifiers.aggregations] == ["n", "m", "o"]
    assert modifiers.filters == (call(">", var("n"), number("1")), var("o"))


def test_aggregate_in_a_sub_select() -> None:
    query = continuous(f"SELECT ?n {{ {{ SELECT ?a ?n {{ ?a ?b ?c }} {COUNT} FILTER(?n > 1) }} }}")
    assert query.form.where is not None
    (group,) = query.form.where.elements
    assert isinstance(group, ast.Group)
    (inner,) = group.elements
    assert isinstance(inner, ast.SubSelect)
    assert inner.query.modifiers.aggregations == (aggregation("n", "COUNT", None, "a"),)


@pytest.mark.parametrize("form", ["ASK", "CONSTRUCT { ?a <n> ?n }", "DESCRIBE ?a ?n", "SELECT ?n"])
def test_every_form_aggregates(form: str) -> None:
    assert continuous(f"{form} WHERE {{ ?a ?b ?c }} {COUNT}").form.modifiers.aggregations


def test_aggregates_of_sparql_stay_what_they_are() -> None:
    query = continuous("SELECT ?a (COUNT(DISTINCT ?c) AS ?n) { ?a ?b ?c } GROUP BY ?a HAVING(SUM(?c) > 1)")
    assert query == replace(parse(query.text), dialect="csparql")


# --- timestamp() -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("timestamp(?a)", [var("a")]),
        ("TIMESTAMP ( ?a )", [var("a")]),
        ("Timestamp(?a, <s>)", [var("a"), iri("s")]),
        ("timestamp(?a, ex:s)", [var("a"), name("ex:s")]),
        ("timestamp(?a, ?g)", [var("a"), var("g")]),
    ],
)
def test_timestamp(source: str, arguments: list[ast.Expression]) -> None:
    assert expression(source) == call("TIMESTAMP", *arguments)


def test_timestamp_of_the_published_engine() -> None:
    found = expression("f:timestamp(?a, ?b, ?c) > 1")
    called = ast.FunctionCall(HERE, name("f:timestamp"), (var("a"), var("b"), var("c")))
    assert found == call(">", called, number("1"))
