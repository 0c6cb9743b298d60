"""Texts and the trees they must give; equality of nodes leaves their positions out."""

from __future__ import annotations

import pytest

from rheos.errors import Position
from rheos.syntax import ast, parse
from rheos.terms import RDF, XSD

HERE = Position(1, 1)


def var(name: str) -> ast.Var:
    return ast.Var(HERE, name)


def iri(value: str) -> ast.Iri:
    return ast.Iri(HERE, value)


def name(text: str) -> ast.PrefixedName:
    prefix, _, local = text.partition(":")
    return ast.PrefixedName(HERE, prefix, local)


def number(lexical: str, datatype: str = "integer") -> ast.Literal:
    return ast.Literal(HERE, lexical, iri(XSD + datatype))


def text(lexical: str) -> ast.Literal:
    return ast.Literal(HERE, lexical)


def call(function: str, *arguments: ast.Expression) -> ast.Call:
    return ast.Call(HERE, function, arguments)


def link(text: str) -> ast.Link:
    return ast.Link(HERE, name(text))


def anonymous(index: int) -> ast.BlankNode:
    return ast.BlankNode(HERE, f".{index}")


def triple(subject: ast.Term, predicate: ast.Var | ast.Name | ast.Path, object: ast.Term) -> ast.Triple:
    return ast.Triple(HERE, subject, predicate, object)


def elements(pattern: str) -> tuple[ast.Pattern, ...]:
    return parse(f"SELECT * WHERE {{ {pattern} }}").form.where.elements  # type: ignore[union-attr]


def triples(pattern: str) -> list[ast.Triple]:
    (block,) = elements(pattern)
    assert isinstance(block, ast.Triples)
    return list(block.triples)


def expression(source: str) -> ast.Expression:
    (element,) = elements(f"BIND({source} AS ?result)")
    assert isinstance(element, ast.Bind)
    return element.expression


def select(source: str) -> ast.SelectQuery:
    form = parse(source).form
    assert isinstance(form, ast.SelectQuery)
    return form


# --- the query as a whole --------------------------------------------------------------------------


def test_prologue_and_dataset() -> None:
    source = "BASE <http://b/> PREFIX ex: <e#> PREFIX : <d> SELECT * FROM <g> FROM NAMED ex:n {}"
    query = parse(source)
    assert query.text == source
    assert query.prologue == (
        ast.Base(HERE, iri("http://b/")),
        ast.Prefix(HERE, "ex", iri("e#")),
        ast.Prefix(HERE, "", iri("d")),
    )
    assert query.dataset == (
        ast.DatasetClause(HERE, iri("g"), named=False),
        ast.DatasetClause(HERE, name("ex:n"), named=True),
    )


def test_select_star_and_its_marks() -> None:
    assert select("SELECT * {}") == ast.SelectQuery(
        HERE, None, False, False, ast.Group(HERE, ()), ast.Modifiers()
    )
    assert select("SELECT DISTINCT ?x {}").distinct
    assert select("SELECT REDUCED ?x {}").reduced


def test_projection() -> None:
    form = select("SELECT ?x (1 AS ?y) { ?x ?p ?o }")
    assert form.projection == (
        ast.Projection(HERE, var("x")),
        ast.Projection(HERE, var("y"), number("1")),
    )


def test_modifiers() -> None:
    form = select(
        """SELECT ?x { ?x ?p ?o }
        GROUP BY ?x (?a) (?a + 1 AS ?b) (?a * 2) STR(?c) ex:f(?d)
        HAVING (COUNT(*) > 1) (?x) ORDER BY ?x DESC(?y) ASC(?z) (?w) STR(?v) OFFSET 5 LIMIT 10
        VALUES ?z { 1 }"""
    )
    assert form.modifiers == ast.Modifiers(
        group_by=(
            ast.Projection(HERE, var("x")),
            ast.Projection(HERE, var("a")),
            ast.Projection(HERE, var("b"), call("+", var("a"), number("1"))),
            ast.Projection(HERE, None, call("*", var("a"), number("2"))),
            ast.Projection(HERE, None, call("STR", var("c"))),
            ast.Projection(HERE, None, ast.FunctionCall(HERE, name("ex:f"), (var("d"),))),
        ),
        having=(call(">", ast.Aggregate(HERE, "COUNT", None, False), number("1")), var("x")),
        order_by=(
            ast.OrderCondition(HERE, var("x"), descending=False),
            ast.OrderCondition(HERE, var("y"), descending=True),
            ast.OrderCondition(HERE, var("z"), descending=False),
            ast.OrderCondition(HERE, var("w"), descending=False),
            ast.OrderCondition(HERE, call("STR", var("v")), descending=False),
        ),
        limit=10,
        offset=5,
        values=ast.Values(HERE, (var("z"),), ((number("1"),),)),
    )


