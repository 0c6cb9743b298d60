"""Texts in EP-SPARQL, and the algebra they must give."""

from __future__ import annotations

import pytest

from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.expressions import Aggregate, Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Ask,
    Construct,
    Dataset,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    Order,
    OrderBy,
    Project,
    Recent,
    Select,
    SeqJoin,
    SeqRightJoin,
    Term,
    TriplePattern,
    Union,
)
from rheos.algebra.printer import show
from rheos.algebra.streams import EPSparqlQuery
from rheos.errors import QuerySyntaxError, UnsupportedError
from rheos.syntax import parse
from tests.syntax.test_epsparql import AVERAGE_OF_ACME, DAY, PAPER, PREFIXES

BASE = "http://ex/"
XSD = "http://www.w3.org/2001/XMLSchema#"


def translated(text: str, name: str = "q") -> EPSparqlQuery:
    tree = parse(f"PREFIX : <http://ex/> PREFIX xsd: <{XSD}> {text}", "epsparql")
    return translate_epsparql(tree, name, BASE)


def where(text: str) -> Node:
    """The pattern of WHERE without the projection of all its variables."""
    found = translated(f"SELECT * WHERE {{ {text} }}").query.form
    assert isinstance(found, Select)
    assert isinstance(found.pattern, Project)
    return found.pattern.pattern


def term(text: str) -> Term:
    return Variable(text[1:]) if text.startswith("?") else Constant(f"<http://ex/{text}>")


def bgp(*triples: str) -> BGP:
    return BGP(tuple(TriplePattern(*map(term, triple.split())) for triple in triples))


def compared(operator: str, left: str, right: str) -> Call:
    return Call(operator, (Variable(left), Variable(right)))


DURATION = Call("DURATION", ())


def shorter(length: str, kind: str = "duration") -> Call:
    return Call("<", (DURATION, Constant(f'"{length}"^^<{XSD}{kind}>')))


A, B, C, D = (bgp(f"?{letter} p ?o") for letter in "abcd")
TEXTS = {letter.upper(): f"{{ ?{letter} :p ?o }}" for letter in "abcd"}


def groups(text: str) -> Node:
    """The same of a text in which A to D stand for groups of one triple pattern."""
    return where(" ".join(TEXTS.get(word, word) for word in text.split()))


# --- operators -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A SEQ B", SeqJoin(A, B)),
        ("A EQUALS B", EqJoin(A, B)),
        ("A OPTIONALSEQ B", SeqRightJoin(A, B)),
        ("A EQUALSOPTIONAL B", EqLeftJoin(A, B)),
        ("A SEQ B SEQ C", SeqJoin(SeqJoin(A, B), C)),
        ("A SEQ { B SEQ C }", SeqJoin(A, SeqJoin(B, C))),
        ("A UNION B SEQ C", SeqJoin(Union(A, B), C)),
        ("A SEQ B UNION C", Union(SeqJoin(A, B), C)),
        ("A SEQ B UNION C EQUALS D", EqJoin(Union(SeqJoin(A, B), C), D)),
        ("A OPTIONALSEQ B OPTIONALSEQ C", SeqRightJoin(SeqRightJoin(A, B), C)),
        ("A EQUALSOPTIONAL B SEQ C", SeqJoin(EqLeftJoin(A, B), C)),
    ],
)
def test_operators(text: str, expected: Node) -> None:
    assert groups(text) == expected


