"""The language of updates: what is one, what is none and where, and how it is told from a query."""

from __future__ import annotations

from pathlib import Path

import pytest

import rheos
from rheos import Engine, QuerySyntaxError, UnsupportedError
from rheos.errors import Position
from rheos.syntax import ast, parse_update
from rheos.syntax.grammar import Parser, grammar
from rheos.syntax.update import UpdateBuilder
from rheos.syntax.update_tree import (
    Clear,
    Create,
    DeleteData,
    Drop,
    InsertData,
    Load,
    Modify,
    Quads,
    Transfer,
)

HERE = Position(1, 1)
X, Y = ast.Iri(HERE, "x"), ast.Iri(HERE, "y")
S, G = ast.Var(HERE, "s"), ast.Var(HERE, "g")


def operation(text: str) -> object:
    (step,) = parse_update(text).steps
    return step.operation


def failure(text: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_update(text)
    return caught.value


# --- trees -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("LOAD <x>", Load(HERE, X, None, False)),
        ("load silent <x> into graph <y>", Load(HERE, X, Y, True)),
        ("CLEAR GRAPH <x>", Clear(HERE, X, False)),
        ("CLEAR SILENT DEFAULT", Clear(HERE, "DEFAULT", True)),
        ("clear named", Clear(HERE, "NAMED", False)),
        ("DROP ALL", Drop(HERE, "ALL", False)),
        ("DROP SILENT GRAPH <y>", Drop(HERE, Y, True)),
        ("CREATE GRAPH <x>", Create(HERE, X, False)),
        ("CREATE SILENT GRAPH <x>", Create(HERE, X, True)),
        ("ADD <x> TO DEFAULT", Transfer(HERE, "ADD", X, None, False)),
        ("MOVE SILENT GRAPH <x> TO <y>", Transfer(HERE, "MOVE", X, Y, True)),
        ("COPY DEFAULT TO GRAPH <y>", Transfer(HERE, "COPY", None, Y, False)),
        ("CLEAR GRAPH default:all", Clear(HERE, ast.PrefixedName(HERE, "default", "all"), False)),
        ("ADD silent: TO to:", Transfer(
            HERE, "ADD", ast.PrefixedName(HERE, "silent", ""), ast.PrefixedName(HERE, "to", ""), False)),
    ],
)  # fmt: skip
def test_graphs_as_wholes(text: str, tree: object) -> None:
    assert operation(text) == tree


def test_data() -> None:
    triple = ast.Triple(HERE, X, Y, X)
    quads = (Quads(HERE, None, (triple,)), Quads(HERE, Y, (triple, triple)), Quads(HERE, None, (triple,)))
    text = "DATA { <x> <y> <x> . GRAPH <y> { <x> <y> <x>, <x> } . <x> <y> <x> . }"
    assert operation(f"INSERT {text}") == InsertData(HERE, quads)
    assert operation(f"DELETE {text}") == DeleteData(HERE, quads)
    assert operation("INSERT DATA { GRAPH <x> {} GRAPH <y> {} }") == InsertData(
        HERE, (Quads(HERE, X, ()), Quads(HERE, Y, ()))
    )


def test_modify() -> None:
    triple = ast.Triple(HERE, S, X, S)
    block = ast.Triples(HERE, (triple,))
    where = ast.Group(HERE, (block,))
    quads = (Quads(HERE, None, (triple,)),)
    assert operation("DELETE { ?s <x> ?s } WHERE { ?s <x> ?s }") == Modify(HERE, quads, (), where)
    assert operation("INSERT { ?s <x> ?s } WHERE { ?s <x> ?s }") == Modify(HERE, (), quads, where)
    using = (ast.DatasetClause(HERE, X, False), ast.DatasetClause(HERE, Y, True))
    assert operation(
        "WITH <y> DELETE { ?s <x> ?s } INSERT { ?s <x> ?s } USING <x> USING NAMED <y> WHERE { ?s <x> ?s }"
    ) == Modify(HERE, quads, quads, where, Y, using)
    graph = ast.Graph(HERE, G, where)
    assert operation("DELETE WHERE { ?s <x> ?s GRAPH ?g { ?s <x> ?s } }") == Modify(
        HERE, (*quads, Quads(HERE, G, (triple,))), (), ast.Group(HERE, (block, graph))
    )