@pytest.mark.parametrize("digits", ["9" * 19, "9" * 5000])
def test_a_limit_beyond_counting(digits: str) -> None:
    assert select(f"SELECT * {{}} LIMIT {digits}").modifiers.limit == 2**63 - 1


def test_ask() -> None:
    assert parse("ASK { ?s ?p ?o } LIMIT 1").form == ast.AskQuery(
        HERE,
        ast.Group(HERE, (ast.Triples(HERE, (triple(var("s"), var("p"), var("o")),)),)),
        ast.Modifiers(limit=1),
    )


def test_construct() -> None:
    form = parse("CONSTRUCT { ?s a ex:C . [] ex:p ?s } WHERE { ?s ?p ?o }").form
    assert isinstance(form, ast.ConstructQuery)
    assert form.template == (
        triple(var("s"), iri(RDF + "type"), name("ex:C")),
        triple(anonymous(0), name("ex:p"), var("s")),
    )
    empty = parse("CONSTRUCT {} { ?s ?p ?o }").form
    assert isinstance(empty, ast.ConstructQuery)
    assert empty.template == ()


def test_construct_where_repeats_the_pattern() -> None:
    form = parse("CONSTRUCT WHERE { ?s ex:p [ ex:q 1 ] . } LIMIT 3").form
    assert isinstance(form, ast.ConstructQuery)
    (block,) = form.where.elements
    assert isinstance(block, ast.Triples)
    assert form.template == block.triples
    assert len(form.template) == 2
    assert form.modifiers.limit == 3


def test_describe() -> None:
    form = parse("DESCRIBE <a> ?x ex:b FROM <g> { ?x ?p ?o }").form
    assert isinstance(form, ast.DescribeQuery)
    assert form.terms == (iri("a"), var("x"), name("ex:b"))
    assert form.where is not None
    assert parse("DESCRIBE *").form == ast.DescribeQuery(HERE, None, None, ast.Modifiers())
    assert parse("DESCRIBE <a>").form == ast.DescribeQuery(HERE, (iri("a"),), None, ast.Modifiers())


# --- patterns --------------------------------------------------------------------------------------


def test_elements_keep_their_order() -> None:
    kinds = [
        type(element)
        for element in elements(
            """?a ?b ?c . ?d ?e ?f FILTER(?a) . ?g ?h ?i . { ?j ?k ?l } OPTIONAL { } MINUS { }
            GRAPH ?n { } GRAPH ex:g { } SERVICE SILENT ?m { } { } UNION { } UNION { } BIND(1 AS ?y)
            VALUES ?w { } { SELECT * { } }"""
        )
    ]
    assert kinds == [
        ast.Triples,
        ast.Filter,
        ast.Triples,
        ast.Group,
        ast.Optional,
        ast.Minus,
        ast.Graph,
        ast.Graph,
        ast.Service,
        ast.Union,
        ast.Bind,
        ast.Values,
        ast.Group,
    ]


def test_union_has_all_its_options() -> None:
    (union,) = elements("{ } UNION { ?s ?p ?o } UNION { }")
    assert isinstance(union, ast.Union)
    assert len(union.options) == 3


def test_service() -> None:
    (silent, loud) = elements("SERVICE SILENT <s> { } SERVICE ?s { }")
    assert silent == ast.Service(HERE, iri("s"), True, ast.Group(HERE, ()))
    assert loud == ast.Service(HERE, var("s"), False, ast.Group(HERE, ()))


def test_sub_select() -> None:
    (group,) = elements("{ SELECT ?x WHERE { } LIMIT 1 VALUES ?y { 2 } }")
    assert isinstance(group, ast.Group)
    (sub,) = group.elements
    assert isinstance(sub, ast.SubSelect)
    assert sub.query.modifiers == ast.Modifiers(
        limit=1, values=ast.Values(HERE, (var("y"),), ((number("2"),),))
    )


