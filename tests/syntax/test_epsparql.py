"""Texts in EP-SPARQL and the trees they must give."""

from __future__ import annotations

import pytest

from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.printer import show
from rheos.durations import to_xsd
from rheos.errors import Position
from rheos.syntax import ast, parse
from rheos.syntax.epsparql import EpSparqlBuilder
from rheos.syntax.grammar import Parser, grammar
from tests.syntax.test_tree import HERE, call, iri, name, number, triple, var

SECOND = 10**6
DAY = 86_400 * SECOND


def detecting(source: str) -> ast.Query:
    query = parse(source, "epsparql")
    assert query.dialect == "epsparql"
    assert query.is_continuous
    return query


def elements(text: str) -> tuple[ast.Pattern, ...]:
    form = detecting(f"ASK {{ {text} }}").form
    assert form.where is not None
    return form.where.elements


def block(subject: str) -> ast.Triples:
    return ast.Triples(HERE, (triple(var(subject), name(":p"), var("o")),))


def group(*inside: ast.Pattern | str) -> ast.Group:
    return ast.Group(HERE, tuple(block(item) if isinstance(item, str) else item for item in inside))


Combined = ast.Group | ast.Union | ast.Temporal


def temporal(operator: str, left: Combined, right: ast.Group) -> ast.Temporal:
    return ast.Temporal(HERE, operator, left, right)


def union(*options: ast.Group) -> ast.Union:
    return ast.Union(HERE, options)


A, B, C, D = (group(letter) for letter in "abcd")
TEXTS = {letter.upper(): f"{{ ?{letter} :p ?o }}" for letter in "abcd"}


def groups(text: str) -> tuple[ast.Pattern, ...]:
    """The elements of a text in which A to D stand for groups of one triple pattern."""
    return elements(" ".join(TEXTS.get(word, word) for word in text.split()))


def test_every_rule_is_built() -> None:
    rules = Parser(grammar("epsparql"), EpSparqlBuilder())._lark.rules
    names = {rule.alias or rule.options.template_source or rule.origin.name for rule in rules}
    single = {rule.origin.name for rule in rules if rule.options.expand1}
    missing = {name for name in names if not name.startswith("_") and not hasattr(EpSparqlBuilder, name)}
    assert {name.split("{")[0] for name in missing} <= {name.split("{")[0] for name in single}


# --- operators -------------------------------------------------------------------------------------

OPERATORS = ["SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("spelling", [str.upper, str.lower, str.title])
def test_operators(operator: str, spelling: type[str]) -> None:
    assert groups(f"A {spelling(operator)} B") == (temporal(operator, A, B),)


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_touch_braces(operator: str) -> None:
    assert elements(f"{{?a :p ?o}}{operator}{{?b :p ?o}}") == (temporal(operator, A, B),)
    assert elements(f"{{?a :p ?o}} # it's\n{operator} # then\n{{?b :p ?o}}") == (temporal(operator, A, B),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A SEQ B SEQ C", temporal("SEQ", temporal("SEQ", A, B), C)),
        ("A SEQ B EQUALS C", temporal("EQUALS", temporal("SEQ", A, B), C)),
        ("A EQUALS B SEQ C", temporal("SEQ", temporal("EQUALS", A, B), C)),
        ("A OPTIONALSEQ B SEQ C", temporal("SEQ", temporal("OPTIONALSEQ", A, B), C)),
        (
            "A EQUALSOPTIONAL B OPTIONALSEQ C",
            temporal("OPTIONALSEQ", temporal("EQUALSOPTIONAL", A, B), C),
        ),
        # UNION has the same rank.
        ("A UNION B SEQ C", temporal("SEQ", union(A, B), C)),
        ("A UNION B UNION C EQUALS D", temporal("EQUALS", union(A, B, C), D)),
        ("A SEQ B UNION C", union(group(temporal("SEQ", A, B)), C)),
        ("A SEQ B UNION C UNION D", union(group(temporal("SEQ", A, B)), C, D)),
        ("A SEQ B UNION C SEQ D", temporal("SEQ", union(group(temporal("SEQ", A, B)), C), D)),
        ("A UNION B SEQ C UNION D", union(group(temporal("SEQ", union(A, B), C)), D)),
        ("A UNION B", union(A, B)),
        # Braces say otherwise.
        ("A SEQ { B SEQ C }", temporal("SEQ", A, group(temporal("SEQ", B, C)))),
        ("A UNION { B SEQ C }", union(A, group(temporal("SEQ", B, C)))),
        ("{ A SEQ B } SEQ { C EQUALS D }", temporal(
            "SEQ", group(temporal("SEQ", A, B)), group(temporal("EQUALS", C, D))
        )),
    ],
)  # fmt: skip
def test_chains_go_to_the_left(text: str, expected: ast.Pattern) -> None:
    assert groups(text) == (expected,)


