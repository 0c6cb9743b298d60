"""Versions of single graphs: they grow when that graph changes, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from rheos.store.graphs import StaticGraphs
from tests.store.test_graphs import quads, rows

ONE = (None, "<a:s>", "<a:p>", "<a:o>")
IN_G = ("<a:g>", "<a:s>", "<a:p>", "<a:o>")
IN_H = ("<a:h>", "<a:s>", "<a:p>", "<a:o>")
OTHER = ("<a:g>", "<a:s>", "<a:p>", "<a:other>")


@pytest.fixture
def graphs() -> Iterator[StaticGraphs]:
    """A triple in the default graph, one in a:g, one in a:h; a:empty has none."""
    graphs = StaticGraphs()
    graphs.insert(quads(ONE, IN_G, IN_H))
    graphs.create_graph("a:empty")
    yield graphs
    graphs.close()


def grown(graphs: StaticGraphs, change: Callable[[], object]) -> set[str | None]:
    """The graphs whose version a change raised; what grows for any of the named ones must fit."""
    known = (None, "a:g", "a:h", "a:empty", "a:new")
    before = {graph: graphs.version_of(graph) for graph in known}
    version, named = graphs.version, graphs.named_version
    change()
    found = {graph for graph in known if graphs.version_of(graph) > before[graph]}
    assert (graphs.named_version > named) == bool(found - {None})
    assert graphs.version > version or not found
    assert all(graphs.version_of(graph) <= graphs.version for graph in known)
    return found


def test_at_first_there_is_no_version() -> None:
    graphs = StaticGraphs()
    assert (graphs.version, graphs.named_version, graphs.version_of(None), graphs.version_of("a:g")) == (
        (0, 0, 0, 0)
    )
    graphs.close()


def test_inserts(graphs: StaticGraphs) -> None:
    assert grown(graphs, lambda: graphs.insert(quads(ONE, IN_G, IN_H))) == set()
    assert grown(graphs, lambda: graphs.insert(quads(ONE, OTHER, IN_H))) == {"a:g"}
    assert grown(graphs, lambda: graphs.insert(quads(("<a:new>", *ONE[1:])))) == {"a:new"}
    assert grown(graphs, lambda: graphs.insert(quads((None, "<a:s>", "<a:p>", "<a:x>")))) == {None}


def test_deletes(graphs: StaticGraphs) -> None:
    absent = ("<a:new>", *ONE[1:])
    assert grown(graphs, lambda: graphs.delete(quads(OTHER, absent))) == set()
    assert grown(graphs, lambda: graphs.delete(quads(IN_G, OTHER, absent))) == {"a:g"}
    assert grown(graphs, lambda: graphs.delete(quads(ONE, ONE))) == {None}
    assert grown(graphs, lambda: graphs.delete(quads(IN_H))) == {"a:h"}


def test_what_goes_and_comes_again_does_not_change(graphs: StaticGraphs) -> None:
    assert grown(graphs, lambda: graphs.change(delete=quads(ONE, IN_G), insert=quads(ONE, IN_G))) == set()
    assert graphs.change(delete=quads(ONE, IN_G), insert=quads(ONE, OTHER)) == 2
    assert rows(graphs, "default_graph") == [ONE[1:]]


def test_loads(graphs: StaticGraphs) -> None:
    def load(text: str, graph: str | None = None) -> Callable[[], int]:
        return lambda: graphs.load(data=text, format="turtle", graph=graph)

    assert grown(graphs, load("<a:s> <a:p> <a:o> .")) == set()
    assert grown(graphs, load("<a:s> <a:p> <a:o> .", "a:g")) == set()
    assert grown(graphs, load("<a:s> <a:p> 1 .", "a:g")) == {"a:g"}
    assert grown(graphs, load("", "a:empty")) == set()
    assert grown(graphs, load("", "a:new")) == {"a:new"}


def test_graphs_are_made_and_dropped(graphs: StaticGraphs) -> None:
    assert grown(graphs, lambda: graphs.create_graph("a:g")) == set()
    assert grown(graphs, lambda: graphs.create_graph("a:new")) == {"a:new"}
    assert grown(graphs, lambda: graphs.drop_graph("a:empty")) == {"a:empty"}
    assert grown(graphs, lambda: graphs.drop_graph("a:empty")) == set()
    assert grown(graphs, lambda: graphs.drop_graph("a:g")) == {"a:g"}
    assert grown(graphs, lambda: graphs.insert(quads(IN_G))) == {"a:g"}


def test_clear(graphs: StaticGraphs) -> None:
    assert grown(graphs, graphs.clear) == {None, "a:g", "a:h", "a:empty"}
    assert grown(graphs, graphs.clear) == set()


def test_a_change_that_fails_raises_nothing(graphs: StaticGraphs) -> None:
    def broken() -> None:
        with suppress(ZeroDivisionError), graphs.revise() as revision:
            revision.change(insert=quads(OTHER), delete=quads(ONE))
            revision.drop("<a:h>")
            assert revision.changed == {None, "<a:g>", "<a:h>"}
            raise ZeroDivisionError

    assert grown(graphs, broken) == set()
    assert rows(graphs, "named_graphs") == [IN_G, IN_H]
    assert rows(graphs, "default_graph") == [ONE[1:]]
    assert graphs.graph_names == ["<a:empty>", "<a:g>", "<a:h>"]


def test_several_changes_are_one_step(graphs: StaticGraphs) -> None:
    with graphs.revise() as revision:
        assert revision.change(insert=quads(OTHER)) == 1
        assert revision.copy("<a:g>", None, replace=True) == 1
        assert (graphs.size, revision.size) == (3, 5)
        assert revision.statistics.predicates["<a:p>"].triples >= 5
        with revision.cursor() as cursor:
            assert cursor.execute("SELECT count(*) FROM default_graph").fetchall() == [(2,)]
    assert graphs.size == 5
