"""The examples of EP-SPARQL in the reference: files, texts and expected results are what they should be."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.cli.command import ROOT
from tests.cli.examples import counted, examples
from tests.continuous.event_examples import QUERIES, TEXTS, data, ndjson, reports
from tests.continuous.event_query import text
from tests.continuous.example_files import tokens

EXAMPLES = {
    (folder, name): example
    for folder in TEXTS
    for name, example in examples(ROOT / "examples" / folder).items()
}


@pytest.mark.parametrize(("folder", "name"), EXAMPLES)
def test_the_query_is_that_of_the_benchmark(folder: str, name: str) -> None:
    """The file has comments above it; the reference has it once more."""
    written = (ROOT / "examples" / folder / f"{name}.rq").read_text(encoding="utf-8")
    assert re.fullmatch(r"(?:# .*\n)+\n((?s:.*))", written)[1] == TEXTS[folder][name]
    assert tokens(text(QUERIES[folder][name], name)) == tokens(TEXTS[folder][name])


def test_every_query_is_an_example() -> None:
    assert set(EXAMPLES) == {(folder, name) for folder, queries in QUERIES.items() for name in queries}


@pytest.mark.parametrize("path", data())
def test_the_data_is_that_of_the_benchmark(path: str) -> None:
    assert (ROOT / "examples" / path).read_text(encoding="utf-8") == "".join(data()[path])


@pytest.mark.parametrize(("folder", "name"), EXAMPLES)
def test_the_reference_reports_what_is_expected(folder: str, name: str) -> None:
    example = EXAMPLES[folder, name]
    found = [ndjson(*report) for report in reports(folder, example)]
    assert [line["at"] for line in found] == [line["at"] for line in example.expected_lines]
    assert counted(found) == counted(example.expected_lines)


def test_entailment_and_path_agree() -> None:
    by_class, by_path = (
        [{**line, "query": ""} for line in EXAMPLES["class-tree", name].expected_lines]
        for name in ("vascular-plants", "vascular-plants-by-path")
    )
    assert counted(by_class) == counted(by_path)


def test_no_road_is_open_and_closed() -> None:
    lines = EXAMPLES["delivery", "open-roads"].expected_lines
    opened = {(line["at"], line["row"]["road"]["value"]) for line in lines if "row" in line}
    closed = {(line["at"], line["triple"].split()[0][1:-1]) for line in lines if "triple" in line}
    assert opened
    assert closed
    assert not opened & closed


def test_the_picture_is_that_of_the_expected_results() -> None:
    folder = ROOT / "examples" / "tsunami"
    rows = EXAMPLES["tsunami", "predicted-and-observed"].expected.read_text(encoding="utf-8")
    made = subprocess.run(
        [sys.executable, str(folder / "plot.py")], input=rows, capture_output=True, text=True, check=True
    )
    assert made.stdout == (folder / "plot.svg").read_text(encoding="utf-8")


def test_the_tsunami_is_in_the_picture() -> None:
    """Twice over the threshold, and each of four places warned of it."""
    over = [
        line["at"]
        for line in EXAMPLES["tsunami", "predicted-and-observed"].expected_lines
        if "row" in line and abs(float(line["row"]["difference"]["value"])) > 30
    ]
    warned = [line for line in EXAMPLES["tsunami", "detections"].expected_lines if "row" in line]
    assert len(over) == 2
    assert [line["at"] for line in warned] == [at for at in over for _ in range(4)]
    assert json.dumps(warned).count("Saint Paul") == 2