A_SEQ_B = temporal("SEQ", A, B)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?c :p ?o . A SEQ B", (block("c"), A_SEQ_B)),
        ("?c :p ?o A SEQ B", (block("c"), A_SEQ_B)),
        ("A SEQ B . ?c :p ?o", (A_SEQ_B, block("c"))),
        ("A SEQ B ?c :p ?o", (A_SEQ_B, block("c"))),
        ("C A SEQ B", (C, A_SEQ_B)),
        ("C . A SEQ B", (C, A_SEQ_B)),
        ("A SEQ B C", (A_SEQ_B, C)),
        ("A SEQ B A SEQ B", (A_SEQ_B, A_SEQ_B)),
        ("A SEQ B OPTIONAL C", (A_SEQ_B, ast.Optional(HERE, C))),
        ("OPTIONAL C A SEQ B", (ast.Optional(HERE, C), A_SEQ_B)),
        ("A SEQ B MINUS C", (A_SEQ_B, ast.Minus(HERE, C))),
        ("A SEQ B GRAPH :g C", (A_SEQ_B, ast.Graph(HERE, name(":g"), C))),
        ("A SEQ B FILTER(?x)", (A_SEQ_B, ast.Filter(HERE, var("x")))),
        ("FILTER(?x) A SEQ B", (ast.Filter(HERE, var("x")), A_SEQ_B)),
        ("A SEQ B BIND(1 AS ?n)", (A_SEQ_B, ast.Bind(HERE, number("1"), var("n")))),
    ],
)
def test_what_stands_beside_a_chain(text: str, expected: tuple[ast.Pattern, ...]) -> None:
    assert groups(text) == expected


@pytest.mark.parametrize(
    "inside",
    [
        "?a :p+/^:q ?b",
        "?a :p ?b OPTIONAL { ?b :p ?c FILTER(?c > 1) }",
        "{ ?a :p ?b } UNION { ?a :q ?b }",
        "?a :p ?b MINUS { ?a :q ?b }",
        "?a :p ?b FILTER NOT EXISTS { { ?a :q ?b } SEQ { ?b :q ?a } }",
        "?a :p ?b BIND(?a + 1 AS ?c)",
        "VALUES ?a { 1 2 } ?a :p ?b",
        "?a :p ?b GRAPH ?g { ?b :p ?c }",
        "SELECT ?a { ?a :p ?b }",
        "SELECT ?a (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a WITHIN 1h",
        "SELECT ?a { { ?a :p ?b } SEQ { ?a :q ?b } }",
        "?a :p [ :q (1 2) ]",
    ],
)
def test_operands_are_any_groups(inside: str) -> None:
    (found,) = elements(f"{{ {inside} }} SEQ {{ {inside} }}")
    (alone,) = elements(f"{{ {inside} }}")
    assert isinstance(found, ast.Temporal)
    assert found.left == alone
    assert isinstance(found.right, ast.Group)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * { %s }",
        "SELECT DISTINCT ?a WHERE { %s } ORDER BY ?a",
        "ASK { %s }",
        "CONSTRUCT { ?a :q _:n } WHERE { %s }",
        "ASK { ?x :p ?y OPTIONAL { %s } }",
        "ASK { ?x :p ?y FILTER EXISTS { %s } }",
        "ASK { ?x :p ?y MINUS { %s } }",
        "ASK { { SELECT * { %s } } }",
        "SELECT (EXISTS { %s } AS ?e) { ?x :p ?y }",
    ],
)
def test_where_operators_stand(source: str) -> None:
    text = "PREFIX : <x> " + source % "{ ?a :p ?b } SEQ { ?b :p ?c }"
    assert parse(text, "auto") == detecting(text)


