"""Streams: a generated stream of passages at toll gates, and a static graph of the city.

A passage is one triple, `passage:N v:through gate:G`. There is a fixed number of passages in each second of
event time. The static graph has the street of each gate and the district of each street. The same seed always
gives the same stream and the same graph.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rheos_bench.data import CITY, VOCABULARY, XSD

STREAM = "http://example.org/stream/passages"
START = datetime(2026, 1, 1, tzinfo=UTC)
PER_SECOND = 1000
GATES = 100
DISTRICTS = 20
STAY = 4  # seconds from entering the city to leaving it
STATIC_TRIPLES = 10_000


def lines(
    triples: int, seed: int = 42, per_second: int = PER_SECOND, start: datetime = START
) -> Iterator[str]:
    """The elements of the stream in order of time, each a line with its line feed."""
    pick = random.Random(seed).random
    for number, time in enumerate(times(triples, per_second, start)):
        yield f"<{CITY}passage/{number}> <{VOCABULARY}through> <{CITY}gate/{int(pick() * GATES)}> {time} .\n"


def cars(number: int) -> Iterator[str]:
    """Elements of another stream: cars enter at gates and leave STAY seconds later, by turns."""
    for at, time in enumerate(times(number, PER_SECOND, START)):
        does, car = ("leaves", at // 2 - STAY * PER_SECOND // 2) if at % 2 else ("enters", at // 2)
        yield f"<{CITY}car/{car}> <{VOCABULARY}{does}> <{CITY}gate/{car * 7 % GATES}> {time} .\n"


def times(number: int, per_second: int, start: datetime) -> Iterator[str]:
    """So many times at equal distances, as terms. The first is one step after the start."""
    step = 1_000_000 // per_second
    second = ""
    for micros in range(step, (number + 1) * step, step):
        seconds, microsecond = divmod(micros, 1_000_000)
        if not second or microsecond < step:
            second = (start + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        yield f'"{second}.{microsecond:06}Z"^^<{XSD}dateTime>'


def static_lines(triples: int = STATIC_TRIPLES, seed: int = 42) -> list[str]:
    """The city in exactly so many triples: gates in streets, and streets in districts, with names and
    lengths."""
    chance = random.Random(seed)
    made = [
        f"<{CITY}gate/{gate}> <{VOCABULARY}street> <{CITY}street/{chance.randrange(1000)}> .\n"
        for gate in range(GATES)
    ]
    street = 0
    while len(made) < triples:
        here = f"<{CITY}street/{street}>"
        made += [
            f"{here} <{VOCABULARY}district> <{CITY}district/{street % DISTRICTS}> .\n",
            f'{here} <{VOCABULARY}name> "Street {street}" .\n',
            f'{here} <{VOCABULARY}length> "{chance.randrange(50, 3000)}"^^<{XSD}integer> .\n',
        ]
        street += 1
    return made[:triples]


def write_stream(path: Path, triples: int, seed: int = 42) -> Path:
    """Write the stream to a file."""
    with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(lines(triples, seed))
    return path


def write_static(path: Path, triples: int = STATIC_TRIPLES, seed: int = 42) -> Path:
    """Write the city to a file of N-Triples."""
    path.write_text("".join(static_lines(triples, seed)), encoding="utf-8")
    return path
