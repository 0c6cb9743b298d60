"""Where one token ends and the next begins."""

from __future__ import annotations

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import ast, parse
from tests.syntax.test_tree import (
    call,
    expression,
    iri,
    link,
    name,
    number,
    select,
    text,
    triple,
    triples,
    var,
)


def check(source: str, object: ast.Term | None) -> None:
    """The text is this term, or none at all."""
    pattern = f"?s ?p {source}"
    if object is None:
        with pytest.raises(QuerySyntaxError):
            triples(pattern)
    else:
        assert triples(pattern) == [triple(var("s"), var("p"), object)]


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("?a<?b", call("<", var("a"), var("b"))),
        ("?a<?b && ?c>?d", call("&&", call("<", var("a"), var("b")), call(">", var("c"), var("d")))),
        ("?a<=?b", call("<=", var("a"), var("b"))),
        ("?a!=<b>", call("!=", var("a"), iri("b"))),
        ("1<2", call("<", number("1"), number("2"))),
        ("?a=-1", call("=", var("a"), number("-1"))),
        ("?a*-1", call("*", var("a"), number("-1"))),
        ("?a+-1", call("+", var("a"), number("-1"))),
        ("?a-?b", call("-", var("a"), var("b"))),
        ("?a-1", call("-", var("a"), number("1"))),
        ("1NOT IN(2)", call("NOT IN", number("1"), number("2"))),
        ("!true", call("!", number("true", "boolean"))),
        ("TRUE", number("true", "boolean")),
        ("$a+$b", call("+", var("a"), var("b"))),
    ],
)
def test_operators(source: str, tree: ast.Expression) -> None:
    assert expression(source) == tree


def test_the_longest_token_wins() -> None:
    with pytest.raises(QuerySyntaxError, match="reads as an IRI here"):
        parse("ASK { FILTER(?a<?b&&?c>?d) }")


@pytest.mark.parametrize(
    ("source", "object"),
    [
        ("1.", number("1")),
        ("1 .", number("1")),
        (".5", number(".5", "decimal")),
        ("1.5.", number("1.5", "decimal")),
        ("1.e5", number("1.e5", "double")),
        ("1e-5", number("1e-5", "double")),
        (".5E+1.", number(".5E+1", "double")),
        ("+1", number("+1")),
        ("-1.0", number("-1.0", "decimal")),
        ("ex:a.", name("ex:a")),
        ("ex:a.b", name("ex:a.b")),
        ("ex:a..b.", name("ex:a..b")),
        (":a:b", name(":a:b")),
        (":", name(":")),
        ("::", name("::")),
        ("ex:", name("ex:")),
        ("a.b-c:d-e", name("a.b-c:d-e")),
        ("ex:1a", name("ex:1a")),
        ("ex:-a", None),
        (r"ex:a\,b\.", name("ex:a,b.")),
        ("ex:a%20b", name("ex:a%20b")),
        (r"ex:\~a\%41", name("ex:~a%41")),
        ("食べる:海老", name("食べる:海老")),
        ("ex:été", name("ex:été")),
        ("_:a.", ast.BlankNode(var("x").position, "a")),
        ("_:1.b", ast.BlankNode(var("x").position, "1.b")),
        ("<>", iri("")),
        ("<#x>", iri("#x")),
        ("'a'", text("a")),
        ('""', text("")),
        ("''''a'b''c'''", text("'a'b''c")),
        ('"""a"b\n\\""""', text('a"b\n"')),
        (r'"\t\b\n\r\f\\\"\'"', text("\t\b\n\r\f\\\"'")),
        ('"a"@en-GB', ast.Literal(var("x").position, "a", language="en-GB")),
        ('"1"^^ex:int', ast.Literal(var("x").position, "1", datatype=name("ex:int"))),
        ('"1" ^^ <int>', ast.Literal(var("x").position, "1", datatype=iri("int"))),
        ("false", number("false", "boolean")),
        ("?été_1", var("été_1")),
    ],
)
def test_terms(source: str, object: ast.Term | None) -> None:
    check(source, object)


