"""Texts in CQELS-QL and the trees they must give."""

from __future__ import annotations

import pytest

from rheos.errors import Position
from rheos.syntax import ast, parse
from rheos.syntax.cqels import CqelsBuilder
from rheos.syntax.grammar import Parser, grammar
from tests.syntax.test_tree import HERE, anonymous, call, iri, name, number, triple, var

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def arriving(source: str) -> ast.Query:
    query = parse(source, "cqels")
    assert query.dialect == "cqels"
    return query


def patterns(text: str) -> tuple[ast.StreamPattern, ...]:
    return arriving(f"ASK {{ {text} }}").stream_patterns


def pattern(text: str) -> ast.StreamPattern:
    (found,) = patterns(text)
    return found


def window(text: str) -> object:
    return pattern(f"STREAM <s> {text} {{ ?a ?b ?c }}").window


def ranged(length: int, slide: int | None = None) -> ast.RangeWindow:
    return ast.RangeWindow(HERE, length, slide)


def projection(clause: str) -> tuple[ast.Projection, ...] | None:
    form = arriving(f"SELECT {clause} {{ ?a ?b ?c }}").form
    assert isinstance(form, ast.SelectQuery)
    return form.projection


ABC = ast.Triples(HERE, (triple(var("a"), var("b"), var("c")),))


def test_every_rule_is_built() -> None:
    rules = Parser(grammar("cqels"), CqelsBuilder())._lark.rules
    names = {rule.alias or rule.options.template_source or rule.origin.name for rule in rules}
    single = {rule.origin.name for rule in rules if rule.options.expand1}
    missing = {name for name in names if not name.startswith("_") and not hasattr(CqelsBuilder, name)}
    assert {name.split("{")[0] for name in missing} <= {name.split("{")[0] for name in single}


# --- windows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[NOW]", ranged(0)),
        ("[ now ]", ranged(0)),
        ("[ALL]", ast.AllWindow(HERE)),
        ("[TRIPLES 1]", ast.LastWindow(HERE, 1)),
        ("[triples 0100]", ast.LastWindow(HERE, 100)),
        ("[RANGE 3s]", ranged(3 * SECOND)),
        ("[range 3 s]", ranged(3 * SECOND)),
        ("[RANGE 2d]", ranged(2 * DAY)),
        ("[RANGE 1h]", ranged(HOUR)),
        ("[RANGE 5m]", ranged(5 * MINUTE)),
        ("[RANGE 250ms]", ranged(250_000)),
        ("[RANGE 1d2h3m4s5ms]", ranged(DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND + 5_000)),
        ("[RANGE 1h 30m]", ranged(90 * MINUTE)),
        ("[RANGE 30m1h30m]", ranged(2 * HOUR)),
        ("[RANGE 10s SLIDE 1s]", ranged(10 * SECOND, SECOND)),
        ("[RANGE 1s slide 1m30s]", ranged(SECOND, 90 * SECOND)),
        ("[# a comment\n RANGE # and\n 1s]", ranged(SECOND)),
        # Whole microseconds: what is left of one holds no element more.
        ("[RANGE 1000ns]", ranged(1)),
        ("[RANGE 2999ns]", ranged(2)),
        ("[RANGE 1ms1ns]", ranged(1_000)),
        ("[RANGE 500ns500ns]", ranged(1)),
        ("[RANGE 1ns]", ranged(0)),
        ("[RANGE 1s SLIDE 2000ns]", ranged(SECOND, 2)),
        ("[RANGE 1s SLIDE 400ns600ns]", ranged(SECOND, 1)),
        ("[RANGE 0s1ms]", ranged(1_000)),
        ("[RANGE 3652500d]", ranged(3_652_500 * DAY)),
    ],
)
def test_windows(text: str, expected: object) -> None:
    assert window(text) == expected


