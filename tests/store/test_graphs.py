"""The static graphs are sets of triples, loads are atomic, and readers see versions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.errors import LoadError
from rheos.optimize.statistics import PredicateCount
from rheos.store.graphs import StaticGraphs
from rheos.store.reader import SCHEMA


@pytest.fixture
def graphs() -> Iterator[StaticGraphs]:
    graphs = StaticGraphs()
    yield graphs
    graphs.close()


def rows(graphs: StaticGraphs, table: str) -> list[tuple[str, ...]]:
    return graphs.connection.cursor().execute(f"FROM {table} ORDER BY ALL").fetchall()


def quads(*given: tuple[str | None, str, str, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("gspo", row, strict=True)) for row in given], schema=SCHEMA)


def test_loads_say_how_many_triples_are_new(graphs: StaticGraphs) -> None:
    assert graphs.load(data="<a:s> <a:p> 1, 2, 2 .", format="turtle") == 2
    assert graphs.load(data="<a:s> <a:p> 2, 3 .", format="turtle") == 1
    assert graphs.load(data="", format="turtle") == 0
    assert graphs.size == 3
    assert graphs.graph_names == []


def test_graphs_are_apart(graphs: StaticGraphs) -> None:
    text = "<a:s> <a:p> <a:o> ."
    assert graphs.load(data=text, format="turtle") == 1
    assert graphs.load(data=text, format="turtle", graph="http://ex/g") == 1
    assert graphs.load(data=text, format="turtle", graph="http://ex/g") == 0
    assert rows(graphs, "default_graph") == [("<a:s>", "<a:p>", "<a:o>")]
    assert rows(graphs, "named_graphs") == [("<http://ex/g>", "<a:s>", "<a:p>", "<a:o>")]
    assert graphs.graph_names == ["<http://ex/g>"]


def test_quads_go_to_their_graphs_and_the_rest_to_the_given_one(graphs: StaticGraphs) -> None:
    graphs.load(data="<a:s> <a:p> 1 . <a:h> { <a:s> <a:p> 2 }", format="trig", graph="a:g")
    assert [row[0] for row in rows(graphs, "named_graphs")] == ["<a:g>", "<a:h>"]
    assert rows(graphs, "default_graph") == []


def test_an_empty_graph_is_known(graphs: StaticGraphs) -> None:
    before = graphs.version
    assert graphs.load(data="", format="turtle", graph="http://ex/empty") == 0
    assert graphs.graph_names == ["<http://ex/empty>"]
    assert graphs.version > before
    graphs.create_graph("http://ex/other")
    assert graphs.graph_names == ["<http://ex/empty>", "<http://ex/other>"]
    graphs.drop_graph("http://ex/empty")
    assert graphs.graph_names == ["<http://ex/other>"]


def test_the_name_of_a_graph_must_be_an_iri(graphs: StaticGraphs) -> None:
    with pytest.raises(LoadError, match="not an absolute IRI: here"):
        graphs.load(data="", format="turtle", graph="here")


def test_a_broken_file_loads_nothing(graphs: StaticGraphs, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<a:s> <a:p> <a:o> .")
    (tmp_path / "b.nt").write_text("<a:s> <a:p> <a:o> .\n" * 1000 + "broken\n")
    version = graphs.version
    with pytest.raises(LoadError) as caught:
        graphs.load(tmp_path / "*")
    assert (caught.value.source, caught.value.line) == (str(tmp_path / "b.nt"), 1001)
    assert (graphs.size, graphs.version, graphs.graph_names) == (0, version, [])


def test_blank_nodes_of_different_files_are_different(graphs: StaticGraphs, tmp_path: Path) -> None:
    for name in ("a.ttl", "b.nt"):
        (tmp_path / name).write_text("_:x <a:p> _:y .\n_:x <a:p> _:z .\n")
    assert graphs.load(tmp_path / "*") == 4
    assert graphs.load(tmp_path / "a.ttl") == 2
    assert graphs.load(data="_:x <a:p> _:y .", format="turtle") == 1
    count = "SELECT count(DISTINCT s), count(DISTINCT o) FROM default_graph"
    assert graphs.connection.cursor().execute(count).fetchall() == [(4, 7)]


def test_changes(graphs: StaticGraphs) -> None:
    one, two = (None, "<a:s>", "<a:p>", "<a:o>"), ("<a:g>", "<a:s>", "<a:p>", "<a:o>")
    assert graphs.insert(quads(one, two, one)) == 2
    assert graphs.graph_names == ["<a:g>"]
    assert graphs.delete(quads(one, (None, "<a:none>", "<a:p>", "<a:o>"))) == 1
    assert graphs.change(delete=quads(two), insert=quads(one)) == 2
    assert rows(graphs, "named_graphs") == []
    assert graphs.drop_graph("a:g") == 0
    assert graphs.insert(quads()) == 0
    graphs.clear()
    assert (graphs.size, graphs.graph_names) == (0, [])


def test_statistics_follow_the_version(graphs: StaticGraphs) -> None:
    graphs.load(data="<a:s> <a:p> 1, 2 . <a:t> <a:q> 1 .", format="turtle")
    graphs.load(data="<a:s> <a:p> 1 .", format="turtle", graph="a:g")
    found = graphs.statistics
    assert found is graphs.statistics
    assert found.triples == 4
    assert found.predicates == {"<a:p>": PredicateCount(3, 1, 2), "<a:q>": PredicateCount(1, 1, 1)}
    graphs.clear()
    assert graphs.statistics.predicates == {}


def test_versions_grow(graphs: StaticGraphs) -> None:
    seen = [graphs.version]
    graphs.load(data="<a:s> <a:p> 1 .", format="turtle")
    seen.append(graphs.version)
    graphs.delete(quads((None, "<a:s>", "<a:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')))
    seen.append(graphs.version)
    graphs.clear()
    seen.append(graphs.version)
    assert seen == sorted(set(seen))


def test_readers_see_whole_loads(graphs: StaticGraphs) -> None:
    """While one thread loads a thousand triples at a time, another one only ever sees full thousands."""
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(graphs.size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for load in range(10):
        text = "".join(f"<a:s> <a:p> <a:o{load}x{number}> .\n" for number in range(1000))
        graphs.load(data=text, format="ntriples")
    done.set()
    watcher.join()
    assert {count % 1000 for count in seen} == {0}
    assert graphs.size == 10_000


def test_loads_from_several_threads(graphs: StaticGraphs) -> None:
    text = "".join(f"<a:s> <a:p> <a:o{number}> .\n" for number in range(500))
    added: list[int] = []
    threads = [
        threading.Thread(target=lambda: added.append(graphs.load(data=text, format="ntriples")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added) == [0, 0, 0, 500]