def test_positions() -> None:
    source = "ASK {\n  { ?a ?b ?c }\n  SEQ { ?d ?e ?f }\n  EQUALS\n    { ?g ?h ?i } }"
    form = detecting(source).form
    assert form.where is not None
    (last,) = form.where.elements
    assert isinstance(last, ast.Temporal)
    assert last.position == Position(4, 3)
    assert last.right.position == Position(5, 5)
    assert last.left.position == Position(3, 3)
    assert isinstance(last.left, ast.Temporal)
    assert last.left.left.position == Position(2, 3)


# --- functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getDURATION()", "DURATION"),
        ("getduration( )", "DURATION"),
        ("GETDURATION (# nothing\n)", "DURATION"),
        ("getSTARTTIME()", "STARTTIME"),
        ("getStartTime()", "STARTTIME"),
        ("getENDTIME()", "ENDTIME"),
        ("GetEndTime()", "ENDTIME"),
    ],
)
def test_functions_of_intervals(text: str, expected: str) -> None:
    _, found = elements(f"?a ?b ?c FILTER({text} > ?x)")
    assert found == ast.Filter(HERE, call(">", call(expected), var("x")))


@pytest.mark.parametrize(
    "source",
    [
        "ASK { ?a ?b ?c FILTER(%s < ?x && !(?y > 1)) }",
        "ASK { ?a ?b ?c FILTER(?x IN (%s)) }",
        "ASK { ?a ?b ?c FILTER(STR(%s) = 'x') }",
        "ASK { ?a ?b ?c BIND(%s AS ?d) }",
        "SELECT (%s AS ?d) { ?a ?b ?c }",
        "SELECT %s AS ?d { ?a ?b ?c }",
        "SELECT ?d AS %s { ?a ?b ?c }",
        "SELECT * { ?a ?b ?c } ORDER BY %s",
        "SELECT ?a (MAX(%s) AS ?m) { ?a ?b ?c } GROUP BY ?a WITHIN 1h",
        "SELECT ?a (COUNT(*) AS ?m) { ?a ?b ?c } GROUP BY ?a WITHIN 1h HAVING(%s > ?x)",
        "SELECT (COUNT(*) AS ?m) { ?a ?b ?c } GROUP BY (%s AS ?d) WITHIN 1h",
        "SELECT (%s AS ?d) (COUNT(*) AS ?m) { ?a ?b ?c } WITHIN 1h",
        "ASK { ?a ?b ?c FILTER EXISTS { ?d ?e ?f FILTER(%s > ?x) } }",
    ],
)
def test_where_functions_stand(source: str) -> None:
    text = source % "getDURATION()"
    assert detecting(text) == parse(text, "auto")


def test_durations_are_literals() -> None:
    _, found = elements('?a ?b ?c FILTER(getDURATION() < "P30D"^^xsd:duration)')
    month = ast.Literal(HERE, "P30D", name("xsd:duration"))
    assert found == ast.Filter(HERE, call("<", call("DURATION"), month))


# --- WITHIN ----------------------------------------------------------------------------------------

AVERAGE = "SELECT ?a (AVG(?c) AS ?m) { ?a ?b ?c } GROUP BY ?a"


