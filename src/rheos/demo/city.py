"""The simulated city of the demo: its events in a span of time, as stream elements in N-Quads.

Rush hours, waves and crashes come about every minute, so that a viewer soon has something to see. All events
follow from the seed and the times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from rheos.answers.continuous import time_text
from rheos.demo import world
from rheos.terms import XSD

STREAMS = ("tollgates", "cameras", "badges", "prices", "ratings", "buoys")

SECOND = 1_000_000

# Events per second on each stream. The constants below say how often special events come.
_CARS, _PHOTOS, _STEPS, _TICKS, _RATINGS, _READINGS = 40.0, 12.0, 12.0, 7.0, 1.5, 6.0
_RUSH = 60.0  # seconds from one rush hour to the next
_WAVE = 45.0  # seconds from one wave to the next
_BETWEEN = 3.0  # seconds that a wave takes from one buoy to the next
_CRASH = 25.0  # seconds from one crash of a price to the next
_LOW = 3.0  # seconds that a crash lasts
_STOLEN = 0.02  # the share of cars that are far too fast

Event = tuple[int, str]  # a time, and the triple that happens then


@dataclass
class City:
    """The state of the city: the rooms that people are in, and the prices of shares."""

    seed: int = 7
    rooms: dict[str, str] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._doors = world.doors()
        self._rated = 0
        self.rooms = {name: self._random.choice(world.ROOMS) for name in world.PEOPLE}
        self.prices = {company: self._random.uniform(40, 160) for company in world.COMPANIES}

    def between(self, start: int, end: int) -> dict[str, bytes]:
        """The lines of each stream from one time until another, in microseconds."""
        made = {
            "tollgates": self._tollgates,
            "cameras": self._cameras,
            "badges": self._badges,
            "prices": self._prices,
            "ratings": self._ratings,
            "buoys": self._buoys,
        }
        return {
            name: "".join(line(time, triple) for time, triple in events(start, end)).encode()
            for name, events in made.items()
        }

    def _times(self, start: int, end: int, rate: float) -> list[int]:
        """Random times in a span for something that happens `rate` times a second."""
        expected = rate * (end - start) / SECOND
        count = int(expected) + (self._random.random() < expected % 1)
        return sorted(self._random.randrange(start, end) for _ in range(count))

    def _tollgates(self, start: int, end: int) -> Iterator[Event]:
        rush = 1 + 0.6 * math.sin(2 * math.pi * start / SECOND / _RUSH)
        for time in self._times(start, end, _CARS * rush):
            # Each district has its busy time.
            weights = [
                1.2 + math.sin(2 * math.pi * (time / SECOND / _RUSH + at % len(world.DISTRICTS) / 6))
                for at in range(len(world.GATES))
            ]
            gate = self._random.choices(world.GATES, weights)[0]
            yield time, f"{iri(gate)} {iri('registers')} {iri(f'car{self._random.randrange(900)}')}"

    def _cameras(self, start: int, end: int) -> Iterator[Event]:
        for time in self._times(start, end, _PHOTOS):
            at = self._random.randrange(len(world.CAMERAS))
            limit = world.LIMITS[at % len(world.LIMITS)]
            fast = 1.8 if self._random.random() < _STOLEN else 0.82
            speed = round(self._random.gauss(limit * fast, limit * 0.09))
            car = iri(f"car{self._random.randrange(900)}")
            yield time, f"{iri(world.CAMERAS[at])} {iri('photographs')} {car}"
            yield time, f"{car} {iri('speed')} {literal(speed, 'integer')}"

    def _badges(self, start: int, end: int) -> Iterator[Event]:
        for time in self._times(start, end, _STEPS):
            who = self._random.choice(world.PEOPLE)
            if self._random.random() < 0.25:
                self.rooms[who] = self._random.choice(self._doors[self.rooms[who]])
            yield time, f"{iri(who)} {iri('detectedAt')} {iri(self.rooms[who])}"

    def _prices(self, start: int, end: int) -> Iterator[Event]:
        for time in self._times(start, end, _TICKS):
            company = self._random.choice(list(self.prices))
            known = self.prices[company] * math.exp(self._random.gauss(0, 0.004))
            self.prices[company] = min(max(known, 20), 400)
            number, since = divmod(time / SECOND, _CRASH)
            crashes = company == list(self.prices)[int(number) % len(self.prices)] and since < _LOW
            shown = self.prices[company] * (0.88 if crashes else 1)
            yield time, f"{iri(company)} {iri('hasStockPrice')} {literal(f'{shown:.2f}', 'decimal')}"

    def _ratings(self, start: int, end: int) -> Iterator[Event]:
        for time in self._times(start, end, _RATINGS):
            self._rated += 1
            rating = iri(f"rating{self._rated}")
            yield time, f"{rating} {iri('of')} {iri(self._random.choice(list(self.prices)))}"
            yield time, f"{rating} {iri('by')} {iri(self._random.choice(world.AGENCIES))}"
            yield time, f"{rating} {iri('grade')} {literal(self._random.randint(1, 9), 'integer')}"

    def _buoys(self, start: int, end: int) -> Iterator[Event]:
        for time in self._times(start, end, _READINGS):
            at = self._random.randrange(len(world.BUOYS))
            tide = 12 * math.sin(2 * math.pi * time / SECOND / 240)
            since = time / SECOND % _WAVE - at * _BETWEEN
            wave = 90 * math.exp(-((since - 1.5) ** 2)) if 0 < since < 4 else 0
            level = 10_000 + tide + wave + self._random.gauss(0, 3)
            yield time, f"{iri(world.BUOYS[at])} {iri('pressure')} {literal(f'{level:.1f}', 'decimal')}"


def iri(name: str) -> str:
    return f"<{world.CITY}{name}>"


def literal(value: object, type: str) -> str:
    return f'"{value}"^^<{XSD}{type}>'


def line(time: int, triple: str) -> str:
    return f"{triple} {literal(time_text(time), 'dateTime')} .\n"
