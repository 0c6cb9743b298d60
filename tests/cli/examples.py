"""What the tests of the examples share: the README of a folder, or the page on a language, comes in, its
commands and reports go out.

A command of a README stands below the title that names it, `name.expected.ndjson` is what it must report.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rheos import Engine
from rheos.answers.continuous import Answer
from rheos.runtime.driver.handle import Handle
from tests.cli.command import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRING = "http://www.w3.org/2001/XMLSchema#string"

Line = dict[str, Any]


@dataclass
class Example:
    """A command of a README, by the title above it."""

    name: str
    folder: Path
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
        return self.folder / f"{self.name}.expected.ndjson"

    @property
    def expected_lines(self) -> list[Line]:
        return lines(self.expected.read_text(encoding="utf-8"))

    def check(self, found: Iterable[Line]) -> None:
        """The same lines, the instants in order; inside an instant the order is free."""
        found, expected = list(found), self.expected_lines
        assert [line.get("at") for line in found] == [line.get("at") for line in expected]
        assert counted(found) == counted(expected)

    def check_engine(self, spark: SparkSession) -> list[Answer]:
        """The same of an engine over the streams and data that the command names; all its answers."""
        assert set(self.options) <= {"--stream", "--data", "--graph", "--format", "--entailment"}
        (entailment,) = self.options.get("--entailment", ["none"])
        with Engine(spark=spark, entailment=entailment) as engine:
            for path in self.options.get("--data", []):
                engine.load(ROOT / path)
            for iri, path in self.pairs("--graph"):
                engine.load(path, graph=iri)
            for iri, path in self.pairs("--stream"):
                engine.add_stream(iri, path)
            handles = [
                engine.register(query.read_text(encoding="utf-8"), name=query.stem) for query in self.queries
            ]
            engine.run()
            results = [(answer, handle.name) for handle in handles for answer in handle.results]
        results.sort(key=lambda result: result[0].at)
        self.check(line for answer, name in results for line in reported(name, [answer]))
        return [answer for answer, _ in results]


def examples(folder: Path) -> dict[str, Example]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^### (\S+)$(?:(?!^#).)*?^```sh\nrheos (.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {name: Example(name, folder, shlex.split(command.replace("\\\n", " "))) for name, command in found}


def check_folder(folder: Path, all_examples: dict[str, Example], *others: str) -> None:
    """No query without a command and expected results, no stream or data that nothing uses."""
    used = {folder / name for name in ("README.md", *others)}
    used |= {path for example in all_examples.values() for path in (*example.files, example.expected)}
    assert {path for path in folder.iterdir() if path.is_file()} == used
    assert {query.stem for example in all_examples.values() for query in example.queries} <= set(all_examples)


# --- the page on a language -------------------------------------------------------------------------------


def blocks(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def check_page(page: str, engine: Engine) -> None:
    """All the queries of a page run together, and report the table below each; one that makes a stream has
    none. The engine has the streams and data of the page."""
    found = blocks(page)
    handles = [engine.register(text) for language, text in found if language == "sparql"]
    engine.run()
    tables = [list(csv.reader(text.splitlines())) for language, text in found if language == "csv"]
    expected = {rows[0][0]: [head, *sorted(rows)] for head, *rows in tables}
    reported = {
        handle.name: [["query", "at", *handle.info.columns], *sorted(cells(handle))]
        for handle in handles
        if not handle.makes_stream
    }
    assert reported == expected


def cells(handle: Handle) -> Iterator[list[str]]:
    for answer in handle.results:
        head = [handle.name, time(answer.at)]
        if answer.boolean is not None:
            yield [*head, str(answer.boolean).lower()]
        for row in answer.rows or []:
            yield [*head, *(json_term(row[variable])["value"] for variable in handle.variables)]


def check_python(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code that is shown prints what its comments promise."""
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints: (.*)$", code, re.MULTILINE)


# --- lines of NDJSON --------------------------------------------------------------------------------------


def lines(text: str) -> list[Line]:
    return [json.loads(line) for line in text.splitlines()]


def counted(found: Iterable[Line]) -> Counter[str]:
    """How often each line is there; the names of blank nodes do not matter."""
    return Counter(re.sub(r"_:\w+", "_:", json.dumps(line, sort_keys=True)) for line in found)


def reported(name: str, answers: Iterable[Answer]) -> Iterator[Line]:
    """Answers in the form of NDJSON; one without rows has no line."""
    for answer in answers:
        head = {"query": name, "at": time(answer.at)}
        if answer.start is not None and answer.end is not None:
            head |= {"start": time(answer.start), "end": time(answer.end)}
        for row in answer.rows or []:
            yield {**head, "row": {variable: json_term(term) for variable, term in row.items()}}
        for triple in answer.triples or []:
            yield {**head, "triple": f"{triple} ."}


def time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def json_term(term: object) -> Line:
    match term:
        case ox.NamedNode():
            return {"type": "uri", "value": term.value}
        case ox.Literal() if term.datatype.value == STRING:
            return {"type": "literal", "value": term.value}
        case ox.Literal():
            return {"type": "literal", "value": term.value, "datatype": term.datatype.value}
    raise AssertionError(f"no example has {term}")
