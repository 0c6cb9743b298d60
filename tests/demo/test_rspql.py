"""The queries of the demo in RSP-QL, over a minute of the city, beside loops that count by hand."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.answers.continuous import EPOCH, Answer
from rheos.demo import world
from rheos.demo.catalogue import queries
from rheos.demo.city import SECOND
from tests.demo.test_city import START, lived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ELEMENT = re.compile(r"<[^#]*#(\w+)> <[^#]*#(\w+)> (?:<[^#]*#(\w+)>|\"([^\"]*)\")")


@pytest.fixture(scope="module")
def minute() -> dict[str, bytes]:
    return lived(60)


@pytest.fixture(scope="module")
def answers(
    spark: SparkSession, minute: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Answer]]:
    folder = tmp_path_factory.mktemp("city")
    with Engine(spark=spark, base="http://ex/") as engine:
        engine.load(data=world.turtle(), format="turtle")
        for name, lines in minute.items():
            path = Path(folder, f"{name}.nq")
            path.write_bytes(lines)
            engine.add_stream(f"http://ex/{name}", path)
        handles = {
            query.name: engine.register(query.text, keep=None)
            for query in queries()
            if query.language == "rspql"
        }
        engine.run()
        return {name: list(handle.results) for name, handle in handles.items()}


def elements(lines: bytes) -> list[tuple[int, str, str]]:
    """The time, the subject and the object of each element."""
    found = []
    for line in lines.decode().splitlines():
        said = ELEMENT.match(line)
        assert said is not None
        time = datetime.fromisoformat(line.split('"')[-2]) - EPOCH
        found.append((time // timedelta(microseconds=1), said[1], said[3] or said[4]))
    return found


def at(answer: Answer) -> int:
    return (answer.at - EPOCH) // timedelta(microseconds=1)


def short(term: object) -> str:
    return str(getattr(term, "value", term)).removeprefix(world.CITY)


def test_rising_traffic(answers: dict[str, list[Answer]], minute: dict[str, bytes]) -> None:
    cars = elements(minute["tollgates"])
    districts = {gate: world.DISTRICTS[at % len(world.DISTRICTS)] for at, gate in enumerate(world.GATES)}

    def counted(after: int, until: int) -> Counter[str]:
        # A window is a set: a car that comes through a gate twice is counted once.
        seen = {(gate, car) for time, gate, car in cars if after < time <= until}
        return Counter(districts[gate] for gate, _ in seen)

    reported = 0
    for answer in answers["rising-traffic"]:
        end = at(answer)
        now, before = counted(end - 10 * SECOND, end), counted(end - 20 * SECOND, end - 10 * SECOND)
        rows = {
            (short(row["district"]), int(short(row["before"])), int(short(row["now"])))
            for row in answer.rows or []
        }
        assert rows == {(d, before[d], now[d]) for d in now if before[d] and now[d] > before[d]}
        reported += len(rows)
    assert at(answers["rising-traffic"][0]) <= START + 2 * SECOND
    assert reported > 10


def test_falls(answers: dict[str, list[Answer]], minute: dict[str, bytes]) -> None:
    prices = [(time, company, Decimal(price)) for time, company, price in elements(minute["prices"])]

    def counted(after: int, until: int) -> Counter[str]:
        seen = [element for element in prices if after < element[0] <= until]
        # Solutions with their intervals are a set.
        pairs = {
            (one, other)
            for one in seen
            for other in seen
            if one[1] == other[1]
            and one[0] < other[0] < one[0] + 4 * SECOND
            and other[2] < one[2] * Decimal("0.92")
        }
        return Counter(world.COMPANIES[company] for (_, company, _), _ in pairs)

    reported = 0
    for answer in answers["falls"]:
        end = at(answer)
        rows = {short(row["sector"]): int(short(row["falls"])) for row in answer.rows or []}
        assert rows == counted(end - 20 * SECOND, end)
        reported += len(rows)
    assert reported > 5
