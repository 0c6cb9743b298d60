"""Two of CityBench's queries by hand: loops over the files of records, without RDF and without an engine.

Q1 joins the congestion on two roads, Q7 asks whether one of two garages is full. C-SPARQL and RSP-QL see
e - 3 s < time ≤ e at every whole second e, CQELS-QL what is at most 3 s older than what came last.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

SECOND = 1_000_000
RANGE = 3 * SECOND
SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
ROADS = ("AarhusTrafficData182955", "AarhusTrafficData158505")
GARAGES = ("AarhusParkingDataKALKVAERKSVEJ", "AarhusParkingDataSKOLEBAKKEN")


class Observed(NamedTuple):
    time: int
    name: str
    value: Decimal


Pair = tuple[str, str, Decimal, Decimal]
Found = dict[int, Counter[Pair]]


def congestion(paths: Mapping[str, Path]) -> tuple[list[Observed], list[Observed]]:
    first, second = (list(_roads(paths[name], name)) for name in ROADS)
    return first, second


def vacancies(paths: Mapping[str, Path]) -> tuple[list[Observed], list[Observed]]:
    first, second = (list(_garages(paths[name], name)) for name in GARAGES)
    return first, second


def _roads(path: Path, name: str) -> Iterator[Observed]:
    with path.open() as lines:
        for record in csv.DictReader(lines):
            time = record["TIMESTAMP"]
            yield Observed(_time(time), _name(name, "CongestionLevel", time), Decimal(record["vehicleCount"]))


def _garages(path: Path, name: str) -> Iterator[Observed]:
    with path.open() as lines:
        for record in csv.DictReader(lines):
            time, free = record["updatetime"], int(record["totalspaces"]) - int(record["vehiclecount"])
            yield Observed(_time(time), _name(name, "ParkingVacancy", time), Decimal(free))


def _time(text: str) -> int:
    at = datetime.fromisoformat(text)
    return int(at.timestamp()) * SECOND + at.microsecond


def _name(stream: str, kind: str, time: str) -> str:
    return f"{SERVICES}{stream}-{kind}-{quote(time, safe='')}"


def full(one: Observed, other: Observed) -> bool:
    return one.value < 1 or other.value < 1


def always(one: Observed, other: Observed) -> bool:
    return True


Condition = Callable[[Observed, Observed], bool]


def at_every_second(first: list[Observed], second: list[Observed], condition: Condition) -> Found:
    """The pairs in both windows at every whole second, from the first record until the last is in one."""
    times = [observed.time for observed in first + second]
    found: Found = {}
    for at in range(_up(min(times)), _up(max(times)) + 1, SECOND):
        pairs = Counter(
            (one.name, other.name, one.value, other.value)
            for one in first
            for other in second
            if at - RANGE < one.time <= at and at - RANGE < other.time <= at and condition(one, other)
        )
        if pairs:
            found[at] = pairs
    return found


def when_complete(first: list[Observed], second: list[Observed], condition: Condition) -> Found:
    """Each pair that is at most the range apart, once, when the later of both comes."""
    found: Found = {}
    for one in first:
        for other in second:
            if abs(one.time - other.time) <= RANGE and condition(one, other):
                pair = (one.name, other.name, one.value, other.value)
                found.setdefault(max(one.time, other.time), Counter())[pair] += 1
    return found


def _up(time: int) -> int:
    return -(-time // SECOND) * SECOND
