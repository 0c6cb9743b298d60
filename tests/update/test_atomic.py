"""An update is done as a whole or not at all, and others see it as one step."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rheos import Engine, EvaluationError, LoadError, QuerySyntaxError, RheosError, UpdateError
from rheos.algebra.update import Operation
from rheos.execute.update import Updater

from .conftest import City

BEFORE = (
    "INSERT DATA { :new :p 1 . GRAPH :new { :x :y :z } } ; DELETE WHERE { GRAPH :g { ?s ?p ?o } } ; "
    "DROP GRAPH :h ; MOVE DEFAULT TO :g ; INSERT { GRAPH :sums { :all :sum ?n } } "
    "WHERE { SELECT (COUNT(*) AS ?n) { GRAPH :g { ?s ?p ?o } } } ;"
)


def state(city: City) -> object:
    graphs = city.engine.graphs
    versions = [graphs.version_of(f"http://ex/{name}") for name in ("g", "h", "new", "sums", "empty")]
    return (
        city.default,
        city.named,
        graphs.size,
        graphs.version,
        graphs.version_of(None),
        graphs.named_version,
        versions,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CREATE GRAPH :empty",
            "there is a graph <http://ex/empty> already; CREATE SILENT would leave it at that",
        ),
        ("DROP GRAPH :none", "there is no graph <http://ex/none>; with SILENT that would not matter"),
        ("DROP GRAPH :h", "there is no graph <http://ex/h>; with SILENT that would not matter"),
        ("CLEAR GRAPH :none", "there is no graph <http://ex/none>; with SILENT that would not matter"),
        ("ADD :none TO :g", "there is no graph <http://ex/none>; with SILENT that would not matter"),
        ("COPY :none TO DEFAULT", "there is no graph <http://ex/none>; with SILENT that would not matter"),
        ("MOVE :none TO :g", "there is no graph <http://ex/none>; with SILENT that would not matter"),
        ("COPY :none TO :none", "there is no graph <http://ex/none>; with SILENT that would not matter"),
    ],
)
def test_what_cannot_be_done_undoes_the_rest(city: City, text: str, message: str) -> None:
    before = state(city)
    with pytest.raises(UpdateError) as caught:
        city.update(f"{BEFORE}\n  {text} ; CLEAR ALL")
    assert caught.value.message == message
    assert (caught.value.line, caught.value.column) == (2, 3)
    assert str(caught.value).splitlines()[1:] == [f"    {text} ; CLEAR ALL", "    ^"]
    assert state(city) == before


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("LOAD <file:///not/there.ttl>", LoadError),
        ("LOAD <http://ex/data.ttl>", LoadError),
        ("CLEAR", QuerySyntaxError),
        ("CLEAR GRAPH v:x", QuerySyntaxError),
    ],
)
def test_other_faults_undo_the_rest_too(city: City, text: str, error: type[RheosError]) -> None:
    before = state(city)
    with pytest.raises(error):
        city.update(f"{BEFORE} {text}")
    assert state(city) == before


def test_a_query_that_fails_undoes_the_rest(city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops a WHERE half-way; the graphs can be changed afterwards as ever."""
    before = state(city)
    monkeypatch.setattr("rheos.engine.compile_query", broken)
    with pytest.raises(EvaluationError):
        city.update(f"{BEFORE} CLEAR ALL")
    assert state(city) == before
    monkeypatch.undo()
    assert city.update("INSERT { :x :hash ?h } WHERE { BIND(SHA512('x') AS ?h) }") == 1


def broken(*arguments: object) -> None:
    raise EvaluationError("no more")


def test_a_function_that_duckdb_was_given_does_not_go_with_the_rest(city: City) -> None:
    hashed = "INSERT { :x :hash ?h } WHERE { BIND(SHA512('x') AS ?h) }"
    with pytest.raises(UpdateError):
        city.update(f"{hashed} ; DROP GRAPH :none")
    assert city.update(f"{hashed} ; DELETE {{ :x :hash ?h }} WHERE {{ BIND(SHA384('x') AS ?h) }}") == 1