X = compared(">", "a", "o")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The group around a chain is folded as in SPARQL.
        ("?c :p ?o . A SEQ B", Join(C, SeqJoin(A, B))),
        ("A SEQ B ?c :p ?o", Join(SeqJoin(A, B), C)),
        ("A SEQ B . ?c :p ?o . ?d :p ?o", Join(SeqJoin(A, B), bgp("?c p ?o", "?d p ?o"))),
        ("A SEQ B C SEQ D", Join(SeqJoin(A, B), SeqJoin(C, D))),
        ("A SEQ B OPTIONAL C", LeftJoin(SeqJoin(A, B), C)),
        ("?c :p ?o OPTIONAL { A SEQ B }", LeftJoin(C, SeqJoin(A, B))),
        ("?c :p ?o OPTIONAL { A SEQ B FILTER(?a > ?o) }", LeftJoin(C, SeqJoin(A, B), X)),
        ("A SEQ B MINUS C", Minus(SeqJoin(A, B), C)),
        ("A SEQ B GRAPH :g C", Join(SeqJoin(A, B), Graph(term("g"), C))),
        ("A SEQ B BIND(?a > ?o AS ?x) ?c :p ?o", Join(Extend(SeqJoin(A, B), Variable("x"), X), C)),
        # A filter is of the group that it stands in, wherever it stands there.
        ("A SEQ B FILTER(?a > ?o)", Filter(X, SeqJoin(A, B))),
        ("FILTER(?a > ?o) A SEQ B SEQ C", Filter(X, SeqJoin(SeqJoin(A, B), C))),
        ("A SEQ B FILTER(?a > ?o) ?c :p ?o", Filter(X, Join(SeqJoin(A, B), C))),
        ("{ A SEQ B FILTER(?a > ?o) } SEQ C", SeqJoin(Filter(X, SeqJoin(A, B)), C)),
        ("{ ?a :p ?o FILTER(?a > ?o) } SEQ B", SeqJoin(Filter(X, A), B)),
        ("B EQUALS { ?a :p ?o FILTER(?a > ?o) }", EqJoin(B, Filter(X, A))),
        # In an optional operand it becomes the condition.
        ("{ ?a :p ?o FILTER(?a > ?o) } OPTIONALSEQ B", SeqRightJoin(A, B, X)),
        ("B EQUALSOPTIONAL { ?a :p ?o FILTER(?a > ?o) }", EqLeftJoin(B, A, X)),
        ("B EQUALSOPTIONAL { A SEQ C FILTER(?a > ?o) }", EqLeftJoin(B, SeqJoin(A, C), X)),
        ("{ { ?a :p ?o FILTER(?a > ?o) } } OPTIONALSEQ B", SeqRightJoin(Filter(X, A), B)),
        # In the other one it does not, nor in a chain.
        ("B OPTIONALSEQ { ?a :p ?o FILTER(?a > ?o) }", SeqRightJoin(B, Filter(X, A))),
        ("{ ?a :p ?o FILTER(?a > ?o) } EQUALSOPTIONAL B", EqLeftJoin(Filter(X, A), B)),
        ("{ ?a :p ?o FILTER(?a > ?o) } SEQ B OPTIONALSEQ C", SeqRightJoin(SeqJoin(Filter(X, A), B), C)),
        ("{ ?a :p ?o FILTER(?a > ?o) } UNION B OPTIONALSEQ C", SeqRightJoin(Union(Filter(X, A), B), C)),
    ],
)
def test_groups(text: str, expected: Node) -> None:
    assert groups(text) == expected


def test_two_filters_are_one_condition() -> None:
    found = groups("{ ?a :p ?o FILTER(?a > ?o) FILTER(?b > ?o) } OPTIONALSEQ B")
    assert found == SeqRightJoin(A, B, Call("&&", (X, compared(">", "b", "o"))))


def test_a_sub_select_as_an_operand() -> None:
    found = groups("{ SELECT ?a { ?a :p ?o FILTER(?a > ?o) } } OPTIONALSEQ B")
    assert found == SeqRightJoin(Project(Filter(X, A), (Variable("a"),)), B)


# --- functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('FILTER(getDURATION() < "P1D"^^xsd:duration)', Filter(shorter("P1D"), A)),
        (
            'FILTER(getduration() < "PT1H"^^xsd:dayTimeDuration)',
            Filter(shorter("PT1H", "dayTimeDuration"), A),
        ),
        (
            "FILTER(getENDTIME() > getSTARTTIME())",
            Filter(Call(">", (Call("ENDTIME", ()), Call("STARTTIME", ()))), A),
        ),
        ("BIND(getDURATION() AS ?d)", Extend(A, Variable("d"), DURATION)),
    ],
)
def test_functions(text: str, expected: Node) -> None:
    assert where(f"?a :p ?o {text}") == expected


def test_the_interval_is_of_the_pattern_that_the_filter_stands_in() -> None:
    inner = 'A SEQ B FILTER(getDURATION() < "P1D"^^xsd:duration)'
    found = groups(f'{{ {inner} }} SEQ C FILTER(getDURATION() < "P2D"^^xsd:duration)')
    assert found == Filter(shorter("P2D"), SeqJoin(Filter(shorter("P1D"), SeqJoin(A, B)), C))


def test_in_select_and_order_by_it_is_of_the_whole() -> None:
    found = translated("SELECT (getDURATION() AS ?d) { ?a :p ?o } ORDER BY getENDTIME()").query.form.pattern
    ordered = OrderBy(Extend(A, Variable("d"), DURATION), (Order(Call("ENDTIME", ())),))
    assert found == Project(ordered, (Variable("d"),))


# --- WITHIN ----------------------------------------------------------------------------------------


def aggregated(text: str) -> Node:
    return translated(text).query.form.pattern


def recent(
    pattern: Node, within: int, group: str, *aggregates: tuple[str, Expression | None], distinct: bool = False
) -> Recent:
    found = tuple(
        (Variable(f".aggregate{number}"), Aggregate(name, argument, distinct))
        for number, (name, argument) in enumerate(aggregates, 1)
    )
    return Recent(pattern, within, tuple(map(Variable, group.split())), found)