@pytest.mark.parametrize("name_and_window", ["<s> [NOW]", "[NOW] <s>", "<s>[NOW]", "[NOW]<s>"])
def test_the_window_stands_after_the_name_or_before(name_and_window: str) -> None:
    assert pattern(f"STREAM {name_and_window} {{ ?a ?b ?c }}") == ast.StreamPattern(
        HERE, iri("s"), ranged(0), ABC
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<http://ex/s>", iri("http://ex/s")),
        ("ex:s", name("ex:s")),
        (":", name(":")),
        ("?s", var("s")),
        ("$s", var("s")),
    ],
)
def test_names_of_streams(text: str, expected: ast.Var | ast.Name) -> None:
    assert pattern(f"STREAM {text} [NOW] {{ ?a ?b ?c }}").name == expected
    assert pattern(f"STREAM [NOW] {text} {{ ?a ?b ?c }}").name == expected


# --- patterns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a ?b ?c .", [triple(var("a"), var("b"), var("c"))]),
        (
            "?a ex:p ?b, ?c; a ex:C",
            [
                triple(var("a"), name("ex:p"), var("b")),
                triple(var("a"), name("ex:p"), var("c")),
                triple(var("a"), iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), name("ex:C")),
            ],
        ),
        (
            "?a ex:p [ ex:q 1 ] . _:b ex:p []",
            [
                triple(var("a"), name("ex:p"), anonymous(0)),
                triple(anonymous(0), name("ex:q"), number("1")),
                triple(ast.BlankNode(HERE, "b"), name("ex:p"), anonymous(1)),
            ],
        ),
    ],
)
def test_triples(text: str, expected: list[ast.Triple]) -> None:
    assert list(pattern(f"STREAM <s> [ALL] {{ {text} }}").triples.triples) == expected


STREAM = "STREAM <s> [NOW] { ?a ?b ?c }"


@pytest.mark.parametrize(
    "source",
    [
        f"ASK {{ {STREAM} }}",
        f"ASK {{ ?x ?y ?z {STREAM} . ?u ?v ?w }}",
        f"ASK {{ OPTIONAL {{ {STREAM} }} }}",
        f"ASK {{ {{ ?x ?y ?z }} UNION {{ {STREAM} FILTER(?a) }} }}",
        f"ASK {{ ?a ?b ?c MINUS {{ {STREAM} }} }}",
        f"ASK {{ FILTER EXISTS {{ {STREAM} }} }}",
        f"ASK {{ FILTER(?x > 1 && NOT EXISTS {{ {STREAM} }}) }}",
        f"ASK {{ BIND(EXISTS {{ {STREAM} }} AS ?x) }}",
        f"ASK {{ {{ SELECT (COUNT(*) AS ?n) {{ {STREAM} }} GROUP BY ?a }} }}",
        f"SELECT (EXISTS {{ {STREAM} }} AS ?x) {{ }}",
        f"SELECT EXISTS {{ {STREAM} }} AS ?x {{ }}",
        f"SELECT * {{ }} ORDER BY (EXISTS {{ {STREAM} }})",
        f"SELECT ?x {{ ?x ?y ?z }} GROUP BY ?x HAVING(EXISTS {{ {STREAM} }})",
        f"SELECT DISTINCT ?a {{ {STREAM} }}",
        f"CONSTRUCT {{ ?a ?b ?c }} FROM <g> FROM NAMED <h> {{ {STREAM} GRAPH <h> {{ ?a ?b ?d }} }}",
        f"SELECT ?a (COUNT(?b) AS ?n) {{ {STREAM} }} GROUP BY ?a VALUES ?a {{ 1 }}",
        f"ASK {{ {{ {STREAM} }} }}",
    ],
)
def test_where_streams_stand(source: str) -> None:
    query = arriving(source)
    assert query.stream_patterns == (ast.StreamPattern(HERE, iri("s"), ranged(0), ABC),)
    assert query.is_continuous
    place = Position(1, source.index("STREAM") + 1)
    assert query.stream_patterns[0].position == place
    assert query == parse(source, "auto")


def test_all_streams_of_a_text_are_found_in_its_order() -> None:
    query = arriving(
        """SELECT (EXISTS { STREAM <1> [NOW] { ?a ?b ?c } } AS ?x) {
          STREAM <2> [NOW] { ?a ?b ?c }
          OPTIONAL { FILTER EXISTS { STREAM <3> [NOW] { ?a ?b ?c } } { STREAM <4> [NOW] { ?a ?b ?c } } }
          { SELECT ?a { STREAM <5> [NOW] { ?a ?b ?c } } }
          STREAM <5> [NOW] { ?a ?b ?c }
        } ORDER BY (NOT EXISTS { STREAM <7> [NOW] { ?a ?b ?c } })"""
    )
    assert [found.name for found in query.stream_patterns] == [iri(number) for number in "1234557"]
    places = [(found.position.line, found.position.column) for found in query.stream_patterns]
    assert places == sorted(places)


