"""Changes that are kept on disk: done again by another process they give the same graphs, however many there
are and wherever the one before was killed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rheos import Engine
from rheos.store import changes

BASE = "<http://ex/a> <http://ex/p> 1 , 2 . <http://ex/b> <http://ex/p> [ <http://ex/q> 3 ] ."
GRAPHS = ("", "<http://ex/g>", "<http://ex/h>")


def opened(folder: Path) -> Engine:
    """An engine as a server has it: what the configuration names, and then what was done."""
    engine = Engine(execution="local")
    engine.load(data=BASE, format="turtle")
    engine.load(data="<http://ex/n> <http://ex/p> 5 .", format="turtle", graph="http://ex/g")
    engine.graphs.keep(folder)
    return engine


def content(engine: Engine) -> tuple[list[tuple[str, ...]], list[str]]:
    with engine.graphs.cursor() as cursor:
        quads = "SELECT '' AS g, s, p, o FROM default_graph UNION ALL SELECT g, s, p, o FROM named_graphs"
        return sorted(cursor.execute(quads).fetchall()), sorted(engine.graphs.graph_names)


def random_update(source: random.Random) -> str:
    def data(graph: str) -> str:
        triple = f"<http://ex/{source.choice('abc')}> <http://ex/p> {source.randrange(4)} ."
        return f"GRAPH {graph} {{ {triple} }}" if graph else triple

    graph, other = source.choice(GRAPHS), source.choice(GRAPHS[1:])
    name = f"GRAPH {graph}" if graph else "DEFAULT"
    return source.choice(
        [
            f"INSERT DATA {{ {data(graph)} }}",
            f"INSERT DATA {{ {data(graph)} }}",
            f"DELETE DATA {{ {data(graph)} }}",
            f"DELETE DATA {{ {data(graph)} }} ; INSERT DATA {{ {data(other)} }}",
            f"INSERT {{ GRAPH {other} {{ ?s <http://ex/r> [] }} }} WHERE {{ ?s ?p 1 }}",
            "DELETE WHERE { ?s <http://ex/p> 2 }",
            f"CLEAR SILENT {name}",
            f"DROP SILENT {name}",
            "CLEAR NAMED",
            "DROP NAMED",
            f"CREATE SILENT GRAPH {other}",
            f"COPY DEFAULT TO {other}",
            "DROP ALL",
        ]
    )


@pytest.mark.parametrize("seed", range(30))
def test_what_was_done_is_done_again(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(seed)
    monkeypatch.setattr(changes, "MOST_FILES", source.choice([2, 5, 100]))
    for _ in range(source.randint(2, 5)):
        with opened(tmp_path) as engine:
            for _ in range(source.randint(0, 8)):
                engine.update(random_update(source))
            before = content(engine)
        with opened(tmp_path) as engine:
            assert content(engine) == before


def test_labels_of_blank_nodes_are_never_used_again(tmp_path: Path) -> None:
    for _ in range(3):
        with opened(tmp_path) as engine:
            engine.update("INSERT DATA { [] <http://ex/new> 1 }")
            engine.load(data="[] <http://ex/loaded> 1 .", format="turtle")
    with opened(tmp_path) as engine:
        found = engine.query("SELECT * { ?s <http://ex/new>|<http://ex/loaded> 1 }")
        assert len({row["s"] for row in found.rows}) == len(found.rows) == 6


def test_many_changes_become_one_file(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        for number in range(changes.MOST_FILES + 5):
            engine.update(f"INSERT DATA {{ <http://ex/a> <http://ex/p> {number % 10} }}")
            engine.update("DELETE DATA { <http://ex/a> <http://ex/p> 9 }")
        before = content(engine)
    assert len(list(tmp_path.glob("*.arrow"))) > changes.MOST_FILES
    with opened(tmp_path) as engine:
        assert content(engine) == before
        [file] = tmp_path.glob("*.arrow")
        engine.update("INSERT DATA { <http://ex/a> <http://ex/p> 77 }")
        before = content(engine)
    assert sorted(tmp_path.glob("*.arrow"))[0] == file
    with opened(tmp_path) as engine:
        assert content(engine) == before


def test_what_fails_or_changes_nothing_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        with pytest.raises(Exception, match="there is no graph"):
            engine.update("INSERT DATA { <http://ex/x> <http://ex/p> 1 } ; DROP GRAPH <http://ex/nowhere>")
        engine.update("DELETE WHERE { ?s <http://ex/nothing> ?o }")
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_not_finished_is_no_change(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.update("INSERT DATA { <http://ex/x> <http://ex/p> 1 }")
        before = content(engine)
    (tmp_path / "000000000002.partial").write_bytes(b"half")
    with opened(tmp_path) as engine:
        assert content(engine) == before
    assert [path.suffix for path in tmp_path.iterdir()] == [".arrow"]


def test_a_full_disk_undoes_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as engine:
        before = content(engine)

        def full(number: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(changes.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            engine.update("INSERT DATA { <http://ex/x> <http://ex/p> 1 }")
        assert content(engine) == before