def test_values() -> None:
    full, one, none, empty = elements(
        'VALUES (?a ?b) { (UNDEF "x") (ex:a 1.5) } VALUES ?c { UNDEF true } VALUES () { () } VALUES (?d) { }'
    )
    assert full == ast.Values(
        HERE, (var("a"), var("b")), ((None, text("x")), (name("ex:a"), number("1.5", "decimal")))
    )
    assert one == ast.Values(HERE, (var("c"),), ((None,), (number("true", "boolean"),)))
    assert none == ast.Values(HERE, (), ((),))
    assert empty == ast.Values(HERE, (var("d"),), ())


# --- triples ---------------------------------------------------------------------------------------


def test_semicolons_and_commas() -> None:
    assert triples("?s ex:p 1, 2 ; ; a ex:C ; .") == [
        triple(var("s"), name("ex:p"), number("1")),
        triple(var("s"), name("ex:p"), number("2")),
        triple(var("s"), iri(RDF + "type"), name("ex:C")),
    ]


def test_blank_nodes() -> None:
    assert triples("_:x ex:p [] ; ex:q [ ex:r [ ex:s 1 ] ] . [ ex:t 2 ] . [ ex:u 3 ] ex:v 4") == [
        triple(ast.BlankNode(HERE, "x"), name("ex:p"), anonymous(0)),
        triple(ast.BlankNode(HERE, "x"), name("ex:q"), anonymous(2)),
        triple(anonymous(2), name("ex:r"), anonymous(1)),
        triple(anonymous(1), name("ex:s"), number("1")),
        triple(anonymous(3), name("ex:t"), number("2")),
        triple(anonymous(4), name("ex:u"), number("3")),
        triple(anonymous(4), name("ex:v"), number("4")),
    ]


def test_collections() -> None:
    first, rest, nil = iri(RDF + "first"), iri(RDF + "rest"), iri(RDF + "nil")
    assert triples("?s ex:p (1 [ ex:q 2 ]), ()") == [
        triple(var("s"), name("ex:p"), anonymous(1)),
        triple(anonymous(1), first, number("1")),
        triple(anonymous(1), rest, anonymous(2)),
        triple(anonymous(2), first, anonymous(0)),
        triple(anonymous(0), name("ex:q"), number("2")),
        triple(anonymous(2), rest, nil),
        triple(var("s"), name("ex:p"), nil),
    ]
    assert triples("(?x) ex:p 1")[0] == triple(anonymous(0), first, var("x"))
    assert len(triples("(1 2)")) == 4


def test_anonymous_nodes_are_numbered_anew_in_each_text() -> None:
    assert triples("[] ?p []") == triples("[] ?p []")


@pytest.mark.parametrize(
    ("source", "predicate"),
    [
        ("?p", var("p")),
        ("ex:p", name("ex:p")),
        ("(ex:p)", name("ex:p")),
        ("a", iri(RDF + "type")),
        ("^ex:p", ast.Inverse(HERE, link("ex:p"))),
        ("ex:p*", ast.PathRepeat(HERE, link("ex:p"), "*")),
        ("ex:p+", ast.PathRepeat(HERE, link("ex:p"), "+")),
        ("ex:p?", ast.PathRepeat(HERE, link("ex:p"), "?")),
        ("^ex:p+", ast.Inverse(HERE, ast.PathRepeat(HERE, link("ex:p"), "+"))),
        (
            "ex:p/ex:q/a",
            ast.PathSequence(HERE, (link("ex:p"), link("ex:q"), ast.Link(HERE, iri(RDF + "type")))),
        ),
        (
            "ex:p|ex:q/ex:r",
            ast.PathAlternative(HERE, (link("ex:p"), ast.PathSequence(HERE, (link("ex:q"), link("ex:r"))))),
        ),
        (
            "(ex:p|ex:q)*",
            ast.PathRepeat(HERE, ast.PathAlternative(HERE, (link("ex:p"), link("ex:q"))), "*"),
        ),
        ("!ex:p", ast.NegatedSet(HERE, (name("ex:p"),), ())),
        ("!^ex:p", ast.NegatedSet(HERE, (), (name("ex:p"),))),
        ("!(ex:p|^a|ex:q)", ast.NegatedSet(HERE, (name("ex:p"), name("ex:q")), (iri(RDF + "type"),))),
        ("!()", ast.NegatedSet(HERE, (), ())),
    ],
)
def test_predicates_and_paths(source: str, predicate: ast.Path) -> None:
    assert triples(f"?s {source} ?o") == [triple(var("s"), predicate, var("o"))]


