"""LOAD: which files it reads, into which graph, and which it must not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rheos import Engine, LoadError

from .conftest import City


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ttl").write_text("<> <http://ex/p> 1 . _:b <http://ex/p> 2 .")
    (tmp_path / "in" / "a b[1].nt.gz").write_bytes(
        gzip.compress(b"<http://ex/a> <http://ex/p> <http://ex/b> .\n")
    )
    (tmp_path / "in" / "quads.trig").write_text("<a:s> <a:p> 1 . <http://ex/k> { <a:s> <a:p> 2, 3 }")
    (tmp_path / "out.ttl").write_text("<a:s> <a:p> 1 .")
    return tmp_path / "in"


def test_into_a_graph(city: City, folder: Path) -> None:
    source = (folder / "a.ttl").as_uri()
    assert city.update(f"LOAD <{source}>") == 2
    assert city.update(f"LOAD <{source}>") == 1  # its blank node is another one
    assert city.update(f"LOAD <{source}> INTO GRAPH :g") == 2
    assert city.ask(f"<{source}> :p 1 . GRAPH :g {{ <{source}> :p 1 }}")


def test_quads_go_where_they_say(city: City, folder: Path) -> None:
    assert city.update(f"LOAD <{(folder / 'quads.trig').as_uri()}> INTO GRAPH :new") == 3
    assert {name: len(triples) for name, triples in city.named.items()} == {
        ":empty": 0, ":g": 2, ":h": 1, ":k": 2, ":new": 1,
    }  # fmt: skip


def test_paths_go_by_the_base(folder: Path) -> None:
    with Engine(execution="local") as engine:
        assert engine.update("LOAD <a.ttl>", base=f"{folder.as_uri()}/") == 2
        assert engine.update(f"BASE <{folder.as_uri()}/> LOAD <../out.ttl>") == 1
    with Engine(execution="local", base=f"{folder.as_uri()}/") as engine:
        assert engine.update("LOAD <a%20b%5B1%5D.nt.gz>") == 1


def test_what_was_loaded_is_there_for_the_next_operation(city: City, folder: Path) -> None:
    assert city.update(f"LOAD <{(folder / 'a.ttl').as_uri()}> ; DELETE WHERE {{ ?s :p 2 }}") == 4


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "http://ex/data.ttl",
            "http://ex/data.ttl: LOAD reads files only, by their file: IRIs; fetch it first",
        ),
        ("https://ex/data.ttl", "LOAD reads files only"),
        ("data.ttl", "http://ex/data.ttl: LOAD reads files only"),
        ("file://elsewhere/data.ttl", "LOAD reads files of this machine only"),
        ("file:///none.ttl", "/none.ttl: no such file"),
        ("file:///none%00.ttl", "no such file"),
        ("file:///*.ttl", "no file matches"),
        ("file:///", "it is a directory"),
    ],
)
def test_what_cannot_be_loaded(city: City, source: str, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        city.update(f"CLEAR ALL ; LOAD <{source}>")
    assert message in str(caught.value)
    assert city.engine.graphs.size == 5
    assert city.update(f"LOAD SILENT <{source}> INTO GRAPH :new") == 0
    assert ":new" not in city.named


def test_a_broken_file(city: City, folder: Path) -> None:
    (folder / "bad.ttl").write_text("<a:s> <a:p> 1 .\n<a:s> <a:p> broken .")
    with pytest.raises(LoadError, match=r"bad\.ttl, line 2"):
        city.update(f"LOAD <{(folder / 'bad.ttl').as_uri()}>")
    (folder / "no-format").write_text("")
    with pytest.raises(LoadError, match="a file name without an extension"):
        city.update(f"LOAD <{(folder / 'no-format').as_uri()}>")


def test_only_one_folder_may_be_open(folder: Path) -> None:
    (folder / "link.ttl").symlink_to(folder.parent / "out.ttl")
    (folder / "inside.ttl").symlink_to(folder / "a.ttl")
    with Engine(execution="local", load_root=folder) as engine:
        assert engine.update(f"LOAD <{(folder / 'a.ttl').as_uri()}>") == 2
        assert engine.update(f"LOAD <{(folder / 'inside.ttl').as_uri()}>") == 2
        for name in ("../out.ttl", "link.ttl", "../in/../out.ttl", "../none.ttl", "%2E%2E/out.ttl"):
            with pytest.raises(LoadError, match="not in the folder that is open to LOAD"):
                engine.update(f"LOAD <{folder.as_uri()}/{name}>")
        with pytest.raises(LoadError, match="no such file"):
            engine.update(f"LOAD <{folder.as_uri()}/none.ttl>")
        assert engine.load(folder.parent / "out.ttl") == 1  # only LOAD is held back