def within(text: str) -> int | ast.Literal | None:
    found = detecting(f"{AVERAGE} {text}").form.modifiers.within
    return found.length if found else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITHIN 10d", 10 * DAY),
        ("within 10 d", 10 * DAY),
        ("WITHIN 1h30m", 5_400 * SECOND),
        ("WITHIN 1d2h3m4s5ms", DAY + 7_384_005_000),
        ("WITHIN 250ms", 250_000),
        ("WITHIN 2000ns", 2),
        # Ends are whole microseconds: (e - 1.5, e] has as many of them as (e - 2, e].
        ("WITHIN 1500ns", 2),
        ("WITHIN 1ns", 1),
        ('WITHIN "P10D"^^xsd:duration', ast.Literal(HERE, "P10D", name("xsd:duration"))),
        ("WITHIN 'PT1S'^^<d>", ast.Literal(HERE, "PT1S", iri("d"))),
        ("WITHIN# ten\n'PT1S'^^<d>", ast.Literal(HERE, "PT1S", iri("d"))),
    ],
)
def test_within(text: str, expected: int | ast.Literal) -> None:
    assert within(text) == expected


@pytest.mark.parametrize(("text", "longest"), [("2000ns", 2), ("1500ns", 1), ("1ns", 0), ("10d", 10 * DAY)])
def test_a_pattern_lasts_no_longer_than_within(text: str, longest: int) -> None:
    query = detecting(f"PREFIX : <http://ex/> SELECT * {{ {{ ?a :p ?b }} SEQ {{ ?c :q ?d }} WITHIN {text} }}")
    assert f'"{to_xsd(longest)}"' in show(translate_epsparql(query, "q", "http://ex/").query)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h HAVING(COUNT(*) > 3) ORDER BY ?n",
        "SELECT ?a { ?a ?b ?c } GROUP BY ?a WITHIN 1h HAVING(COUNT(*) > 3)",
        "SELECT ?a { ?a ?b ?c } GROUP BY ?a WITHIN 1h ORDER BY MAX(?c)",
        "SELECT ?a { ?a ?b ?c } WITHIN 1h GROUP BY ?a HAVING(COUNT(*) > 3)",
        "SELECT ?a (SUM(?c) AS ?s) { ?a ?b ?c } GROUP BY ?a WITHIN 1h VALUES ?a { 1 }",
        "SELECT ?y (COUNT(DISTINCT ?a) AS ?n) { ?a ?b ?c } GROUP BY (STRLEN(?c) AS ?y) WITHIN 1h",
        "CONSTRUCT { ?a <many> true } { ?a ?b ?c } GROUP BY ?a WITHIN 1h HAVING(COUNT(*) > 3)",
        "ASK { ?a ?b ?c } WITHIN 1h HAVING(COUNT(*) > 3)",
        "ASK { { SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h } SEQ { ?d ?e ?n } }",
        "SELECT COUNT(*) AS ?n { { ?a ?b ?c } SEQ { ?d ?e ?f } } WITHIN 1h",
    ],
)
def test_where_within_stands(source: str) -> None:
    assert detecting(source) == parse(source, "auto")


@pytest.mark.parametrize(
    "source",
    [
        "ASK { ?x ?y ?z { SELECT (COUNT(*) AS ?n) { GRAPH <g> { ?a ?b ?c } } } }",
        "ASK { ?x ?y ?z { SELECT ?a (SUM(?c) AS ?n) { GRAPH ?g { ?a ?b ?c } VALUES ?a { } } GROUP BY ?a } }",
        "ASK { ?x ?y ?z GRAPH <g> { { SELECT (COUNT(*) AS ?n) { ?a ?b ?c } } } }",
        "ASK { ?x ?y ?z { SELECT (MAX(?n) AS ?m) { VALUES ?n { 1 2 } } } }",
        "ASK { ?x ?y ?z { SELECT ?a { GRAPH <g> { ?a ?b ?c } } ORDER BY ?a LIMIT 1 OFFSET 2 } }",
        "ASK { ?x ?y ?z GRAPH <g> { { SELECT ?a { ?a ?b ?c } LIMIT 1 } } }",
    ],
)
def test_static_data_can_be_counted(source: str) -> None:
    detecting(source)


# --- streams and registration ----------------------------------------------------------------------


