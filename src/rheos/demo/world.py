"""The world of the demo: the names of all things in the city, and the static data about them as Turtle.

Both are in one module, so that the streams mention nothing that the static data does not know.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

CITY = "http://example.org/city#"

DISTRICTS = ("Brera", "Isola", "Lambrate", "Navigli", "Portello", "Ticinese")
GATES = tuple(f"gate{number}" for number in range(1, 13))
CAMERAS = tuple(f"camera{number}" for number in range(1, 10))
LIMITS = (30, 50, 70)  # km/h
ROOMS = ("Foyer", "Auditorium", "Aula1", "Aula2", "Library", "Terrace", "Cafe")
PEOPLE = (
    "Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jonas", "Kofi", "Lena",
    "Mateo", "Nadia", "Omar", "Petra", "Rosa", "Sven", "Tariq", "Uma",
)  # fmt: skip
COMPANIES = {"Acme": "Tools", "Borea": "Energy", "Cirrus": "Software", "Delphi": "Software", "Etna": "Energy"}
AGENCIES = ("Fides", "Minerva", "Stella")
BUOYS = ("buoyOuter", "buoyMiddle", "buoyInner")  # in the order in which a wave reaches them

# Where each district is; its gates are around it.
GEO = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_PLACES = {
    "Brera": (45.4719, 9.1881), "Isola": (45.4875, 9.1893), "Lambrate": (45.4830, 9.2420),
    "Navigli": (45.4500, 9.1700), "Portello": (45.4870, 9.1490), "Ticinese": (45.4560, 9.1820),
}  # fmt: skip
_AROUND = ((0.0035, -0.0060), (-0.0030, 0.0065))  # degrees from the district to its first and second gate

# Doors between rooms, both ways.
_DOORS = (
    ("Foyer", "Auditorium"), ("Foyer", "Aula1"), ("Foyer", "Aula2"), ("Foyer", "Cafe"),
    ("Cafe", "Terrace"), ("Aula2", "Library"),
)  # fmt: skip

# The schema, for the query with entailment: every kind of sensor sees, whatever its property is called.
_SCHEMA = """\
:Tollgate rdfs:subClassOf :Sensor .
:Camera rdfs:subClassOf :Sensor .
:SpeedCamera rdfs:subClassOf :Camera .
:registers rdfs:subPropertyOf :sees .
:photographs rdfs:subPropertyOf :sees .
:enteredBy rdfs:domain :District .
"""


def turtle() -> str:
    """The static data as Turtle."""
    lines = [f"@prefix : <{CITY}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    lines += [f"@prefix geo: <{GEO}> .", _SCHEMA]
    lines += (f"{subject} {predicate} {object} ." for subject, predicate, object in _facts())
    return "\n".join(lines) + "\n"


def doors() -> dict[str, list[str]]:
    """For each room, the rooms that can be reached from it."""
    return {room: [b if a == room else a for a, b in _DOORS if room in (a, b)] for room in ROOMS}


def _facts() -> Iterator[tuple[str, str, str]]:
    for number, gate in enumerate(GATES):
        yield f":{gate}", "a", ":Tollgate"
        district = DISTRICTS[number % len(DISTRICTS)]
        yield f":{gate}", ":in", f":{district}"
        north, east = _AROUND[number // len(DISTRICTS)]
        yield f":{gate}", "geo:lat", f"{_PLACES[district][0] + north:.4f}"
        yield f":{gate}", "geo:long", f"{_PLACES[district][1] + east:.4f}"
    for number, camera in enumerate(CAMERAS):
        yield f":{camera}", "a", ":SpeedCamera"
        yield f":{camera}", ":in", f":{DISTRICTS[number % len(DISTRICTS)]}"
        yield f":{camera}", ":limit", str(LIMITS[number % len(LIMITS)])
    for room, others in doors().items():
        yield f":{room}", ":nextTo", ", ".join(f":{other}" for other in others)
    for number, name in enumerate(PEOPLE):
        yield f":{name}", ":name", f'"{name}"'
        # Papers of two or three authors: everybody has some co-authors, and nobody has everybody as one.
        yield f":paper{number}", ":author", f":{name}, :{PEOPLE[(number + 1) % len(PEOPLE)]}"
        if number % 4 == 0:
            yield f":paper{number}", ":author", f":{PEOPLE[(number + 7) % len(PEOPLE)]}"
    for company, sector in COMPANIES.items():
        yield f":{company}", ":sector", f'"{sector}"'
    for outer, inner in itertools.pairwise(BUOYS):
        yield f":{outer}", ":seawardOf", f":{inner}"
