"""`rheos map`, and `rheos run` with mappings: what a user sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import called, rheos

STREAM = "http://ex/s"
MAPPING = """PREFIX : <http://ex/>
CONSTRUCT { ?s :temp ?temp }
WHERE { BIND(IRI(CONCAT("http://ex/", ?sensor)) AS ?s) }"""
CSV = "sensor,temp,ts\na,21.5,2026-01-01T00:00:01Z\nb,22,2026-01-01T00:00:02Z\nc,23\n"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
LINE = f'<http://ex/a> <http://ex/temp> "21.5" "2026-01-01T00:00:01Z"^^<{DATE_TIME}> .'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.rq").write_text(MAPPING)
    (tmp_path / "s.csv").write_text(CSV)
    return tmp_path


def test_elements_go_out_and_bad_records_are_told(folder: Path) -> None:
    done = rheos("map", folder / "m.rq", "--data", folder / "s.csv", "--time", "field:ts")
    assert done.status == 1
    assert done.out.splitlines()[0] == LINE
    assert len(done.out.splitlines()) == 2
    assert done.err == f"{folder / 's.csv'}, line 4: it has 2 fields, not 3\n  c,23\n"


def test_all_is_well_without_bad_records(folder: Path) -> None:
    done = called("map", folder / "m.rq", "-d", "-", "--time", "field:ts", stdin=CSV[:-5].encode())
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == LINE


def test_what_comes_out_is_a_stream_file(folder: Path) -> None:
    out = folder / "out.nq"
    called("map", folder / "m.rq", "-d", folder / "s.csv", "--time", "field:ts", "-o", out)
    from rheos.sources.files import FileSource
    from tests.runtime.test_sources import everything

    [chunk] = everything(FileSource.of(out))
    assert chunk.elements.num_rows == 2
    assert not chunk.bad


def test_a_wrong_mapping_is_shown_at_its_place(folder: Path) -> None:
    (folder / "m.rq").write_text(MAPPING.replace("?temp }", "}"))
    done = called("map", folder / "m.rq", "-d", folder / "s.csv", "--time", "field:ts")
    done.faulted("m.rq: line 2, column 22", lines=1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("m.rq", "-d", "s.csv"), "gives no time"),
        (("m.rq", "-d", "s.csv", "--time", "noon"), "not 'noon'"),
        (("m.rq", "-d", "nothing.csv", "--time", "field:ts"), "there is no such file"),
        (("nothing.rq", "-d", "s.csv"), "the mapping cannot be read"),
        (("s.csv", "-d", "s.csv"), "a mapping is .rq, .rml.ttl or .jsonld"),
        (("m.rq", "-d", "m.rq", "--time", "field:ts"), "a stream with a mapping reads"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    folder: Path, arguments: tuple[str, ...], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    called("map", *arguments).faulted(word)


@pytest.mark.usefixtures("spark")
def test_run_reads_records(folder: Path) -> None:
    text = f"SELECT ?s ?t FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] {{ ?s <http://ex/temp> ?t }}"
    given = ("--mapping", f"{STREAM}={folder / 'm.rq'}", "--time", f"{STREAM}=field:ts")
    letters = folder / "dead.ndjson"
    done = called("run", "-q", text, "-s", f"{STREAM}={folder / 's.csv'}", *given, "--dead-letters", letters)
    assert done.status == 0, done
    rows = [json.loads(line)["row"] for line in done.out.splitlines()]
    assert sorted(row["t"]["value"] for row in rows) == ["21.5", "22"]
    [letter] = [json.loads(line) for line in letters.read_text().splitlines()]
    assert (letter["line"], letter["text"], letter["reason"]) == (4, "c,23", "it has 2 fields, not 3")


def test_a_mapping_is_for_a_stream_that_is_there() -> None:
    done = called("run", "-q", "ASK {}", "--mapping", "http://ex/other=m.rq")
    assert done.status == 2
    assert "there is no stream http://ex/other" in done.err
