"""Building: a generated stream of badges that are detected in rooms, and the floor plan.

The building has four floors, each with a hall and six rooms. A hall leads to each room of its floor, and
rooms lead to their neighbours on the same side. Stairs join the halls of neighbouring floors, and a lift
joins the lowest hall and the highest. That makes 28 names, descriptions and floors, and 44 connections in
both directions: 172 triples, as many as in the floor plan of the CQELS paper.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from rheos_bench.conference.vocabulary import LV, person, room
from rheos_bench.data import XSD
from rheos_bench.streams import START, times

FLOORS = 4
PER_FLOOR = 7
ROOMS = FLOORS * PER_FLOOR

PEOPLE = 200
PER_SECOND = 100
MOVES = 0.3  # how often a badge is detected in another room than before


def doors() -> list[tuple[int, int]]:
    """The pairs of connected rooms, each pair once. The hall is the first room of its floor."""
    pairs = []
    for hall in range(0, ROOMS, PER_FLOOR):
        pairs += [(hall, hall + place) for place in range(1, PER_FLOOR)]
        pairs += [(hall + place, hall + place + 1) for place in (1, 2, 4, 5)]
    stairs = [(hall, hall + PER_FLOOR) for hall in range(0, ROOMS - PER_FLOOR, PER_FLOOR)]
    return [*pairs, *stairs, (0, ROOMS - PER_FLOOR)]


def neighbours() -> list[list[int]]:
    """For each room, the rooms that are connected with it."""
    found: list[list[int]] = [[] for _ in range(ROOMS)]
    for one, other in doors():
        found[one].append(other)
        found[other].append(one)
    return found


def floor_plan() -> list[str]:
    """The lines of the floor plan, as N-Triples."""
    made = []
    for number in range(ROOMS):
        floor, place = divmod(number, PER_FLOOR)
        name = f"Room {floor}.{place}" if place else f"Hall {floor}"
        about = f"Seats for {10 * place + 20}, floor {floor}" if place else f"The way to all of floor {floor}"
        made += [
            f'{room(number)} <{LV}name> "{name}" .\n',
            f'{room(number)} <{LV}desc> "{about}" .\n',
            f'{room(number)} <{LV}floor> "{floor}"^^<{XSD}integer> .\n',
        ]
    for number, others in enumerate(neighbours()):
        made += [f"{room(number)} <{LV}connected> {room(other)} .\n" for other in others]
    return made


def detections(
    elements: int,
    seed: int = 42,
    people: int = PEOPLE,
    per_second: int = PER_SECOND,
    start: datetime = START,
) -> Iterator[str]:
    """The elements of the stream in order of time. Mostly a person is detected in the same room as before."""
    pick = random.Random(seed).random
    ways = [[room(other) for other in others] for others in neighbours()]
    number_of = {room(number): number for number in range(ROOMS)}
    at = [room(int(pick() * ROOMS)) for _ in range(people)]
    heads = [f"{person(number)} <{LV}detectedAt> " for number in range(people)]
    for time in times(elements, per_second, start):
        who = int(pick() * people)
        if pick() < MOVES:
            options = ways[number_of[at[who]]]
            at[who] = options[int(pick() * len(options))]
        yield f"{heads[who]}{at[who]} {time} .\n"


def write_stream(
    path: Path, elements: int, seed: int = 42, people: int = PEOPLE, per_second: int = PER_SECOND
) -> Path:
    """Write the stream to a file."""
    with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(detections(elements, seed, people, per_second))
    return path


def write_floor_plan(path: Path) -> Path:
    """Write the floor plan to a file of N-Triples, to be loaded as a named graph."""
    path.write_text("".join(floor_plan()), encoding="utf-8")
    return path
