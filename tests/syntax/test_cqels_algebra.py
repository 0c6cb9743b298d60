"""Texts in CQELS-QL, and the algebra and windows they must give."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Ask,
    Construct,
    Dataset,
    Distinct,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    Project,
    Select,
    StreamPattern,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.printer import show
from rheos.algebra.streams import AllWindow, CqelsQuery, LastWindow, RangeWindow, StreamClause
from rheos.errors import QuerySyntaxError, UnsupportedError
from rheos.syntax import parse
from tests.syntax.test_cqels import PAPER, PREFIXES

BASE = "http://ex/"


def translated(text: str, streams: Sequence[str] = (), name: str = "q") -> CqelsQuery:
    return translate_cqels(parse(f"PREFIX : <http://ex/> {text}", "cqels"), name, BASE, streams)


def where(text: str, streams: Sequence[str] = ()) -> tuple[Node, tuple[StreamClause, ...]]:
    """The pattern of WHERE without the projection of all its variables, and the windows."""
    found = translated(f"SELECT * WHERE {{ {text} }}", streams)
    assert isinstance(found.query.form, Select)
    assert isinstance(found.query.form.pattern, Project)
    return found.query.form.pattern.pattern, found.windows


def term(text: str) -> Term:
    return Variable(text[1:]) if text.startswith("?") else Constant(f"<http://ex/{text}>")


def triple(text: str) -> TriplePattern:
    subject, predicate, object_ = map(term, text.split())
    return TriplePattern(subject, predicate, object_)


def bgp(*triples: str) -> BGP:
    return BGP(tuple(map(triple, triples)))


def stream(window: int, text: str) -> StreamPattern:
    return StreamPattern(window, triple(text))


def clause(stream: str, window: RangeWindow | LastWindow | AllWindow, *triples: str) -> StreamClause:
    return StreamClause(f"<http://ex/{stream}>", window, tuple(map(triple, triples)))


NOW = RangeWindow(0)

# --- windows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("NOW", NOW),
        ("ALL", AllWindow()),
        ("TRIPLES 7", LastWindow(7)),
        ("RANGE 3s", RangeWindow(3_000_000)),
        ("RANGE 1m30s SLIDE 500ms", RangeWindow(90_000_000, 500_000)),
        ("RANGE 1ns", NOW),
    ],
)
@pytest.mark.parametrize("order", ["<s> [{}]", "[{}] <s>"])
def test_windows(text: str, window: RangeWindow, order: str) -> None:
    pattern, windows = where(f"STREAM {order.format(text)} {{ ?a :p ?b }}")
    assert pattern == stream(1, "?a p ?b")
    assert windows == (clause("s", window, "?a p ?b"),)


@pytest.mark.parametrize("name", ["<http://ex/s>", "<s>", ":s"])
def test_names_are_resolved(name: str) -> None:
    _, (window,) = where(f"STREAM {name} [NOW] {{ <a> :p ?b }}")
    assert window == clause("s", NOW, "a p ?b")


def test_names_are_resolved_with_the_base_of_the_text() -> None:
    query = parse("BASE <http://other/> ASK { STREAM <s> [NOW] { ?a ?b <c> } }", "cqels")
    (window,) = translate_cqels(query, "q", BASE, ()).windows
    assert window.stream == "<http://other/s>"
    assert window.patterns[0].object == Constant("<http://other/c>")


def test_an_unknown_prefix() -> None:
    query = parse("ASK {\n  STREAM ex:s [NOW] { ?a ?b ?c } }", "cqels")
    with pytest.raises(QuerySyntaxError, match="unknown prefix 'ex:'") as caught:
        translate_cqels(query, "q", BASE, ())
    assert (caught.value.line, caught.value.column) == (2, 10)


# --- patterns --------------------------------------------------------------------------------------


def test_a_clause_of_several_triples_is_one_window() -> None:
    pattern, windows = where("STREAM <s> [NOW] { ?a :p ?b . ?b :q ?c ; :r ?d }")
    first = Join(stream(1, "?a p ?b"), stream(1, "?b q ?c"))
    assert pattern == Join(first, stream(1, "?b r ?d"))
    assert windows == (clause("s", NOW, "?a p ?b", "?b q ?c", "?b r ?d"),)


def test_blank_nodes_are_variables() -> None:
    pattern, windows = where("STREAM <s> [NOW] { _:x :p [ :q ?b ] }")
    assert pattern == Join(stream(1, "?.x p ?..0"), stream(1, "?..0 q ?b"))
    found = translated("SELECT * { STREAM <s> [NOW] { _:x :p [ :q ?b ] } }").query.form
    assert isinstance(found, Select)
    assert found.variables == ("b",)
    assert [variable.name for variable in windows[0].patterns[0].terms if isinstance(variable, Variable)] == [
        ".x",
        "..0",
    ]


def test_two_clauses_are_two_windows_even_if_they_are_the_same() -> None:
    pattern, windows = where("STREAM <s> [NOW] { ?a :p ?b } STREAM <s> [NOW] { ?a :p ?b }")
    assert pattern == Join(stream(1, "?a p ?b"), stream(2, "?a p ?b"))
    assert windows == (clause("s", NOW, "?a p ?b"), clause("s", NOW, "?a p ?b"))


def test_static_triples_around_streams() -> None:
    pattern, _ = where(
        """?a :p ?b . ?b :p ?c
        STREAM <s> [NOW] { ?c :q ?d . ?d :q ?e } .
        ?e :p ?f .
        STREAM <s> [ALL] { ?f :q ?g }
        ?g :p ?h . ?h :p ?i FILTER(?i) ?i :p ?j"""
    )
    assert isinstance(pattern, Filter)
    found: Node = Join(bgp("?a p ?b", "?b p ?c"), Join(stream(1, "?c q ?d"), stream(1, "?d q ?e")))
    found = Join(Join(found, bgp("?e p ?f")), stream(2, "?f q ?g"))
    assert pattern.pattern == Join(found, bgp("?g p ?h", "?h p ?i", "?i p ?j"))


def test_a_stream_before_static_triples() -> None:
    pattern, _ = where("STREAM <s> [NOW] { ?a :q ?b } ?b :p ?c . ?c :p ?d")
    assert pattern == Join(stream(1, "?a q ?b"), bgp("?b p ?c", "?c p ?d"))


def test_streams_inside_other_patterns() -> None:
    pattern, windows = where(
        """?a :p ?b
        OPTIONAL { STREAM <s> [NOW] { ?a :q ?c } FILTER(?c) }
        MINUS { STREAM <s> [TRIPLES 2] { ?a :q ?d } }
        { STREAM <t> [ALL] { ?a :q ?e } } UNION { ?a :p ?f }
        GRAPH <g> { ?a :p ?g }"""
    )
    optional = LeftJoin(bgp("?a p ?b"), stream(1, "?a q ?c"), Variable("c"))
    either = Union(stream(3, "?a q ?e"), bgp("?a p ?f"))
    joined = Join(Minus(optional, stream(2, "?a q ?d")), either)
    assert pattern == Join(joined, Graph(term("g"), bgp("?a p ?g")))
    assert windows == (
        clause("s", NOW, "?a q ?c"),
        clause("s", LastWindow(2), "?a q ?d"),
        clause("t", AllWindow(), "?a q ?e"),
    )


def test_numbers_follow_the_text_and_not_the_translation() -> None:
    found = translated(
        """SELECT (EXISTS { STREAM <a> [NOW] { ?x :p ?a } } AS ?e) {
          { SELECT ?x { STREAM <b> [NOW] { ?x :p ?b } } ORDER BY (EXISTS { STREAM <c> [NOW] { ?x :p ?c } }) }
          FILTER NOT EXISTS { STREAM <d> [NOW] { ?x :p ?d } }
          STREAM <e> [NOW] { ?x :p ?f }
        }"""
    )
    assert [window.stream for window in found.windows] == [f"<http://ex/{name}>" for name in "abcde"]
    shown = show(found.query)
    for number, variable in enumerate("abcdf", 1):
        assert f"(stream {number} (?x <http://ex/p> ?{variable}))" in shown


# --- forms and names -------------------------------------------------------------------------------


def test_forms() -> None:
    body = "STREAM <s> [NOW] { ?a :p ?b }"
    inner = stream(1, "?a p ?b")
    projected = Project(inner, (Variable("a"), Variable("b")))
    assert translated(f"ASK {{ {body} }}").query.form == Ask(projected)
    constructed = translated(f"CONSTRUCT {{ ?a :of ?b }} {{ {body} }}").query.form
    assert constructed == Construct(projected, (triple("?a of ?b"),))
    distinct = translated(f"SELECT DISTINCT ?a {{ {body} }}").query.form
    assert distinct == Select(Distinct(Project(inner, (Variable("a"),))), ("a",))


def test_the_dataset() -> None:
    found = translated("ASK FROM <g> FROM NAMED :h { STREAM <s> [NOW] { ?a ?b ?c } }").query
    assert found.dataset == Dataset(("<http://ex/g>",), ("<http://ex/h>",))
    assert translated("ASK { STREAM <s> [NOW] { ?a ?b ?c } }").query.dataset is None


@pytest.mark.parametrize(
    ("registration", "name", "makes_stream"),
    [
        ("", "given", False),
        ("REGISTER QUERY q AS", "q", False),
        ("REGISTER STREAM q AS", "q", True),
        ("REGISTER STREAM <http://ex/q> AS", "http://ex/q", True),
    ],
)
def test_names_of_queries(registration: str, name: str, makes_stream: bool) -> None:
    text = f"{registration} CONSTRUCT {{ }} {{ STREAM <s> [NOW] {{ ?a ?b ?c }} }}"
    found = translated(text, name="given")
    assert (found.name, found.makes_stream) == (name, makes_stream)


# --- a variable as the name of a stream ------------------------------------------------------------


def named(pattern: Node, variable: str, stream: str) -> Join:
    return Join(pattern, Values((Variable(variable),), ((f"<http://ex/{stream}>",),)))


def test_a_variable_ranges_over_the_streams() -> None:
    pattern, windows = where(
        "STREAM ?s [NOW] { ?a :p ?b . ?b :q ?c } STREAM <s> [ALL] { ?a :p ?b }",
        ["http://ex/s", "http://ex/t", "http://ex/u"],
    )
    options = [
        named(Join(stream(number, "?a p ?b"), stream(number, "?b q ?c")), "s", name)
        for number, name in ((1, "s"), (2, "t"), (3, "u"))
    ]
    assert pattern == Join(Union(Union(options[0], options[1]), options[2]), stream(4, "?a p ?b"))
    assert windows == (
        *(clause(name, NOW, "?a p ?b", "?b q ?c") for name in "stu"),
        clause("s", AllWindow(), "?a p ?b"),
    )


def test_a_variable_with_one_stream() -> None:
    pattern, windows = where("STREAM ?s [NOW] { ?a :p ?s }", ["http://ex/t", "http://ex/t"])
    assert pattern == named(stream(1, "?a p ?s"), "s", "t")
    assert windows == (clause("t", NOW, "?a p ?s"),)


def test_the_variable_is_one_of_the_answer() -> None:
    found = translated("SELECT * { STREAM ?s [NOW] { ?a :p ?b } }", ["http://ex/t"]).query.form
    assert isinstance(found, Select)
    assert found.variables == ("s", "a", "b")


def test_a_variable_without_streams() -> None:
    query = parse("ASK {\n STREAM <s> [NOW] { ?a ?b ?c }\n STREAM ?who [NOW] { ?a ?b ?c } }", "cqels")
    with pytest.raises(QuerySyntaxError, match=r"nothing can bind \?who: there is no stream") as caught:
        translate_cqels(query, "q", BASE, ())
    assert (caught.value.line, caught.value.column) == (3, 9)


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SERVICE <x> { STREAM <s> [NOW] { ?a ?b ?c } }", "SERVICE is not supported"),
        ("STREAM <s> [NOW] { ?a ?b ?c } FILTER(:nothing(?a))", "unknown function <http://ex/nothing>"),
        (
            "STREAM <s> [NOW] { ?a ?b ?c } "
            "FILTER(<http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?a, ?b, ?c) > 1)",
            "the timestamp of a triple is for queries in C-SPARQL",
        ),
    ],
)
def test_what_is_not_supported(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        where(text)


# --- the queries of the paper ----------------------------------------------------------------------


@pytest.mark.parametrize("query", PAPER)
def test_the_queries_of_the_paper(query: str) -> None:
    tree = parse(PREFIXES + PAPER[query], "auto")
    found = translate_cqels(tree, query, BASE, ())
    assert {window.stream for window in found.windows} == {"<http://deri.org/streams/rfid>"}
    assert len(found.windows) == (1 if query == "Q1" else 2)


def test_the_algebra_of_q5() -> None:
    tree = parse(PREFIXES + PAPER["Q5"], "auto")
    shown = show(translate_cqels(tree, "Q5", BASE, ()).query)
    for namespace, prefix in (
        ("http://deri.org/floorplan/", "lv"),
        ("http://purl.org/dc/elements/1.1/", "dc"),
        ("http://xmlns.com/foaf/0.1/", "foaf"),
    ):
        shown = shown.replace(f"<{namespace}>", f"{prefix}:").replace(f"<{namespace}", f"<{prefix}:")
    assert shown.split("\n") == [
        "(dataset (default ) (named lv:)",
        "  (select (?loc2 ?locName ?noCoAuths)",
        "    (project (?loc2 ?locName ?noCoAuths)",
        "      (extend (?noCoAuths ?.aggregate1)",
        "        (group (?loc2 ?locName) ((?.aggregate1 (count distinct ?coAuth)))",
        "          (filter (!= ?auth ?coAuth)",
        "            (join",
        "              (join",
        "                (join",
        "                  (stream 1 (?auth <lv:detectedAt> ?loc1))",
        "                  (stream 2 (?coAuth <lv:detectedAt> ?loc2)))",
        "                (graph lv:",
        "                  (bgp (?loc2 <lv:name> ?locName)",
        "                       (?loc2 <lv:connected> ?loc1))))",
        "              (bgp (?paper <dc:creator> ?auth)",
        "                   (?paper <dc:creator> ?coAuth)",
        '                   (?auth <foaf:name> "$Name$")))))))))',
    ]
