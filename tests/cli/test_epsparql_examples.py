"""The examples of the EP-SPARQL paper report what the reference of the tests does.

The commands come from the examples' own READMEs. One is run as a user would; what the others ask for goes to
one engine after the other, in one Spark session. That the reference reports what is expected is a test of its
own, in `tests/continuous/test_event_examples.py`.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.cli.command import ROOT, rheos
from tests.cli.examples import check_folder, examples, lines

FOLDERS = {"stocks": 8, "class-tree": 3, "delivery": 3, "tsunami": 3}
ALL = {
    (folder, name): example
    for folder in FOLDERS
    for name, example in examples(ROOT / "examples" / folder).items()
}
PROCESS = ("delivery", "open-roads")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_has_its_place(folder: str) -> None:
    here = {name: example for (place, name), example in ALL.items() if place == folder}
    check_folder(ROOT / "examples" / folder, here, *(["plot.py", "plot.svg"] if folder == "tsunami" else []))
    assert len(here) == FOLDERS[folder]


@pytest.mark.slow
def test_as_a_user_runs_it() -> None:
    outcome = rheos(*ALL[PROCESS].arguments, cwd=ROOT)
    said = "warning: open-roads: nothing bounds the duration of its solutions, so all events are remembered\n"
    assert (outcome.status, outcome.err) == (0, said)  # its OPTIONAL may look back for ever
    ALL[PROCESS].check(lines(outcome.out))


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name"), [key for key in ALL if key != PROCESS])
def test_reports(folder: str, name: str, spark: SparkSession) -> None:
    answers = ALL[folder, name].check_engine(spark)
    assert all(len(answer) for answer in answers)  # where nothing ends, nothing is said
