"""Delivery: the generated map of a city, the tours of agents, and a stream of traffic.

The city is a grid of one-way streets that lead east and north, away from the depot. So nobody passes the same
place twice, and nobody can come back to a road not taken. A tour is a list of places farther and farther from
the depot. An agent stays some minutes with each customer. Then, and at every place on the way, she asks for
the way to the next customer and takes an open road that leads there. If there is none, she waits and asks
again. Meanwhile roads are closed and opened; on average, more than half are closed.

A request is three triples with the same time: by whom, from where, to where.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rheos_bench.applications.elements import MINUTE, element, write

CITY = "http://example.org/delivery#"
STREAM = "http://example.org/stream/traffic"

WIDTH = 10
AGENTS = 10
STOPS = 20
CLOSED = 0.55  # part of the roads, on average
CHANGES = 0.1  # part of the roads whose state is drawn anew in a minute
VISIT, WAIT = 4, 2  # minutes with a customer, and until an agent asks again

_START, _END, _LEADS_TO, _AGENT, _PLACE, _NEXT, _IS_AT, _BY, _FROM, _TO, _TURNS, _BLOCKED, _OPEN = (
    f"<{CITY}{name}>"
    for name in (
        "start", "end", "leadsTo", "agent", "place", "next", "isAt", "by", "from", "to", "turns", "Blocked",
        "Open",
    )
)  # fmt: skip

Place = tuple[int, int]
Road = tuple[Place, Place]


def place(at: Place) -> str:
    return f"<{CITY}place{at[0]}-{at[1]}>"


def road(along: Road) -> str:
    (x, y), (east, _) = along
    return f"<{CITY}{'east' if east > x else 'north'}{x}-{y}>"


def agent(number: int) -> str:
    return f"<{CITY}agent{number}>"


# --- the map ----------------------------------------------------------------------------------------------


def roads(width: int = WIDTH) -> list[Road]:
    places = [(x, y) for x in range(width) for y in range(width)]
    return [((x, y), end) for x, y in places for end in ((x + 1, y), (x, y + 1)) if max(end) < width]


def tours(width: int = WIDTH, agents: int = AGENTS, stops: int = STOPS, seed: int = 42) -> list[list[Place]]:
    """The places that each agent has to visit, in order."""
    pick = random.Random(seed).random
    found = []
    for _ in range(agents):
        columns, rows = (sorted(int(pick() * width) for _ in range(stops)) for _ in range(2))
        found.append(list(dict.fromkeys(zip(columns, rows, strict=True))))
    return found


def static_lines(
    width: int = WIDTH, agents: int = AGENTS, stops: int = STOPS, seed: int = 42
) -> Iterator[str]:
    """The map and the tours, as N-Triples."""
    for along in roads(width):
        start, end = map(place, along)
        yield f"{road(along)} {_START} {start} .\n"
        yield f"{road(along)} {_END} {end} .\n"
        yield f"{start} {_LEADS_TO} {end} .\n"
    for number, tour in enumerate(tours(width, agents, stops, seed)):
        for at, (here, following) in enumerate(pairwise(tour)):
            stop = f"<{CITY}stop{number}-{at}>"
            yield f"{stop} {_AGENT} {agent(number)} .\n"
            yield f"{stop} {_PLACE} {place(here)} .\n"
            yield f"{stop} {_NEXT} {place(following)} .\n"


# --- the traffic ------------------------------------------------------------------------------------------


@dataclass
class Agent:
    """An agent: where she is or will be next, and the minutes at which she arrives there and asks."""

    number: int
    tour: list[Place]
    here: Place
    arrives: int = 0
    asks: int | None = None


def lines(
    minutes: int, width: int = WIDTH, agents: int = AGENTS, stops: int = STOPS, seed: int = 42
) -> Iterator[str]:
    """The elements of the stream in order of time. In each minute roads change first, then agents arrive,
    then they ask."""
    chance = random.Random(f"{seed} traffic")
    pick = chance.random
    closed: set[Road] = set()
    on_tour = [
        Agent(number, tour[1:], tour[0]) for number, tour in enumerate(tours(width, agents, stops, seed))
    ]
    requests = 0
    for minute in range(minutes):
        now = minute * MINUTE
        for along in roads(width):
            if minute and pick() >= CHANGES:
                continue
            if (pick() < CLOSED) is not (along in closed):
                closed ^= {along}
                state = _BLOCKED if along in closed else _OPEN
                yield element(f"{road(along)} {_TURNS} {state}", now)
        for one in on_tour:
            if one.arrives == minute:
                yield element(f"{agent(one.number)} {_IS_AT} {place(one.here)}", now + 20)
                visiting = minute == 0 or one.here == one.tour[0]
                if minute and visiting:
                    one.tour.pop(0)
                one.asks = (minute + VISIT if visiting else minute) if one.tour else None
        for one in on_tour:
            if one.asks == minute:
                request = f"<{CITY}request{requests}>"
                requests += 1
                for predicate, value in (
                    (_BY, agent(one.number)),
                    (_FROM, place(one.here)),
                    (_TO, place(one.tour[0])),
                ):
                    yield element(f"{request} {predicate} {value}", now + 40)
                ways = [along for along in leading(one.here, one.tour[0]) if along not in closed]
                if ways:
                    one.here = ways[int(pick() * len(ways))][1]
                    one.arrives, one.asks = minute + 1 + int(3 * pick()), None
                else:
                    one.asks = minute + WAIT


def leading(here: Place, there: Place) -> list[Road]:
    """The roads from a place that lead to another one."""
    x, y = here
    return [(here, end) for end in ((x + 1, y), (x, y + 1)) if end[0] <= there[0] and end[1] <= there[1]]


def write_city(
    path: Path, width: int = WIDTH, agents: int = AGENTS, stops: int = STOPS, seed: int = 42
) -> Path:
    """Write the map and the tours to a file of N-Triples."""
    return write(path, static_lines(width, agents, stops, seed))


def write_traffic(
    path: Path, minutes: int, width: int = WIDTH, agents: int = AGENTS, stops: int = STOPS, seed: int = 42
) -> Path:
    """Write the stream to a file."""
    return write(path, lines(minutes, width, agents, stops, seed))
