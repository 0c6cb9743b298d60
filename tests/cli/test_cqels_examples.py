"""The examples of the CQELS paper report what was worked out by hand from the semantics.

The commands come from the examples' own README. One is run as a user would; what the others ask for goes to
one engine after the other, in one Spark session. That the reference reports the same is a test of its own, in
`tests/continuous/test_arrival_examples.py`.
"""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from tests.cli.command import ROOT, rheos
from tests.cli.examples import check_folder, examples, lines

EXAMPLES = ROOT / "examples" / "cqels"
PROCESS = "reachable-people"
ALL = examples(EXAMPLES)


def test_every_file_has_its_place() -> None:
    check_folder(EXAMPLES, ALL)
    assert len(ALL) == 6


def test_table_1() -> None:
    """What the paper prints: the triples of the output stream, with their t."""
    found = []
    for line in ALL["localisation"].expected_lines:
        triple = re.fullmatch(r"<\S+#(\w+)> <\S+#reaches> <\S+#(\w+)> \.", line["triple"])
        second = re.fullmatch(r"1970-01-01T00:00:0(\d)Z", line["at"])
        assert triple
        assert second
        found.append((triple[1], triple[2], int(second[1])))
    assert found == [("m0", "m1", 1), ("m1", "m2", 2), ("m2", "m3", 3)]


@pytest.mark.slow
def test_as_a_user_runs_it() -> None:
    outcome = rheos(*ALL[PROCESS].arguments, cwd=ROOT)
    assert (outcome.status, outcome.err) == (0, "")
    ALL[PROCESS].check(lines(outcome.out))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if name != PROCESS])
def test_reports(name: str, spark: SparkSession) -> None:
    answers = ALL[name].check_engine(spark)
    assert all(len(answer) for answer in answers)  # where nothing is new, nothing is said