# --- expressions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("?a || ?b && ?c", call("||", var("a"), call("&&", var("b"), var("c")))),
        ("(?a || ?b) && ?c", call("&&", call("||", var("a"), var("b")), var("c"))),
        ("?a = ?b + ?c * ?d", call("=", var("a"), call("+", var("b"), call("*", var("c"), var("d"))))),
        ("?a - ?b - ?c", call("-", call("-", var("a"), var("b")), var("c"))),
        ("?a / ?b * ?c", call("*", call("/", var("a"), var("b")), var("c"))),
        ("!?a", call("!", var("a"))),
        ("-?a", call("unary-", var("a"))),
        ("+?a * 2", call("*", call("unary+", var("a")), number("2"))),
        ("- 1", call("unary-", number("1"))),
        ("-1", number("-1")),
        ("?a -1", call("-", var("a"), number("1"))),
        ("?a+1.5", call("+", var("a"), number("1.5", "decimal"))),
        ("?a -1 * ?b / 2", call("-", var("a"), call("/", call("*", number("1"), var("b")), number("2")))),
        ("1 +2 -3", call("-", call("+", number("1"), number("2")), number("3"))),
        ("?a IN (1, ?b)", call("IN", var("a"), number("1"), var("b"))),
        ("?a NOT IN ()", call("NOT IN", var("a"))),
        ("BOUND(?a)", call("BOUND", var("a"))),
        ("bnode()", call("BNODE")),
        ("URI(?a)", call("IRI", var("a"))),
        ("isURI(?a)", call("ISIRI", var("a"))),
        ("sameTerm(?a, ?b)", call("SAMETERM", var("a"), var("b"))),
        ("regex(?a, 'b', 'i')", call("REGEX", var("a"), text("b"), text("i"))),
        ("IF(?a, 1, 2)", call("IF", var("a"), number("1"), number("2"))),
        ("COALESCE(?a, ?b, ?c)", call("COALESCE", var("a"), var("b"), var("c"))),
        ("CONCAT()", call("CONCAT")),
        ("ex:f()", ast.FunctionCall(HERE, name("ex:f"), ())),
        ("<f>(DISTINCT ?a, 1)", ast.FunctionCall(HERE, iri("f"), (var("a"), number("1")), distinct=True)),
        ("ex:f", name("ex:f")),
        ("EXISTS { }", ast.Exists(HERE, ast.Group(HERE, ()), negated=False)),
        ("NOT EXISTS { }", ast.Exists(HERE, ast.Group(HERE, ()), negated=True)),
    ],
)
def test_expressions(source: str, tree: ast.Expression) -> None:
    assert expression(source) == tree


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("COUNT(*)", ast.Aggregate(HERE, "COUNT", None, False)),
        ("count(DISTINCT *)", ast.Aggregate(HERE, "COUNT", None, True)),
        ("COUNT(DISTINCT ?x)", ast.Aggregate(HERE, "COUNT", var("x"), True)),
        ("Sum(?x + 1)", ast.Aggregate(HERE, "SUM", call("+", var("x"), number("1")), False)),
        ("GROUP_CONCAT(?x)", ast.Aggregate(HERE, "GROUP_CONCAT", var("x"), False)),
        (
            'GROUP_CONCAT(DISTINCT ?x ; separator = ", ")',
            ast.Aggregate(HERE, "GROUP_CONCAT", var("x"), True, ", "),
        ),
    ],
)
def test_aggregates(source: str, tree: ast.Aggregate) -> None:
    (item,) = select(f"SELECT ({source} AS ?y) {{ }}").projection or ()
    assert item.expression == tree


# --- positions -------------------------------------------------------------------------------------


def test_positions_are_those_of_the_first_token() -> None:
    query = parse(
        "PREFIX ex: <e>\nSELECT ?x\n  (1 AS ?y)\nWHERE {\n\t?x ex:p/ex:q ?o .\r\n  FILTER(1 + ?o > 2)\n}"
    )
    form = query.form
    assert isinstance(form, ast.SelectQuery)
    assert query.position == Position(1, 1)
    assert form.position == Position(2, 1)
    assert form.projection is not None
    assert [item.position for item in form.projection] == [Position(2, 8), Position(3, 3)]
    assert form.where.position == Position(4, 7)
    block, condition = form.where.elements
    assert isinstance(block, ast.Triples)
    (only,) = block.triples
    assert only.position == Position(5, 2)
    assert only.predicate.position == Position(5, 5)
    assert only.object.position == Position(5, 15)
    assert isinstance(condition, ast.Filter)
    assert condition.position == Position(6, 3)
    assert condition.condition.position == Position(6, 10)
