"""The examples of the C-SPARQL papers report what was worked out by hand from the semantics.

The commands come from the examples' own README. A process costs seconds, so only two are run as a user would;
what the others ask for goes to one engine after the other, in one Spark session.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from pyspark.sql import SparkSession

from rheos import Engine
from rheos.answers.continuous import Answer
from tests.cli.command import ROOT, called, rheos

EXAMPLES = ROOT / "examples" / "csparql"
README = EXAMPLES / "README.md"
PAGE = (ROOT / "docs" / "csparql.md").read_text(encoding="utf-8")
STRING = "http://www.w3.org/2001/XMLSchema#string"

PROCESSES = ("growing-districts", "untidy-tollgates")
ONE_SHOT = ("sensors-per-street", "users-per-topic-at-once")

# The instants of an answer without rows, which NDJSON does not show: a window holds something, but no match.
WITHOUT_ROWS = {
    "cars-detected-entering": ["2026-03-02T10:05:00Z", "2026-03-02T10:35:00Z"],
    "cars-turning-from-golgi-into-celoria": ["2026-03-02T12:06:00Z"],
}

Line = dict[str, Any]


@dataclass
class Example:
    """A command of the README, by the title above it."""

    name: str
    arguments: list[str]
    queries: list[Path] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = iter(self.arguments[1:])
        for argument in given:
            if argument.startswith("--"):
                self.options.setdefault(argument, []).append(next(given))
            else:
                self.queries.append(ROOT / argument)

    def pairs(self, option: str) -> Iterator[tuple[str, str]]:
        """Each IRI=FILE of an option."""
        for value in self.options.get(option, []):
            iri, _, path = value.rpartition("=")
            yield iri, str(ROOT / path)

    @property
    def files(self) -> set[Path]:
        paths = [path for option in ("--stream", "--graph") for _, path in self.pairs(option)]
        paths += [str(ROOT / path) for path in self.options.get("--data", [])]
        return {*self.queries, *map(Path, paths)}

    @property
    def expected(self) -> Path:
        return EXAMPLES / f"{self.name}.expected.ndjson"


def examples() -> dict[str, Example]:
    text = README.read_text(encoding="utf-8")
    found = re.findall(r"^### (\S+)$(?:(?!^#).)*?^```sh\nrheos (.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {name: Example(name, shlex.split(command.replace("\\\n", " "))) for name, command in found}


ALL = examples()


def lines(text: str) -> list[Line]:
    return [json.loads(line) for line in text.splitlines()]


def check(found: Iterable[Line], example: Example) -> None:
    """The same lines, the instants in order; inside an instant the order is free."""
    found, expected = list(found), lines(example.expected.read_text(encoding="utf-8"))
    assert [line.get("at") for line in found] == [line.get("at") for line in expected]
    assert counted(found) == counted(expected)


def counted(found: Iterable[Line]) -> Counter[str]:
    return Counter(json.dumps(line, sort_keys=True) for line in found)


def json_term(term: object) -> Line:
    match term:
        case ox.NamedNode():
            return {"type": "uri", "value": term.value}
        case ox.Literal() if term.datatype.value == STRING:
            return {"type": "literal", "value": term.value}
        case ox.Literal():
            return {"type": "literal", "value": term.value, "datatype": term.datatype.value}
    raise AssertionError(f"no example has {term}")


# --- the folder ----------------------------------------------------------------------------------------


def test_every_file_has_its_place() -> None:
    """No query without a command and expected results, no stream or data that nothing uses."""
    used = {README} | {path for example in ALL.values() for path in (*example.files, example.expected)}
    assert {path for path in EXAMPLES.iterdir() if path.is_file()} == used
    assert {query.stem for example in ALL.values() for query in example.queries} <= set(ALL)


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
    for line in lines(ALL["cars-entering-per-district-stream"].expected.read_text(encoding="utf-8")):
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


@pytest.mark.parametrize("name", PROCESSES)
def test_as_a_user_runs_it(name: str) -> None:
    outcome = rheos(*ALL[name].arguments, cwd=ROOT)
    assert outcome.status == 0, outcome.err
    check(lines(outcome.out), ALL[name])
    assert outcome.err in PAGE  # what the page shows of late and bad elements; else nothing


@pytest.mark.parametrize("name", ONE_SHOT)
def test_without_a_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = called(*ALL[name].arguments)
    assert (outcome.status, outcome.err) == (0, "")
    check(lines(outcome.out), ALL[name])


@pytest.mark.parametrize("name", [name for name in ALL if name not in (*PROCESSES, *ONE_SHOT)])
def test_reports(name: str, spark: SparkSession) -> None:
    example = ALL[name]
    assert set(example.options) <= {"--stream", "--data", "--graph", "--format"}
    with Engine(spark=spark) as engine:
        for path in example.options.get("--data", []):
            engine.load(ROOT / path)
        for iri, path in example.pairs("--graph"):
            engine.load(path, graph=iri)
        for iri, path in example.pairs("--stream"):
            engine.add_stream(iri, path)
        (query,) = example.queries
        handle = engine.register(query.read_text(encoding="utf-8"))
        engine.run()
        check(reported(handle.name, handle.results), example)
        assert [time(answer) for answer in handle.results if not len(answer)] == WITHOUT_ROWS.get(name, [])


def time(answer: Answer) -> str:
    return answer.at.isoformat().replace("+00:00", "Z")


def reported(name: str, answers: Iterable[Answer]) -> Iterator[Line]:
    """Answers in the form of NDJSON; one without rows has no line."""
    for answer in answers:
        head = {"query": name, "at": time(answer)}
        for row in answer.rows or []:
            yield {**head, "row": {variable: json_term(term) for variable, term in row.items()}}
        for triple in answer.triples or []:
            yield {**head, "triple": f"{triple} ."}


# --- the page on the language --------------------------------------------------------------------------


def test_the_queries_of_the_page(spark: SparkSession, tmp_path: Path) -> None:
    """All run together over the stream of the page, and report the table below each; a stream has none."""
    blocks: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    contents = dict(reversed(blocks))
    stream = tmp_path / "tolls.nq"
    stream.write_text(contents["nquads"], encoding="utf-8")
    with Engine(spark=spark) as engine:
        engine.load(data=contents["turtle"], format="turtle")
        engine.add_stream("http://ex.org/tolls", stream)
        handles = [engine.register(text) for language, text in blocks if language == "sparql"]
        engine.run()
        found = {
            handle.name: sorted(cells(handle.name, handle.variables, handle.results))
            for handle in handles
            if not handle.makes_stream
        }
    expected = {}
    for language, text in blocks:
        if language == "csv":
            _, *rows = csv.reader(text.splitlines())
            expected[rows[0][0]] = sorted(rows)
    assert found == expected


def cells(name: str, variables: Iterable[str], answers: Iterable[Answer]) -> Iterator[list[str]]:
    for answer in answers:
        for row in answer.rows or []:
            yield [name, time(answer), *(json_term(row[variable])["value"] for variable in variables)]