def test_within() -> None:
    found = aggregated(
        "SELECT ?a (AVG(?o) AS ?average) (COUNT(*) AS ?n) { ?a :p ?o }"
        ' GROUP BY ?a WITHIN "P10D"^^xsd:duration HAVING(COUNT(*) > 3)'
    )
    three = Constant(f'"3"^^<{XSD}integer>')
    rows = recent(A, 10 * DAY, "a", ("COUNT", None), ("AVG", Variable("o")))
    many = Filter(Call(">", (Variable(".aggregate1"), three)), rows)
    average = Extend(many, Variable("average"), Variable(".aggregate2"))
    counted = Extend(average, Variable("n"), Variable(".aggregate1"))
    assert found == Project(counted, (Variable("a"), Variable("average"), Variable("n")))


def names(node: Node) -> list[str]:
    """The operators from the outermost to the innermost, of a pattern without branches."""
    found = [type(node).__name__]
    while hasattr(node, "pattern"):
        node = node.pattern
        found.append(type(node).__name__)
    return found


def test_within_without_keys() -> None:
    found = aggregated("SELECT (MAX(getDURATION()) AS ?m) { { ?a :p ?o } SEQ { ?b :p ?o } } WITHIN 1h30m")
    inner = recent(SeqJoin(A, B), 5_400_000_000, "", ("MAX", DURATION))
    assert found == Project(Extend(inner, Variable("m"), Variable(".aggregate1")), (Variable("m"),))


def test_after_within_the_interval_is_of_the_row() -> None:
    found = aggregated(
        "SELECT ?a (getDURATION() AS ?d) { ?a :p ?o }"
        ' GROUP BY ?a WITHIN 1d HAVING(COUNT(*) > 1 || getDURATION() < "P1D"^^xsd:duration)'
    )
    one = Constant(f'"1"^^<{XSD}integer>')
    having = Call("||", (Call(">", (Variable(".aggregate1"), one)), shorter("P1D")))
    rows = Filter(having, recent(A, DAY, "a", ("COUNT", None)))
    assert found == Project(Extend(rows, Variable("d"), DURATION), (Variable("a"), Variable("d")))


def test_keys_that_are_expressions() -> None:
    keys = "GROUP BY (getDURATION() AS ?d) WITHIN 1d"
    found = aggregated(f"SELECT ?d (COUNT(DISTINCT ?o) AS ?n) {{ ?a :p ?o }} {keys}")
    keyed = Extend(A, Variable("d"), DURATION)
    inner = recent(keyed, DAY, "d", ("COUNT", Variable("o")), distinct=True)
    projected = Extend(inner, Variable("n"), Variable(".aggregate1"))
    assert found == Project(projected, (Variable("d"), Variable("n")))


def test_within_in_a_rule_and_in_a_sub_select() -> None:
    rule = translated("CONSTRUCT { ?a :many true } { ?a :p ?o } GROUP BY ?a WITHIN 1d HAVING(COUNT(*) > 3)")
    assert isinstance(rule.query.form, Construct)
    assert names(rule.query.form.pattern) == ["Project", "Filter", "Recent", "BGP"]
    found = where("{ SELECT (COUNT(*) AS ?n) { ?a :p ?o } WITHIN 1d } SEQ { ?b :p ?o }")
    assert isinstance(found, SeqJoin)
    assert names(found.left) == ["Project", "Extend", "Recent", "BGP"]


def test_static_data_is_grouped_as_in_sparql() -> None:
    found = where("?a :p ?o { SELECT (COUNT(*) AS ?n) { GRAPH :g { ?b :p ?o } } }")
    assert isinstance(found, Join)
    assert names(found.right) == ["Project", "Extend", "Group", "Graph", "BGP"]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ('"P10D"^^xsd:duration', 10 * DAY),
        ('"P1DT12H"^^xsd:dayTimeDuration', DAY + DAY // 2),
        ('"PT0.000001S"^^xsd:duration', 1),
        (f'"PT1M"^^<{XSD}duration>', 60_000_000),
        ("1d12h", DAY + DAY // 2),
    ],
)
def test_lengths_of_within(length: str, expected: int) -> None:
    found = aggregated(f"ASK {{ ?a :p ?o }} WITHIN {length} HAVING(COUNT(*) > 1)")
    assert isinstance(found, Project)
    assert isinstance(found.pattern, Filter)
    assert isinstance(found.pattern.pattern, Recent)
    assert found.pattern.pattern.within == expected


# --- the query -------------------------------------------------------------------------------------