def test_streams() -> None:
    query = detecting("SELECT * FROM <g> FROM STREAM <s> FROM NAMED :h from stream :t { ?a ?b ?c }")
    assert query.streams == (
        ast.StreamClause(HERE, iri("s"), False, None),
        ast.StreamClause(HERE, name(":t"), False, None),
    )
    assert query.dataset == (
        ast.DatasetClause(HERE, iri("g"), False),
        ast.DatasetClause(HERE, name(":h"), True),
    )
    assert query.streams[0].position == Position(1, 19)
    assert detecting("SELECT * { ?a ?b ?c }").streams == ()


@pytest.mark.parametrize(
    ("text", "kind", "registered", "consumption"),
    [
        ("REGISTER QUERY q AS", "QUERY", "q", "unrestricted"),
        ("register stream Falls as", "STREAM", "Falls", "unrestricted"),
        ("REGISTER QUERY q CONSUMPTION UNRESTRICTED AS", "QUERY", "q", "unrestricted"),
        ("REGISTER QUERY q CONSUMPTION RECENT AS", "QUERY", "q", "recent"),
        ("REGISTER STREAM <ex:q> consumption chronological AS", "STREAM", "ex:q", "chronological"),
        ("REGISTER QUERY seq CONSUMPTION RECENT AS", "QUERY", "seq", "recent"),
        ("REGISTER QUERY within AS", "QUERY", "within", "unrestricted"),
        ("REGISTER QUERY consumption CONSUMPTION RECENT AS", "QUERY", "consumption", "recent"),
        ("REGISTER QUERY recent AS", "QUERY", "recent", "unrestricted"),
        ("REGISTER QUERY stock-falls CONSUMPTION RECENT AS", "QUERY", "stock-falls", "recent"),
    ],
)
@pytest.mark.parametrize("dialect", ["epsparql", "auto"])
def test_registrations(
    text: str, kind: str, registered: str, consumption: ast.Consumption, dialect: str
) -> None:
    source = f"PREFIX a: <a> {text} PREFIX b: <b> CONSTRUCT {{ }} {{ {{ ?a ?b ?c }} SEQ {{ ?d ?e ?f }} }}"
    query = parse(source, dialect)
    assert query.dialect == "epsparql"
    assert query.registration == ast.Registration(HERE, kind, registered, None, consumption)
    assert [item.prefix for item in query.prologue if isinstance(item, ast.Prefix)] == ["a", "b"]
    assert query.position == Position(1, 1)


# --- expressions in SELECT -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("without", "bracketed"),
    [
        ("?sum / ?count AS ?average", "(?sum / ?count AS ?average)"),
        ("?sum AS ?x", "(?sum AS ?x)"),
        ("?sum ?count AS ?x ?price", "?sum (?count AS ?x) ?price"),
        ("STRLEN(?sum) AS ?x NOW() AS ?now", "(STRLEN(?sum) AS ?x) (NOW() AS ?now)"),
        ("1 AS ?x 'y'@en AS ?y <z> AS ?z true AS ?t", "(1 AS ?x) ('y'@en AS ?y) (<z> AS ?z) (true AS ?t)"),
        ("?sum AS ?x (?count AS ?y) ?price", "(?sum AS ?x) (?count AS ?y) ?price"),
        # The name first, as the paper has it.
        ("?n AS ?count + 1", "(?count + 1 AS ?n)"),
        ("?n AS ?count + 1 ?s AS ?sum + ?price", "(?count + 1 AS ?n) (?sum + ?price AS ?s)"),
        ("?n AS ?count -1 ?sum", "(?count - 1 AS ?n) ?sum"),
        ("?n AS ?count * 2 ?sum AS ?s", "(?count * 2 AS ?n) (?sum AS ?s)"),
        ("?n AS ?count NOT IN (?sum)", "(?count NOT IN (?sum) AS ?n)"),
        ("?n AS 1", "(1 AS ?n)"),
        ("?n AS STRLEN(?sum) ?count", "(STRLEN(?sum) AS ?n) ?count"),
        ("?n AS (?sum + 1) * 2", "((?sum + 1) * 2 AS ?n)"),
        ("?n AS :f(?sum) ?count", "(:f(?sum) AS ?n) ?count"),
        ("?n AS ?count < ?sum ?s AS ?sum", "(?count < ?sum AS ?n) (?s AS ?sum)"),
    ],
)
def test_expressions_without_brackets(without: str, bracketed: str) -> None:
    after = "FROM <g> WHERE { ?s1 ?p1 ?o1 }"
    assert detecting(f"SELECT {without} {after}").form == parse(f"SELECT {bracketed} {after}").form