def test_positions() -> None:
    source = "ASK {\n  STREAM ?s [RANGE 3s]\n    { ?a ?b ?c } }"
    found = arriving(source).stream_patterns[0]
    assert found.position == Position(2, 3)
    assert found.name.position == Position(2, 10)
    assert found.window.position == Position(2, 14)
    assert found.triples.position == Position(3, 7)


def test_what_is_not_continuous() -> None:
    query = arriving("SELECT * FROM <g> { ?a ?b ?c }")
    assert not query.is_continuous
    assert not parse("ASK {}").is_continuous
    assert parse("ASK FROM STREAM <s> [RANGE TRIPLES 1] {}", "csparql").is_continuous


# --- scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?s ?a (COUNT(*) AS ?n) { STREAM ?s [NOW] { ?a ?b ?c } } GROUP BY ?s ?a",
        "ASK { STREAM <s> [NOW] { _:x ?b ?c . _:x ?d ?e } }",
    ],
)
def test_scope(source: str) -> None:
    arriving(source)


# --- registration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "registered"),
    [
        ("REGISTER QUERY Cars AS", "QUERY", "Cars"),
        ("register stream Cars as", "STREAM", "Cars"),
        ("REGISTER STREAM <http://ex/cars> AS", "STREAM", "http://ex/cars"),
        ("REGISTER QUERY All-the-cars AS", "QUERY", "All-the-cars"),
        ("REGISTER QUERY stream AS", "QUERY", "stream"),
        ("REGISTER STREAM STREAM AS", "STREAM", "STREAM"),
        ("REGISTER QUERY now AS", "QUERY", "now"),
        ("REGISTER QUERY my-stream AS", "QUERY", "my-stream"),
    ],
)
@pytest.mark.parametrize("dialect", ["cqels", "auto"])
def test_registrations(text: str, kind: str, registered: str, dialect: str) -> None:
    query = parse(f"PREFIX a: <a> {text} PREFIX b: <b> CONSTRUCT {{ }} {{ {STREAM} }}", dialect)
    assert query.dialect == "cqels"
    assert query.registration == ast.Registration(HERE, kind, registered)
    assert [item.prefix for item in query.prologue if isinstance(item, ast.Prefix)] == ["a", "b"]
    assert query.position == Position(1, 1)


# --- expressions in SELECT -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("without", "bracketed"),
    [
        ("?a count(distinct ?b) as ?n", "?a (COUNT(DISTINCT ?b) AS ?n)"),
        ("count(*) AS ?n sum(?a) AS ?m", "(COUNT(*) AS ?n) (SUM(?a) AS ?m)"),
        ("COUNT(?a) / 2 + 1 AS ?n", "(COUNT(?a) / 2 + 1 AS ?n)"),
        ("group_concat(?a; separator=',') AS ?n", "(GROUP_CONCAT(?a; SEPARATOR=',') AS ?n)"),
        ("(COUNT(?a)) AS ?n", "((COUNT(?a)) AS ?n)"),
        ("(COUNT(?a) + 1) * 2 AS ?n", "((COUNT(?a) + 1) * 2 AS ?n)"),
        ("(COUNT(?a) AS ?n) MAX(?a) AS ?m", "(COUNT(?a) AS ?n) (MAX(?a) AS ?m)"),
    ],
)
def test_aggregates_without_brackets(without: str, bracketed: str) -> None:
    after = "{ ?a ?b ?c } GROUP BY ?a"
    assert arriving(f"SELECT {without} {after}").form == parse(f"SELECT {bracketed} {after}").form