def test_names_streams_and_consumption() -> None:
    plain = translated("ASK { ?a :p ?o }", "name")
    assert plain == EPSparqlQuery("name", plain.query)
    assert plain.query.form == Ask(Project(A, (Variable("a"), Variable("o"))))
    assert plain.streams is None
    text = "REGISTER STREAM Falls CONSUMPTION CHRONOLOGICAL AS CONSTRUCT { ?a :q ?o } FROM STREAM :s"
    rule = translated(f"{text} FROM STREAM <t> FROM STREAM <s> {{ ?a :p ?o }}", "name")
    assert rule.name == "Falls"
    assert rule.streams == ("<http://ex/s>", "<http://ex/t>")
    assert rule.makes_stream
    assert rule.consumption == "chronological"
    assert not translated("REGISTER QUERY q AS CONSTRUCT { ?a :q ?o } { ?a :p ?o }").makes_stream


def test_the_data_set() -> None:
    assert translated("ASK FROM STREAM :s { ?a :p ?o }").query.dataset is None
    both = translated("ASK FROM :g FROM STREAM :s FROM NAMED :h { ?a :p ?o }").query.dataset
    assert both == Dataset(("<http://ex/g>",), ("<http://ex/h>",))
    named = translated("ASK FROM NAMED :h { ?a :p ?o }").query.dataset
    assert named == Dataset((), ("<http://ex/h>",), keeps_default=True)


def test_distinct() -> None:
    found = aggregated("SELECT DISTINCT ?a { ?a :p ?o }")
    assert found == Distinct(Project(A, (Variable("a"),)))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("ASK FROM STREAM ex:s { ?a :p ?o }", QuerySyntaxError, "unknown prefix 'ex:'"),
        ("ASK { ?a :p ?o SERVICE <x> { } }", UnsupportedError, "SERVICE is not supported"),
        ("ASK { ?a :p ?o FILTER(:f(?a)) }", UnsupportedError, "unknown function <http://ex/f>"),
        ('ASK { ?a :p ?o FILTER(getDURATION() < "P1D"^^ex:d) }', QuerySyntaxError, "unknown prefix 'ex:'"),
    ],
)
def test_what_only_resolved_names_show(text: str, error: type[QuerySyntaxError], message: str) -> None:
    with pytest.raises(error) as caught:
        translated(text)
    assert caught.value.message.startswith(message)


# --- the queries of the paper ----------------------------------------------------------------------


def paper(text: str) -> str:
    query = translate_epsparql(parse(PREFIXES + text, "auto"), "q", BASE).query
    return show(query).replace("http://ex/", "")


def test_query_2() -> None:
    assert paper(PAPER["2"]).split("\n") == [
        "(select (?company ?ratingagency)",
        "  (project (?company ?ratingagency)",
        "    (seqrightjoin",
        "      (bgp (?company <downratedBy> ?ratingagency))",
        '      (filter (< ?price2 (* ?price1 "0.5"^^xsd:decimal))',
        "        (seqjoin",
        "          (bgp (?company <hasStockPrice> ?price1))",
        "          (bgp (?company <hasStockPrice> ?price2)))))))",
    ]


def test_query_6() -> None:
    assert paper(PAPER["6"]).split("\n") == [
        "(select (?average)",
        "  (project (?average)",
        "    (extend (?average (/ ?sum ?count))",
        '      (filter (&& (! (bound ?inbetween)) (> (duration) "P10D"^^xsd:duration))',
        "        (eqleftjoin",
        "          (seqjoin",
        "            (bgp (<ACME> <hasStockPrice> ?price))",
        "            (bgp (?point <hasCount> ?count)",
        "                 (?point <hasSum> ?sum)))",
        "          (seqjoin",
        "            (seqjoin",
        "              (bgp (<ACME> <hasStockPrice> ?price))",
        "              (bgp (<ACME> <hasStockPrice> ?inbetween)))",
        "            (bgp (?point <hasCount> ?count)",
        "                 (?point <hasSum> ?sum))))))))",
    ]


def test_the_average_with_within() -> None:
    assert paper(AVERAGE_OF_ACME).split("\n") == [
        "(select (?average)",
        "  (project (?average)",
        "    (extend (?average ?.aggregate1)",
        "      (recent 864000000000µs () ((?.aggregate1 (avg ?price)))",
        "        (bgp (<ACME> <hasStockPrice> ?price))))))",
    ]


def test_conditions_are_shown() -> None:
    assert show(translated("ASK { { ?a :p ?o FILTER(?o > ?a) } OPTIONALSEQ { ?b :p ?o } }").query).split(
        "\n"
    ) == [
        "(ask",
        "  (project (?a ?o ?b)",
        "    (seqrightjoin (> ?o ?a)",
        "      (bgp (?a <http://ex/p> ?o))",
        "      (bgp (?b <http://ex/p> ?o)))))",
    ]