def test_steps_and_their_prologues() -> None:
    steps = parse_update("PREFIX : <x> CLEAR ALL ; BASE <y> DROP ALL ; # done\n PREFIX a: <x>").steps
    assert [type(step.operation) for step in steps] == [Clear, Drop]
    assert [step.prologue for step in steps] == [(ast.Prefix(HERE, "", X),), (ast.Base(HERE, Y),)]
    assert parse_update("").steps == parse_update("# nothing\nPREFIX : <x>").steps == ()
    assert len(parse_update("CLEAR ALL;" * 3000).steps) == 3000


def test_places() -> None:
    first, second = (
        step.operation for step in parse_update("WITH <x>\n DELETE {} WHERE {} ;\n CLEAR ALL").steps
    )
    assert (first.position, second.position) == (Position(1, 1), Position(3, 2))


def test_escapes_are_decoded_first() -> None:
    assert operation(r"INSERT DATA { <x> <y> <\u0078> }") == operation("INSERT DATA { <x> <y> <x> }")


def test_every_rule_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rules = Parser(grammar("update"), UpdateBuilder())._lark.rules
    names = {rule.alias or rule.options.template_source or rule.origin.name for rule in rules}
    single = {rule.origin.name for rule in rules if rule.options.expand1}
    missing = {name for name in names if not name.startswith("_") and not hasattr(UpdateBuilder, name)}
    assert {name.split("{")[0] for name in missing} <= {name.split("{")[0] for name in single}


# --- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("INSERT DATA { <x> ?p <y> }", 19,
         "INSERT DATA takes no variables; INSERT { ... } WHERE { ... } does"),
        ("DELETE DATA { GRAPH ?g { <x> <p> <y> } }", 21,
         "DELETE DATA takes no variables; DELETE { ... } WHERE { ... } does"),
        ("INSERT DATA { GRAPH <g> { <x> <p> <y>, ?y } }", 40, "INSERT DATA takes no variables"),
        ("DELETE DATA { <x> <p> _:b }", 23,
         "DELETE DATA takes no blank nodes, which would stand for new ones"),
        ("DELETE DATA { <x> <p> [] }", 23, "a variable finds those that are there"),
        ("DELETE WHERE { <x> <p> [ <q> 1 ] }", 24, "DELETE WHERE takes no blank nodes"),
        ("DELETE { <x> <p> (1 ?x) } WHERE { <x> <p> ?x }", 18, "DELETE takes no blank nodes"),
        ("DELETE { GRAPH ?g { _:b ?p ?o } } INSERT {} WHERE {}", 21, "DELETE takes no blank nodes"),
        ("INSERT DATA { _:b <p> 1 } ; INSERT DATA { <x> <p> _:b }", 51,
         "the blank node _:b is already used in another INSERT DATA of this update, and would not be"),
        ("INSERT {} WHERE { _:b <p> 1 } ; INSERT {} WHERE { <x> <p> 2 MINUS { _:b <p> 2 } }", 69,
         "the blank node _:b is already used in another WHERE of this update"),
        ("INSERT {} WHERE { _:b <p> 1 OPTIONAL { _:b <p> 2 } }", 40,
         "the blank node _:b is already used in another basic graph pattern"),
        ("INSERT {} WHERE { BIND(1 AS ?x) BIND(2 AS ?x) }", 43, "?x already has a value here"),
        ("INSERT {} WHERE { FILTER(COUNT(?x) > 1) }", 26, "the aggregate COUNT cannot stand in a FILTER"),
        ("INSERT DATA { <x> <p>/<q> <y> }", 22, "expected a variable or term, found '/'"),
        ("INSERT DATA { GRAPH <g> { GRAPH <h> {} } }", 27,
         "expected '}' or a variable or term, found 'GRAPH'"),
        ("INSERT { FILTER(1) } WHERE {}", 10, "expected '}', a variable or term or GRAPH, found 'FILTER'"),
        ("INSERT DATA {} WHERE {}", 16, "expected ';' or the end of the update, found 'WHERE'"),
        ("CLEAR ALL DROP ALL", 11, "expected ';' or the end of the update, found 'DROP'"),
        ("CLEAR ALL ; ; DROP ALL", 13,
         "expected an operation (INSERT, DELETE, ...), the end of the update, BASE or PREFIX, found ';'"),
        ("INSERT <x> <p> <y>", 8, "expected DATA or '{', found '<x>'"),
        ("INSERT INTO <g> {}", 8, "expected DATA or '{', found 'INTO'"),
        ("DELETE { <x> <p> <y> }", 23, "the update ends too early; expected INSERT, USING or WHERE"),
        ("DELETE {} INSERT {} DELETE {} WHERE {}", 21, "expected USING or WHERE, found 'DELETE'"),
        ("WITH <g> DELETE WHERE {}", 17, "expected '{', found 'WHERE'"),
        ("WITH ?g DELETE {} WHERE {}", 6, "expected an IRI, found '?g'"),
        ("DELETE {} USING ?g WHERE {}", 17, "expected an IRI or NAMED, found '?g'"),
        ("DELETE {} WHERE { SELECT * {} } LIMIT 1", 33,
         "expected ';' or the end of the update, found 'LIMIT'"),
        ("LOAD <x> INTO <y>", 15, "expected GRAPH, found '<y>'"),
        ("CREATE <x>", 8, "expected GRAPH or SILENT, found '<x>'"),
        ("CREATE GRAPH DEFAULT", 14, "expected an IRI, found 'DEFAULT'"),
        ("CLEAR <x>", 7, "expected ALL, DEFAULT, GRAPH, NAMED or SILENT, found '<x>'"),
        ("COPY ALL TO <x>", 6, "expected an IRI, DEFAULT, GRAPH or SILENT, found 'ALL'"),
        ("MOVE <x> <y>", 10, "expected TO, found '<y>'"),
        ("INSERT DATA { <x> <p> 'open }", 23, "the string is not closed on its line"),
    ],
)  # fmt: skip
def test_faults(text: str, column: int, message: str) -> None:
    error = failure(text)
    assert message in error.message
    assert (error.line, error.column) == (1, column)