def test_where_an_expression_without_brackets_is() -> None:
    form = detecting("SELECT ?b ?n AS ?count + 1 { ?b ?c ?count }").form
    assert isinstance(form, ast.SelectQuery)
    assert form.projection is not None
    assert form.projection[1] == ast.Projection(HERE, var("n"), call("+", var("count"), number("1")))
    assert form.projection[1].position == Position(1, 11)


# --- words that are keywords elsewhere -------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?seq $within { { ?seq ?equals ?within } SEQ { ?optionalseq ?consumption ?getDURATION } }",
        "PREFIX ex: <x> ASK { { ex:seq ex:equals ex:within } EQUALS { ex:optionalseq ex:recent ?x } }",
        "PREFIX seq: <s> ASK { { seq:seq seq: seq:within } SEQ { seq:equals seq:getDURATION seq:a } }",
        "ASK { { <http://ex/within> <SEQ> <EQUALS> } SEQ { <getDURATION()> <p> <CONSUMPTION> } }",
        "ASK { { _:seq <p> 'SEQ' } SEQ { _:equals <p> \"WITHIN\"@seq } } # EQUALS",
        "PREFIX within: <w> SELECT ?within MAX(?d) AS ?m { ?within within:d ?d } GROUP BY ?within WITHIN 3d",
        "PREFIX d: <w> SELECT (MAX(?d) AS ?m) { ?d d:d d:m FILTER(getENDTIME() > ?h) } WITHIN 3d2h",
        "PREFIX recent: <r> ASK FROM STREAM recent:stream FROM recent:seq { ?a ?b recent:unrestricted }",
        "PREFIX stream: <s> ASK FROM STREAM stream: { ?stream ?query ?register }",
        "ASK{{?a ?b ?c}SEQ{?a ?b ?c}EQUALSOPTIONAL{?a ?b ?c}OPTIONAL{?a ?b ?c}}",
        "ASK { ?a ?b ?c OPTIONAL { { ?a ?b ?d } OPTIONALSEQ { ?a ?b ?e } OPTIONAL { ?a ?b ?f } } }",
    ],
)
@pytest.mark.parametrize("dialect", ["epsparql", "auto"])
def test_keywords_are_keywords_only_in_their_places(source: str, dialect: str) -> None:
    assert parse(source, dialect).dialect == "epsparql"


# --- scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?a ?d { { ?a ?b ?c } SEQ { ?d ?e ?f } } ORDER BY ?a ?d",
        "SELECT ?a (COUNT(*) AS ?n) { { ?a ?b ?c } SEQ { ?d ?e ?f } } GROUP BY ?a WITHIN 1h",
        "ASK { { _:x ?b ?c . _:x ?d ?e } SEQ { _:y ?b ?c } }",
        "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } BIND(?a AS ?g) }",
        "CONSTRUCT { _:x ?b ?c } { { _:x ?b ?c } SEQ { _:y ?b ?c } }",
    ],
)
def test_scope(source: str) -> None:
    detecting(source)


# --- the queries of the paper ----------------------------------------------------------------------

PREFIXES = """
PREFIX : <http://ex/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
# (1) to (4) are written from what section 4.1 says of them. (5) and (6) are as printed, but (6) asks for the
# ?sum and ?count that it selects, where the print has ?prevsum and ?prevcount.
PAPER = {
    "1": """
