"""Plants: a generated tree of classes of plants, and a stream of sightings.

The tree is like that of the class `Tracheobionta` in the EP-SPARQL paper, which has 40,080 sub-classes, the
deepest eight levels below it. Each new class goes below an older one, so a small tree is the beginning of a
large one. Every specimen has one class. Half of the specimens are in the tree; the others are mushrooms and
lichens, which are not. A sighting is one triple: a specimen, `seenAt`, and a place.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from rheos_bench.applications.elements import element, write
from rheos_bench.data import TYPE

PLANTS = "http://example.org/plants#"
STREAM = "http://example.org/stream/sightings"
ROOT = "<http://spire.umbc.edu/ontologies/EthanPlants.owl#Tracheobionta>"

CLASSES = 40_080
DEPTH = 8
SPECIMENS = 1000
PLACES = 50
OTHERS = ("Mushroom", "Lichen")

_SUB_CLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
_SEEN_AT = f"<{PLANTS}seenAt>"


def plant_class(number: int) -> str:
    """A class of the tree; the root is number 0."""
    return f"<{PLANTS}Class{number}>" if number else ROOT


def specimen(number: int) -> str:
    return f"<{PLANTS}specimen{number}>"


def parents(classes: int = CLASSES, seed: int = 42) -> list[int]:
    """For each class from 1 on, the class above it. Each of the first eight is below the one before it."""
    pick = random.Random(seed).random
    depths = [0]
    open_ones = [0]  # classes that may get another class below them
    found = []
    for number in range(1, classes + 1):
        # Because of the square, the oldest classes get most of the others.
        above = number - 1 if number <= DEPTH else open_ones[int(pick() ** 2 * len(open_ones))]
        found.append(above)
        depths.append(depths[above] + 1)
        if depths[number] < DEPTH:
            open_ones.append(number)
    return found


def static_lines(classes: int = CLASSES, specimens: int = SPECIMENS, seed: int = 42) -> Iterator[str]:
    """The tree and the classes of the specimens, as N-Triples."""
    for number, above in enumerate(parents(classes, seed), start=1):
        yield f"{plant_class(number)} {_SUB_CLASS} {plant_class(above)} .\n"
    pick = random.Random(seed).random
    for number in range(specimens):
        inside = plant_class(int(pick() * (classes + 1)))
        outside = f"<{PLANTS}{OTHERS[int(pick() * len(OTHERS))]}>"
        yield f"{specimen(number)} {TYPE} {outside if number % 2 else inside} .\n"


def lines(elements: int, specimens: int = SPECIMENS, seed: int = 42, per_second: int = 1) -> Iterator[str]:
    """The sightings in order of time, with a fixed number in each second."""
    pick = random.Random(seed).random
    for number in range(elements):
        seen, place = specimen(int(pick() * specimens)), f"<{PLANTS}place{int(pick() * PLACES)}>"
        yield element(f"{seen} {_SEEN_AT} {place}", number // per_second)


def write_classes(path: Path, classes: int = CLASSES, specimens: int = SPECIMENS, seed: int = 42) -> Path:
    """Write the tree and the classes of the specimens to a file of N-Triples."""
    return write(path, static_lines(classes, specimens, seed))


def write_sightings(
    path: Path, elements: int, specimens: int = SPECIMENS, seed: int = 42, per_second: int = 1
) -> Path:
    """Write the stream to a file."""
    return write(path, lines(elements, specimens, seed, per_second))
