"""CityBench's queries answer, the languages agree where they mean the same, and two are computed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos.answers.continuous import Answer
from rheos_bench.city.published import LANGUAGES, NUMBERS, Change, queries, query
from tests.bench import city, city_by_hand
from tests.bench.city import Row, at_instants, needs_citybench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [needs_citybench, pytest.mark.slow]

# At this pace the records of a stream are 5 s apart or more, and windows are 3 s long. Only what was recorded
# at the same time is ever in a window together, whether its older end belongs to it (CQELS-QL) or not
# (C-SPARQL).
APART, SECONDS = 60, 150
# At this pace windows overlap, and hold about five records of a road.
TOGETHER = 500

# What C-SPARQL and CQELS-QL both project. Q11 asks whether in one, and lists in the other. Q12 reports
# a count at every instant in one, and when it changes in the other.
ALIKE = {
    1: "obId1 obId2 v1 v2",
    2: "obId1 obId2 obId3 obId4 v1 v2 v3 v4",
    3: "obId1 obId3 v1 v3",
    4: "evtId title obId2 lat1 lon1 lat2 lon2",
    5: "evtId title obId2 lat2 lon2",
    6: "obId1 obId2 lat1 lon1 lat2 lon2",
    7: "obId1 obId2 v1 v2",
    8: "obId1 obId2 v1 v2",
    9: "obId1 obId2 v1 v2",
    10: "obId1 obId2",
}
# What C-SPARQL and RSP-QL both project; what else there is differs as above.
ALIKE_IN_RSPQL = {**ALIKE, 3: "obId1 obId3 v1 v3 avgCongest", 4: "evtId title obId2 lat1 lon1 lat2 lon2"}

# Where the published queries of the languages ask for different things, the others ask as C-SPARQL does.
ADAPTED = {
    ("cqels", 6): [Change("[range 20s slide 1s]", "[range 3s]", "the window of C-SPARQL")],
    ("cqels", 10): [Change("AarhusPollutionData197626", "AarhusPollutionData184892", "C-SPARQL's sensor")],
    ("rspql", 2): [
        Change(f"?p{number} a ct:{kind} .", "", "C-SPARQL asks for properties of any kind")
        for number, kind in enumerate(("Temperature", "Humidity", "WindSpeed", "CongestionLevel"), 1)
    ],
}


def named(language: str, number: int) -> str:
    """The name of the query that can be compared."""
    return f"{language}-q{number}" + ("-adapted" if (language, number) in ADAPTED else "")


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[Answer]]:
    adapted = []
    for (language, number), changes in ADAPTED.items():
        one = query(language, number)
        own = Change(one.name, f"{one.name}-adapted", "a name of its own")
        changes = [own, *changes] if language == "rspql" else changes
        adapted.append(replace(one, variant="adapted", changes=(*one.changes, *changes)))
    streams = city.written(tmp_path_factory.mktemp("apart"), APART, SECONDS)
    return city.answered(spark, streams, [*queries(), *adapted])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", NUMBERS)
def test_it_answers(answers: dict[str, Sequence[Answer]], language: str, number: int) -> None:
    found = answers[query(language, number).name]
    if number == 12:  # more than three of what comes every 5 s are never in a window of 3 s
        assert not sum(len(answer.rows or []) for answer in found)
    elif (language, number) == ("csparql", 11):  # there is always something in a window that is reported
        assert found
        assert not any(answer.boolean for answer in found)
    else:
        assert sum(len(answer.rows or []) for answer in found)


@pytest.mark.parametrize("number", ALIKE)
def test_what_csparql_ever_shows_is_what_cqels_emits(
    answers: dict[str, Sequence[Answer]], number: int
) -> None:
    variables = ALIKE[number].split()
    shown = at_instants(answers[f"csparql-q{number}"], variables)
    emitted: Counter[Row] = Counter()
    for some in at_instants(answers[named("cqels", number)], variables).values():
        emitted += some
    assert emitted
    assert all(some.items() <= emitted.items() for some in shown.values())
    assert emitted.keys() == {row for some in shown.values() for row in some}


@pytest.mark.parametrize("number", ALIKE_IN_RSPQL)
def test_rspql_reports_what_csparql_reports(answers: dict[str, Sequence[Answer]], number: int) -> None:
    """At every instant, and each row as often."""
    variables = ALIKE_IN_RSPQL[number].split()
    found = at_instants(answers[named("rspql", number)], variables)
    assert found
    assert found == at_instants(answers[f"csparql-q{number}"], variables)


def test_rspql_lists_the_weather_that_cqels_lists(answers: dict[str, Sequence[Answer]]) -> None:
    shown, emitted = (
        {row for some in at_instants(answers[f"{language}-q11"], ["obId1"]).values() for row in some}
        for language in ("rspql", "cqels")
    )
    assert shown == emitted != set()


# --- by hand -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return city.written(tmp_path_factory.mktemp("together"), TOGETHER, 40)


@pytest.fixture(scope="module")
def found(spark: SparkSession, streams: dict[str, Path]) -> dict[str, Sequence[Answer]]:
    asked = [query(language, number) for language in LANGUAGES for number in (1, 7, 12)]
    return city.answered(spark, streams, asked)


def pairs(answers: Sequence[Answer]) -> city_by_hand.Found:
    """The rows of Q1 or Q7, with numbers."""
    return {
        at: Counter(
            {
                (one.strip("<>"), other.strip("<>"), number(v1), number(v2)): count
                for (one, other, v1, v2), count in some.items()
                if one is not None and other is not None
            }
        )
        for at, some in at_instants(answers, ("obId1", "obId2", "v1", "v2")).items()
    }


def number(literal: str | None) -> Decimal:
    assert literal is not None
    return Decimal(literal.split('"')[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_q1_by_hand(found: dict[str, Sequence[Answer]], streams: dict[str, Path], language: str) -> None:
    loop = city_by_hand.when_complete if language == "cqels" else city_by_hand.at_every_second
    expected = loop(*city_by_hand.congestion(streams), city_by_hand.always)
    assert len(expected) > 30
    assert pairs(found[f"{language}-q1"]) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_q7_by_hand(found: dict[str, Sequence[Answer]], streams: dict[str, Path], language: str) -> None:
    loop = city_by_hand.when_complete if language == "cqels" else city_by_hand.at_every_second
    garages = city_by_hand.vacancies(streams)
    expected = loop(*garages, city_by_hand.full)
    assert 0 < len(expected) < len(loop(*garages, city_by_hand.always))
    assert pairs(found[f"{language}-q7"]) == expected


def test_q12_counts(found: dict[str, Sequence[Answer]]) -> None:
    """About five records of a road are in a window, so that the counts are 4, 5 or 6."""
    counts = {language: at_instants(found[f"{language}-q12"], ("obCnt",)) for language in LANGUAGES}
    for some in counts.values():
        assert {number(value) for at_once in some.values() for (value,) in at_once} <= {4, 5, 6}
        assert len(some) > 10
    assert counts["rspql"] == counts["csparql"]
