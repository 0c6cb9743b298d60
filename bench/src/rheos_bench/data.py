"""Data: a generated city, as N-Triples. The same size and seed always give the same triples.

The city has boroughs, districts in them, shops, people, and sensors with readings. Their numbers follow from
the size: one shop for twenty people, four readings for five people, one sensor for a hundred readings. The
data is skewed as real data is: some people are known by many, most by few.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

CITY = "http://example.org/city/"
VOCABULARY = "http://example.org/vocabulary#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD = "http://www.w3.org/2001/XMLSchema#"

DISTRICTS = 60
BOROUGHS = 6
CATEGORIES = ("bakery", "bookshop", "cafe", "cinema", "florist", "grocer", "pharmacy", "tailor")
FIRST_NAMES = ("Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jonas")
SYLLABLES = ("ba", "cor", "del", "fen", "gri", "hal", "jo", "lem", "mar", "nov", "ost", "ros", "vel")

PER_PERSON = 12.75  # triples on average, with a person's share of shops and readings


def _iri(name: str) -> str:
    return f"<{CITY}{name}>"


def _property(name: str) -> str:
    return f"<{VOCABULARY}{name}>"


_PERSON = _property("Person")
_READING = _property("Reading")
_SHOP = _property("Shop")
_PART_OF = _property("partOf")
_LOCATED_IN = _property("locatedIn")
_CATEGORY = _property("category")
_RATING = _property("rating")
_NAME = _property("name")
_AGE = _property("age")
_LIVES_IN = _property("livesIn")
_WORKS_AT = _property("worksAt")
_INCOME = _property("income")
_KNOWS = _property("knows")
_EMAIL = _property("email")
_MENTOR = _property("mentor")
_SENSOR = _property("sensor")
_TIME = _property("time")
_VALUE = _property("value")


def people_in(triples: int) -> int:
    """The number of people in a city of so many triples."""
    return max(10, int(triples / PER_PERSON))


def lines(triples: int, seed: int = 42) -> Iterator[str]:
    """Exactly so many lines of N-Triples, each with its line feed."""
    chance = random.Random(seed)
    people = people_in(triples)
    shops = max(2, people // 20)
    blocks = chain(_places(chance, shops), _interleaved(chance, people, shops))
    return islice(chain.from_iterable(blocks), triples)


def write(path: Path, triples: int, seed: int = 42) -> Path:
    """Write the lines to a file; it is gzipped if its name ends in .gz."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(lines(triples, seed))
    return path


def _name(chance: random.Random) -> str:
    return "".join(chance.choices(SYLLABLES, k=3)).capitalize()


def _places(chance: random.Random, shops: int) -> Iterator[Iterable[str]]:
    """Boroughs and districts first, then the shops."""
    for borough in range(BOROUGHS):
        here = _iri(f"borough/{borough}")
        yield (
            f"{here} {TYPE} {_property('Borough')} .\n",
            f'{here} {_NAME} "{_name(chance)}" .\n',
            f"{here} {_PART_OF} {_iri('all')} .\n",
        )
    for district in range(DISTRICTS):
        here = _iri(f"district/{district}")
        yield (
            f"{here} {TYPE} {_property('District')} .\n",
            f'{here} {_NAME} "{_name(chance)}" .\n',
            f"{here} {_PART_OF} {_iri(f'borough/{district % BOROUGHS}')} .\n",
        )
    for shop in range(shops):
        here = _iri(f"shop/{shop}")
        yield (
            f"{here} {TYPE} {_SHOP} .\n",
            f'{here} {_NAME} "{_name(chance)}\'s" .\n',
            f"{here} {_LOCATED_IN} {_iri(f'district/{int(chance.random() * DISTRICTS)}')} .\n",
            f'{here} {_CATEGORY} "{chance.choice(CATEGORIES)}" .\n',
            f'{here} {_RATING} "{1 + chance.random() * 4:.1f}"^^<{XSD}decimal> .\n',
        )


def _interleaved(chance: random.Random, people: int, shops: int) -> Iterator[Iterable[str]]:
    """People without end, with readings between them: every part of the file has its share of both."""
    person = 0
    reading = 0
    while True:
        yield _person(chance, person, people, shops)
        if person % 5 in (0, 1, 2, 3):
            yield _reading(chance, reading)
            reading += 1
        person += 1


def _person(chance: random.Random, number: int, people: int, shops: int) -> Iterator[str]:
    pick = chance.random
    here = _iri(f"person/{number}")
    first = chance.choice(FIRST_NAMES)
    yield f"{here} {TYPE} {_PERSON} .\n"
    yield f'{here} {_NAME} "{first} {_name(chance)}" .\n'
    yield f'{here} {_AGE} "{int(pick() * 90)}"^^<{XSD}integer> .\n'
    yield f"{here} {_LIVES_IN} {_iri(f'district/{int(pick() * DISTRICTS)}')} .\n"
    yield f'{here} {_INCOME} "{12000 + pick() ** 3 * 180000:.2f}"^^<{XSD}decimal> .\n'
    # Because of the square, people with small numbers are known by many, and such shops are large.
    famous, other = int(pick() ** 2 * people), int(pick() * people)
    yield f"{here} {_KNOWS} {_iri(f'person/{famous}')} .\n"
    yield f"{here} {_KNOWS} {_iri(f'person/{other if other != famous else (other + 1) % people}')} .\n"
    if pick() < 0.6:
        yield f"{here} {_WORKS_AT} {_iri(f'shop/{int(pick() ** 2 * shops)}')} .\n"
    if pick() < 0.7:
        yield f'{here} {_EMAIL} "{first.lower()}{number}@example.org" .\n'
    if number:
        yield f"{here} {_MENTOR} {_iri(f'person/{number // 8}')} .\n"


def _reading(chance: random.Random, number: int) -> Iterator[str]:
    pick = chance.random
    here = _iri(f"reading/{number}")
    minute, second = divmod(number, 60)
    hour, minute = divmod(minute, 60)
    day, hour = divmod(hour, 24)
    time = f"2026-{1 + day // 28 % 12:02}-{1 + day % 28:02}T{hour:02}:{minute:02}:{second:02}Z"
    yield f"{here} {TYPE} {_READING} .\n"
    yield f"{here} {_SENSOR} {_iri(f'sensor/{int(pick() * (number // 100 + 1))}')} .\n"
    yield f'{here} {_TIME} "{time}"^^<{XSD}dateTime> .\n'
    yield f'{here} {_VALUE} "{pick() * 100:.2f}"^^<{XSD}decimal> .\n'
