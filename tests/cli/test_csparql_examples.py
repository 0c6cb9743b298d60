"""The examples of the C-SPARQL papers report what was worked out by hand from the semantics.

The commands come from the examples' own README. A process costs seconds, so only two are run as a user would;
what the others ask for goes to one engine after the other, in one Spark session.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rheos import Engine
from tests.cli.command import ROOT, called, command_line, rheos
from tests.cli.examples import blocks, check_folder, check_page, check_python, examples, lines, time

EXAMPLES = ROOT / "examples" / "csparql"
PAGE = (ROOT / "docs" / "csparql.md").read_text(encoding="utf-8")

PROCESSES = ("growing-districts", "untidy-tollgates")
ONE_SHOT = ("sensors-per-street", "users-per-topic-at-once")

# The instants of an answer without rows, which NDJSON does not show: a window holds something, but no match.
WITHOUT_ROWS = {
    "cars-detected-entering": ["2026-03-02T10:05:00Z", "2026-03-02T10:35:00Z"],
    "cars-turning-from-golgi-into-celoria": ["2026-03-02T12:06:00Z"],
}

ALL = examples(EXAMPLES)


# --- the folder ----------------------------------------------------------------------------------------


def test_every_file_has_its_place() -> None:
    check_folder(EXAMPLES, ALL)


def test_the_table_of_section_5_7() -> None:
    """What the paper prints: triples and the numbers of their instants, which come every five minutes."""
    printed = [
        ("Baggio", "100", 400),
        ("Barona", "75", 400),
        ("Baggio", "130", 401),
        ("Barona", "95", 401),
        ("Fiera", "65", 401),
    ]
    found = []
    for line in ALL["cars-entering-per-district-stream"].expected_lines:
        triple = re.fullmatch(r'<\S+#IT-MI-(\w+)> <\S+#has-entering-cars> "(\d+)"\S* \.', line["triple"])
        since_1970 = datetime.fromisoformat(line["at"]) - datetime.fromisoformat("1970-01-01T00:00:00Z")
        assert triple
        found.append((triple[1], triple[2], since_1970 / timedelta(minutes=5)))
    assert found == printed


def test_the_glue_streams_begin_with_the_snapshot() -> None:
    begins = {
        tuple(Path(path).read_text(encoding="utf-8").split("\n\n")[0].splitlines()[1:])
        for example in ALL.values()
        for iri, path in example.pairs("--stream")
        if "glue" in iri
    }
    (snapshot,) = begins
    assert len(snapshot) == 14
    assert "The Proposal on imdb.com" in snapshot[1]
    assert "Mario Kart Wii on gamefaqs.com" in snapshot[8]


# --- what they report ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSES)
def test_as_a_user_runs_it(name: str) -> None:
    outcome = rheos(*ALL[name].arguments, cwd=ROOT)
    assert outcome.status == 0, outcome.err
    ALL[name].check(lines(outcome.out))
    assert outcome.err in PAGE  # what the page shows of late and bad elements; else nothing


@pytest.mark.parametrize("name", ONE_SHOT)
def test_without_a_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = called(*ALL[name].arguments)
    assert (outcome.status, outcome.err) == (0, "")
    ALL[name].check(lines(outcome.out))


@pytest.mark.parametrize("name", [name for name in ALL if name not in (*PROCESSES, *ONE_SHOT)])
def test_reports(name: str, spark: SparkSession) -> None:
    answers = ALL[name].check_engine(spark)
    assert [time(answer.at) for answer in answers if not len(answer)] == WITHOUT_ROWS.get(name, [])


# --- the page on the language --------------------------------------------------------------------------


@pytest.mark.usefixtures("spark")
def test_the_python_of_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    [code] = [text for kind, text in blocks(PAGE) if kind == "python"]
    check_python(code, capsys)


@pytest.mark.slow
def test_the_command_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    [command] = [text for kind, text in blocks(PAGE) if kind == "sh"]
    outcome = rheos(*command_line(command.replace("\\\n", " ")), cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    ALL["growing-districts"].check(lines((tmp_path / "growing.ndjson").read_text()))


def test_the_queries_of_the_page(spark: SparkSession, tmp_path: Path) -> None:
    contents = dict(reversed(blocks(PAGE)))
    stream = tmp_path / "tolls.nq"
    stream.write_text(contents["nquads"], encoding="utf-8")
    with Engine(spark=spark) as engine:
        engine.load(data=contents["turtle"], format="turtle")
        engine.add_stream("http://ex.org/tolls", stream)
        check_page(PAGE, engine)
