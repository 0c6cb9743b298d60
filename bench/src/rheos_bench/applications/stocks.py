"""Stocks: a generated stream of stock prices, ratings and acquisitions.

Every company has a new price at regular times. Mostly it changes by a few per cent. Now and then it crashes
to less than half within three prices, and recovers a little. Or it soars by more than half within three
prices; about half of the companies that soar buy another one meanwhile. Two agencies rate the companies from
time to time. Both rate down a company that crashes: the first at the first bad price, the second at the
third.

A rating is three triples with the same time: of which company, by which agency, and a grade from 1 to 9.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rheos_bench.applications.elements import DAY, HOUR, decimal, element, integer, write

STOCKS = "http://example.org/stocks#"
STREAM = "http://example.org/stream/stocks"

NAMES = ("ACME", "Borealis", "Cirrus", "Dorado", "Estuary", "Fjord", "Glacier", "Harmattan")
AGENCIES = ("Farsight", "Hindsight")
WANDERS = 0.04  # the largest usual change from one price to the next
RETURNS = 0.05  # how much of the way back to its usual price a price goes in one step
CRASHES, SOARS = 0.05, 0.05  # part of the prices at which it begins
BUYS = 0.5  # part of the times that a company soars
RATED = 0.12  # part of the prices that each agency rates

# The factors of a price, step by step.
CRASH = (0.8, 0.72, 0.75, 1.1, 1.08)
SOAR = (1.2, 1.18, 1.16)

_PRICE, _ACQUIRED, _OF, _BY, _GRADE = (
    f"<{STOCKS}{name}>" for name in ("hasStockPrice", "hasAcquired", "of", "by", "grade")
)


def company(number: int) -> str:
    name = NAMES[number] if number < len(NAMES) else f"Company{number}"
    return f"<{STOCKS}{name}>"


def agency(number: int) -> str:
    return f"<{STOCKS}{AGENCIES[number]}>"


def lines(days: int, seed: int = 42, companies: int = 3, every: int = DAY) -> Iterator[str]:
    """The elements of the stream in order of time, a price of each company every so many seconds."""
    pick = random.Random(seed).random
    walks = [walk(random.Random(f"{seed} {number}")) for number in range(companies)]
    grades = [[7] * len(AGENCIES) for _ in range(companies)]
    apart = min(HOUR, every // (companies + 1))
    rating = 0
    for day in range(0, days * DAY, every):
        for number in range(companies):
            time = day + number * apart
            price, crash, rise = next(walks[number])
            yield element(f"{company(number)} {_PRICE} {decimal(price, 2)}", time)
            if rise == 2 and pick() < BUYS:
                other = (number + 1 + int(pick() * (companies - 1))) % max(companies, 2)
                yield element(f"{company(number)} {_ACQUIRED} {company(other)}", time + apart // 3)
            for who in range(len(AGENCIES)):
                alarmed = crash == 1 + 2 * who
                if alarmed or pick() < RATED:
                    before = grades[number][who]
                    grades[number][who] = max(1, before - 3) if alarmed else 5 + int(4 * pick())
                    for predicate, value in (
                        (_OF, company(number)),
                        (_BY, agency(who)),
                        (_GRADE, integer(grades[number][who])),
                    ):
                        yield element(f"<{STOCKS}rating{rating}> {predicate} {value}", time + apart // 2)
                    rating += 1


def walk(chance: random.Random) -> Iterator[tuple[float, int, int]]:
    """Prices without end, each with its place in a crash and in a rise: from 1 on, or 0 if in none."""
    pick = chance.random
    usual = 20 + 180 * pick()
    price = usual
    while True:
        kind = pick()
        for place, step in enumerate(CRASH if kind < CRASHES else (), start=1):
            price *= step
            yield price, place, 0
        for place, step in enumerate(SOAR if kind > 1 - SOARS else (), start=1):
            price *= step
            yield price, 0, place
        price *= (1 + WANDERS * (2 * pick() - 1)) * (usual / price) ** RETURNS
        yield price, 0, 0


def prices(elements: int, seed: int = 42, every: int = DAY) -> Iterator[str]:
    """So many prices of ACME and nothing else, for averages over all of them."""
    for number, (price, _, _) in enumerate(islice(walk(random.Random(seed)), elements)):
        yield element(f"{company(0)} {_PRICE} {decimal(price, 2)}", number * every)


def trades(elements: int, companies: int = 100, per_second: int = 100, seed: int = 42) -> Iterator[str]:
    """So many prices of companies that take turns, with a fixed number in every second."""
    walks = [walk(random.Random(f"{seed} {number}")) for number in range(companies)]
    names = [company(number) for number in range(companies)]
    for number in range(elements):
        price, _, _ = next(walks[number % companies])
        yield element(f"{names[number % companies]} {_PRICE} {decimal(price, 2)}", number // per_second)


def write_stocks(path: Path, days: int, seed: int = 42, companies: int = 3, every: int = DAY) -> Path:
    """Write the stream to a file."""
    return write(path, lines(days, seed, companies, every))


def write_prices(path: Path, elements: int, seed: int = 42, every: int = DAY) -> Path:
    """Write the prices of ACME to a file."""
    return write(path, prices(elements, seed, every))


def write_trades(
    path: Path, elements: int, companies: int = 100, per_second: int = 100, seed: int = 42
) -> Path:
    """Write the prices of many companies to a file."""
    return write(path, trades(elements, companies, per_second, seed))