def test_the_place_is_shown() -> None:
    assert str(failure("CLEAR ALL ;\n\tDELETE DATA { ?x <p> 1 }")).splitlines() == [
        "line 2, column 16: DELETE DATA takes no variables; DELETE { ... } WHERE { ... } does",
        "   DELETE DATA { ?x <p> 1 }",
        "                 ^",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { GRAPH <g> { _:b <p> 1 } GRAPH <h> { _:b <p> 1 } }",
        "INSERT { _:b <p> ?o } WHERE { _:b <p> ?o }",
        "INSERT { _:b <p> 1 } WHERE {} ; INSERT { _:b <p> 1 } WHERE {}",
        "INSERT DATA { _:b <p> 1 } ; INSERT { _:b <p> ?o } WHERE { _:b <p> ?o }",
        "DELETE DATA { <x> <p> () }",
        "DELETE { ?x a ?y } WHERE { ?x a ?y ; ^<p>/<q>* [] }",
        "insert data{<x><p>-1}",
        "DELETEWHERE{?s?p?o}",
    ],
)
def test_no_faults(text: str) -> None:
    parse_update(text)


# --- names -----------------------------------------------------------------------------------------


def test_names_are_resolved_before_anything_is_done() -> None:
    with Engine(execution="local") as engine:
        with pytest.raises(QuerySyntaxError, match="unknown prefix 'v:'") as caught:
            engine.update("INSERT DATA { <x> <p> 1 } ;\nCLEAR GRAPH v:g")
        assert (caught.value.line, caught.value.column) == (2, 13)
        with pytest.raises(UnsupportedError, match="SERVICE is not supported") as caught:
            engine.update("INSERT DATA { <x> <p> 1 } ; INSERT {} WHERE { SERVICE <x> {} }")
        assert caught.value.column == 47
        assert engine.graphs.size == 0
        engine.update("INSERT DATA { <x> <p> 1 }", base="http://here/")
        assert engine.query("ASK { <http://here/x> ?p 1 }").boolean


# --- queries and updates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["INSERT DATA {}", "delete where {}", "WITH <g> INSERT {} WHERE {}", "LOAD <x>", "clear all"]
)
def test_an_update_is_no_query(word: str) -> None:
    text = f"# a comment: SELECT\nPREFIX s: <http://ex/#select> BASE <http://ex/>\n  {word}"
    for give in (rheos.parse, Engine(execution="local").query):
        with pytest.raises(
            QuerySyntaxError, match=r"this is an update, not a query; .* Engine\.update\(\)"
        ) as caught:
            give(text)
        assert (caught.value.line, caught.value.column) == (3, 3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SELECT * {}", "query"),
        ("ask {}", "query"),
        ("DESCRIBE <x>", "query"),
        ("CONSTRUCT WHERE {}", "query"),
        ("REGISTER QUERY Q AS SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] {}", "register"),
    ],
)
def test_a_query_is_no_update(text: str, name: str) -> None:
    error = failure(f"PREFIX : <http://ex/>\n# INSERT\n {text}")
    assert error.message.endswith(f"give it to Engine.{name}()")
    assert (error.line, error.column) == (3, 2)