@pytest.mark.parametrize(
    ("source", "predicate"),
    [
        ("ex:p? ?o", ast.PathRepeat(var("x").position, link("ex:p"), "?")),
        ("ex:p??o", ast.PathRepeat(var("x").position, link("ex:p"), "?")),
        ("ex:p?o", name("ex:p")),
        ("<p>*?o", ast.PathRepeat(var("x").position, ast.Link(var("x").position, iri("p")), "*")),
    ],
)
def test_path_signs_before_a_variable(source: str, predicate: ast.Path) -> None:
    assert triples(f"?s {source}") == [triple(var("s"), predicate, var("o"))]


def test_keywords_are_names_where_a_name_may_stand() -> None:
    source = """
        PREFIX select: <s> PREFIX a: <a> PREFIX where: <w>
        SELECT ?select ?filter ?group
        WHERE { ?select select:where ?filter ; a:a a:filter ; where:from true:false . ?filter a ?group
                FILTER filter:f(?group) }
        GROUP BY ?select limit:offset(?filter) ?filter ?group ORDER BY asc:desc(?filter) desc:(1)"""
    form = select(source)
    assert len(form.modifiers.group_by) == 4
    assert len(form.modifiers.order_by) == 2


@pytest.mark.parametrize(
    "source",
    [
        "select*where{?s?p?o}order by?s limit 1offset 2",
        "SELECT(1AS?x){}",
        "ASK{?s a<C>}",
        "ASK{<a><b><c>.<d><e>1}",
        "SELECT * {} ORDERBY ?x LIMIT10",
        "ASK { FILTEREXISTS{} FILTER(?x NOTIN()) }",
    ],
)
def test_no_space_is_needed_between_tokens(source: str) -> None:
    parse(source)


def test_comments_and_line_ends() -> None:
    source = (
        '# first\r\nASK # <not an IRI> "not a string\n'
        "{ <a#b> ?p '#' , ( # in brackets\r 1 # two\r\n), [ # x\n] }#end"
    )
    form = parse(source).form
    assert isinstance(form, ast.AskQuery)
    (block,) = form.where.elements
    assert isinstance(block, ast.Triples)
    assert block.triples[0].subject == iri("a#b")
    assert block.triples[0].object == text("#")
    assert len(block.triples) == 5


def test_a_comment_ends_with_its_line() -> None:
    assert len(triples("?s ?p ?o # ?a\r. # ?b\n?x ?y ?z")) == 2


# --- codepoint escapes (19.2) ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "object"),
    [
        (r'"\u0041\U0001F46A"', text("A👪")),
        (r"<\u0078>", iri("x")),
        (r"e\u0078:\u00E9", name("ex:é")),
        (r"?\u0061b", var("ab")),
        (r'"\\u0041"', text(r"\u0041")),
        (r'"\\\u0041"', text("\\A")),
        (r'"\u00"', None),
        (r'"\uD83D\uDC6A"', None),
        (r'"\U00110000"', None),
        (r'"\u0022"', None),
        (r"<a\u0020b>", None),
    ],
)
def test_codepoint_escapes(source: str, object: ast.Term | None) -> None:
    check(source, object)


def test_an_escape_may_stand_anywhere() -> None:
    query = parse(r"SEL\u0045CT * {\u007D")
    assert query.text == "SELECT * {}"


def test_a_byte_order_mark_is_left_out() -> None:
    assert parse("\ufeffASK {}").text == "ASK {}"


# --- names beyond ASCII ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ["?x·", "?x\u0301", "?x‿y", "ex:a·b", "_:a·", "?\U00010000", "é·:a", "?\u200d"]
)
def test_characters_allowed_in_names(source: str) -> None:
    parse(f"ASK {{ {source} ?p ?o }}")


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("?·x", 8),
        ("?a\u00d7", 9),
        ("ex:·", 10),
        ("ex:a÷b", 11),
        ("_:\u0301", 9),
        ("·:a", 7),
        ("?x\u00a0", 9),
        ("?☃", 8),
    ],
)
def test_characters_not_allowed_in_names(source: str, column: int) -> None:
    with pytest.raises(QuerySyntaxError, match="is not allowed") as caught:
        parse(f"ASK {{ {source} ?p ?o }}")
    assert (caught.value.line, caught.value.column) == (1, column)