def test_a_query_meanwhile_gets_these_functions_too(city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int] = []
    apply = Updater.apply

    def apply_and_ask(updater: Updater, operation: Operation) -> int:
        changed = apply(updater, operation)
        query = "SELECT * { ?s ?p ?o FILTER(SHA512(STR(?o)) != '') }"
        reader = threading.Thread(target=lambda: answers.append(len(city.engine.query(query))))
        reader.start()
        reader.join()
        return changed

    monkeypatch.setattr(Updater, "apply", apply_and_ask)
    city.update("INSERT { :x :hash ?h } WHERE { BIND(SHA512('x') AS ?h) } ; CLEAR ALL")
    assert answers == [2, 2]


def test_silent_operations_go_on(city: City) -> None:
    assert (
        city.update("""
        CREATE SILENT GRAPH :g ; DROP SILENT GRAPH :none ; CLEAR SILENT GRAPH :none ;
        LOAD SILENT <file:///not/there.ttl> ;
        ADD SILENT :none TO :g ; COPY SILENT :none TO :g ; MOVE SILENT :none TO :g ; INSERT DATA { :x :y :z }
    """)
        == 1
    )
    assert len(city.named[":g"]) == 2


def test_readers_see_whole_updates() -> None:
    """A counter goes from graph to graph: whoever asks finds it in one, the same value in both triples."""
    with Engine(execution="local") as engine:
        engine.update("INSERT DATA { GRAPH <a:0> { <a:c> <a:n> 0 ; <a:m> 0 } }")
        text = "SELECT ?g ?n ?m { GRAPH ?g { <a:c> <a:n> ?n ; <a:m> ?m } }"
        seen: list[list[tuple[str, str]]] = []
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                rows = engine.query(text).rows
                seen.append([(row["n"].value, row["m"].value) for row in rows])

        watcher = threading.Thread(target=watch)
        watcher.start()
        for number in range(20):
            engine.update(f"""
                CREATE GRAPH <a:{number + 1}> ;
                INSERT {{ GRAPH <a:{number + 1}> {{ ?c <a:n> ?v }} }}
                WHERE {{ GRAPH <a:{number}> {{ ?c <a:n> ?n }} BIND(?n + 1 AS ?v) }} ;
                INSERT {{ GRAPH <a:{number + 1}> {{ ?c <a:m> ?v }} }}
                WHERE {{ GRAPH <a:{number}> {{ ?c <a:m> ?n }} BIND(?n + 1 AS ?v) }} ;
                DROP GRAPH <a:{number}>
            """)
        done.set()
        watcher.join()
    assert all(len(rows) == 1 and rows[0][0] == rows[0][1] for rows in seen)
    assert len(seen) > 1


def test_updates_from_several_threads() -> None:
    """None is lost: each adds its own triple, and counts up what it finds."""
    with Engine(execution="local") as engine:
        engine.update("INSERT DATA { <a:c> <a:n> 0 }")
        text = "DELETE { ?c <a:n> ?n } INSERT { ?c <a:n> ?m } WHERE { ?c <a:n> ?n BIND(?n + 1 AS ?m) }"
        threads = [threading.Thread(target=lambda: [engine.update(text) for _ in range(5)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [row["n"].value for row in engine.query("SELECT ?n { ?c <a:n> ?n }").rows] == ["20"]


def test_an_update_waits_for_a_load(city: City, tmp_path: Path) -> None:
    """Both change the same table, one after the other."""
    path = tmp_path / "data.nt"
    path.write_text("".join(f"<a:s{n}> <a:p> <a:o> .\n" for n in range(20_000)))
    loader = threading.Thread(target=lambda: city.engine.load(path))
    loader.start()
    for number in range(10):
        city.update(f"INSERT DATA {{ :load :n {number} }}")
    loader.join()
    assert city.engine.graphs.size == 5 + 10 + 20_000