@pytest.mark.parametrize(
    ("without", "bracketed"),
    [
        ("?a AS ?x", "(?a AS ?x)"),
        ("?a ?b AS ?x ?c", "?a (?b AS ?x) ?c"),
        ("?a (?b AS ?x) ?c", "?a (?b AS ?x) ?c"),
        ("?a + ?b AS ?x", "(?a + ?b AS ?x)"),
        ("?a -1 AS ?x", "(?a - 1 AS ?x)"),
        ("?a NOT IN (?b) AS ?x", "(?a NOT IN (?b) AS ?x)"),
        ("?a ?b AS ?x -?c AS ?y", "?a (?b AS ?x) (-?c AS ?y)"),
        ("STRLEN(?a) AS ?x", "(STRLEN(?a) AS ?x)"),
        ("?a ex:f(?b) AS ?x", "?a (ex:f(?b) AS ?x)"),
        ("NOW() AS ?now", "(NOW() AS ?now)"),
        ("1 AS ?x 'y'@en AS ?y <z> AS ?z true AS ?t", "(1 AS ?x) ('y'@en AS ?y) (<z> AS ?z) (true AS ?t)"),
        ("?a < ?b AS ?x", "(?a < ?b AS ?x)"),
        ("DISTINCT ?a ?b AS ?x", "DISTINCT ?a (?b AS ?x)"),
    ],
)
def test_expressions_without_brackets(without: str, bracketed: str) -> None:
    after = "FROM <g> WHERE { ?a ?b ?c }"
    assert arriving(f"SELECT {without} {after}").form == parse(f"SELECT {bracketed} {after}").form


def test_where_an_expression_without_brackets_is() -> None:
    items = projection("?a ?b + 1 AS ?x")
    assert items is not None
    assert items[1] == ast.Projection(HERE, var("x"), call("+", var("b"), number("1")))
    assert items[1].position == Position(1, 11)


# --- words that are keywords elsewhere -------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?stream ?now ?all { STREAM ?stream [NOW] { ?now ?all ?range } FILTER(?range < NOW()) }",
        "PREFIX stream: <s> ASK { STREAM stream:now [ALL] { stream:all stream:range stream: } }",
        "PREFIX now: <n> ASK { STREAM now: [NOW] { now:now now:triples now:slide } }",
        "PREFIX register: <r> ASK { register:query register: ?a . STREAM <s> [NOW] { ?a ?b ?c } }",
        "ASK { STREAM <STREAM> [NOW] { <http://ex/all> <now> <TRIPLES> } <RANGE> <SLIDE> 'STREAM' }",
        'ASK { STREAM [ALL] ?all { ?all <p> "[NOW]" } FILTER(NOW() > ?now || ?all IN (NOW(), 1)) }',
        "ASK { _:stream <p> _:now . STREAM <s> [NOW] { ?d ?h ?m . ?s ?ms ?ns } }",
        "PREFIX s: <s> ASK { STREAM s:s [RANGE 3s] { ?s s:d s:ms } STREAM[RANGE 3s]s:s{ ?s ?d ?m } }",
        "ASK { ?a ?b ?c . # STREAM\n STREAM <s> [NOW] { ?a ?b ?c } }",
        "BASE <http://ex/> ASK { STREAM <s> [NOW] { ?a a ?all } STREAM <s> [ALL] { ?a a ?now } }",
        "ASK{STREAM<s>[NOW]{?a ?b ?c}STREAM[RANGE 1s SLIDE 1s]<s>{?a ?b ?c}}",
    ],
)
@pytest.mark.parametrize("dialect", ["cqels", "auto"])
def test_keywords_are_keywords_only_in_their_places(source: str, dialect: str) -> None:
    query = parse(source, dialect)
    assert query.dialect == "cqels"
    assert query.stream_patterns


def test_now_is_also_a_function() -> None:
    query = arriving("ASK { STREAM <s> [NOW] { ?a ?b ?c } FILTER(?c < now()) }")
    assert query.form.where is not None
    condition = query.form.where.elements[-1]
    assert isinstance(condition, ast.Filter)
    assert condition.condition == call("<", var("c"), call("NOW"))


# --- the queries of the paper ----------------------------------------------------------------------