SELECT ?company
WHERE {
  { ?company :hasStockPrice ?price1 }
  SEQ { ?company :hasStockPrice ?price2 }
  SEQ { ?company :hasStockPrice ?price3 }
  FILTER ( ?price2 < ?price1 * 0.7 && ?price3 > ?price2 * 1.05 && getDURATION() < "P30D"^^xsd:duration )
}
""",
    "2": """
SELECT ?company ?ratingagency
WHERE {
  { ?company :downratedBy ?ratingagency }
  OPTIONALSEQ {
    { ?company :hasStockPrice ?price1 }
    SEQ { ?company :hasStockPrice ?price2 }
    FILTER ( ?price2 < ?price1 * 0.5 )
  }
}
""",
    "3": """
SELECT ?company
WHERE {
  { { ?company :hasStockPrice ?price1 }
    SEQ { ?company :hasStockPrice ?price2 } }
  EQUALSOPTIONAL
  { { ?company :hasStockPrice ?price1 }
    SEQ { ?company :hasAcquired ?othercompany }
    SEQ { ?company :hasStockPrice ?price2 } }
  FILTER ( ?price2 > ?price1 * 1.5 && !BOUND(?othercompany) && getDURATION() < "P15D"^^xsd:duration )
}
""",
    "4": """
CONSTRUCT { ?company :downratedBy ?ratingagency }
WHERE {
  { ?ratingagency :publishes ?rating1 . ?rating1 :of ?company . ?rating1 :grade ?grade1 }
  SEQ { ?ratingagency :publishes ?rating2 . ?rating2 :of ?company . ?rating2 :grade ?grade2 }
  FILTER ( ?grade2 < ?grade1 )
}
""",
    "5": """
CONSTRUCT { _:aaa :hasCount ?count . _:aaa :hasSum ?sum }
{ SELECT ?count AS ?prevcount + 1
         ?sum AS ?prevsum + ?price
  { { { ?point :hasCount ?prevcount .
        ?point :hasSum ?prevsum . }
      SEQ { :ACME :hasStockPrice ?price . } }
    EQUALSOPTIONAL
    { { ?point :hasCount ?prevcount .
        ?point :hasSum ?prevsum . }
      SEQ { :ACME :hasStockPrice ?inbetween . }
      SEQ { :ACME :hasStockPrice ?price . } }
    FILTER ( !BOUND(?inbetween) &&
             getDURATION() < "P10D"^^xsd:duration ) } }
""",
    "6": """
SELECT ?sum / ?count AS ?average
WHERE { { :ACME :hasStockPrice ?price . }
        SEQ { ?point :hasCount ?count .
              ?point :hasSum ?sum . }
        EQUALSOPTIONAL
        { { :ACME :hasStockPrice ?price . }
          SEQ { :ACME :hasStockPrice ?inbetween . }
          SEQ { ?point :hasCount ?count .
                ?point :hasSum ?sum . } }
        FILTER ( !BOUND(?inbetween) &&
                 getDURATION() > "P10D"^^xsd:duration ) }
""",
}
# What (5) and (6) are for, with WITHIN.
AVERAGE_OF_ACME = """
SELECT (AVG(?price) AS ?average)
WHERE { :ACME :hasStockPrice ?price }
WITHIN "P10D"^^xsd:duration
"""


@pytest.mark.parametrize("query", PAPER)
@pytest.mark.parametrize("dialect", ["epsparql", "auto"])
def test_the_queries_of_the_paper(query: str, dialect: str) -> None:
    tree = parse(PREFIXES + PAPER[query], dialect)
    assert tree.dialect == "epsparql"
    assert tree.is_continuous


def test_the_names_of_5_come_first() -> None:
    form = detecting(PREFIXES + PAPER["5"]).form
    assert form.where is not None
    (select,) = form.where.elements
    assert isinstance(select, ast.SubSelect)
    assert select.query.projection == (
        ast.Projection(HERE, var("count"), call("+", var("prevcount"), number("1"))),
        ast.Projection(HERE, var("sum"), call("+", var("prevsum"), var("price"))),
    )