PREFIXES = """
PREFIX lv: <http://deri.org/floorplan/>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX swrc: <http://swrc.ontoware.org/ontology#>
"""
# As printed, apart from the prefixes, the quotation marks, and the `?` that is missing in `loc2` of Q5.
PAPER = {
    "Q1": """
SELECT ?locName ?locDesc
FROM NAMED <http://deri.org/floorplan/>
WHERE {
  STREAM <http://deri.org/streams/rfid> [NOW] {?person lv:detectedAt ?loc}
  GRAPH <http://deri.org/floorplan/> {?loc lv:name ?locName. ?loc lv:desc ?locDesc}
  ?person foaf:name "$Name$". }
""",
    "Q2": """
CONSTRUCT {?person1 lv:reachable ?person2}
FROM NAMED <http://deri.org/floorplan/>
WHERE {
  STREAM <http://deri.org/streams/rfid> [NOW]      {?person1 lv:detectedAt ?loc1}
  STREAM <http://deri.org/streams/rfid> [RANGE 3s] {?person2 lv:detectedAt ?loc2}
  GRAPH <http://deri.org/floorplan/>              {?loc1 lv:connected ?loc2} }
""",
    "Q3": """
SELECT ?coAuthName
FROM NAMED <http://deri.org/floorplan/>
WHERE {
  STREAM <http://deri.org/streams/rfid> [TRIPLES 1] {?auth lv:detectedAt ?loc}
  STREAM <http://deri.org/streams/rfid> [RANGE 5s] {?coAuth lv:detectedAt ?loc}
  { ?paper dc:creator ?auth. ?paper dc:creator ?coAuth.
    ?auth foaf:name "$Name$". ?coAuth foaf:name ?coAuthName}
  FILTER (?auth != ?coAuth) }
""",
    "Q4": """
SELECT ?editorName
WHERE {
  STREAM <http://deri.org/streams/rfid> [TRIPLES 1] {?auth lv:detectedAt ?loc1}
  STREAM <http://deri.org/streams/rfid> [RANGE 15s] {?editor lv:detectedAt ?loc2}
  GRAPH <http://deri.org/floorplan/> {?loc1 lv:connected ?loc2}
  ?paper dc:creator ?auth. ?paper dcterms:partOf ?proceeding.
  ?proceeding swrc:editor ?editor. ?editor foaf:name ?editorName.
  ?auth foaf:name "$Name$" }
""",
    "Q5": """
SELECT ?loc2 ?locName count(distinct ?coAuth) as ?noCoAuths
FROM NAMED <http://deri.org/floorplan/>
WHERE {
  STREAM <http://deri.org/streams/rfid> [TRIPLES 1] {?auth lv:detectedAt ?loc1}
  STREAM <http://deri.org/streams/rfid> [RANGE 30s] {?coAuth lv:detectedAt ?loc2}
  GRAPH <http://deri.org/floorplan/> {?loc2 lv:name ?locName. ?loc2 lv:connected ?loc1}
  {?paper dc:creator ?auth. ?paper dc:creator ?coAuth. ?auth foaf:name "$Name$"}
  FILTER (?auth != ?coAuth)}
GROUP BY ?loc2 ?locName
""",
}
LAST = ast.LastWindow(HERE, 1)


@pytest.mark.parametrize(
    ("query", "windows"),
    [
        ("Q1", [ranged(0)]),
        ("Q2", [ranged(0), ranged(3 * SECOND)]),
        ("Q3", [LAST, ranged(5 * SECOND)]),
        ("Q4", [LAST, ranged(15 * SECOND)]),
        ("Q5", [LAST, ranged(30 * SECOND)]),
    ],
)
@pytest.mark.parametrize("dialect", ["cqels", "auto"])
def test_the_queries_of_the_paper(query: str, windows: list[object], dialect: str) -> None:
    tree = parse(PREFIXES + PAPER[query], dialect)
    assert tree.dialect == "cqels"
    assert [found.window for found in tree.stream_patterns] == windows
    assert {found.name for found in tree.stream_patterns} == {iri("http://deri.org/streams/rfid")}


def test_the_count_of_q5() -> None:
    form = parse(PREFIXES + PAPER["Q5"], "auto").form
    assert isinstance(form, ast.SelectQuery)
    counted = ast.Aggregate(HERE, "COUNT", var("coAuth"), distinct=True)
    assert form.projection is not None
    assert form.projection[-1] == ast.Projection(HERE, var("noCoAuths"), counted)
