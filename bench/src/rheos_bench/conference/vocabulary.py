"""Vocabulary: the IRIs of people, rooms and papers of the conference, and the names of people."""

from __future__ import annotations

RFID = "http://deri.org/streams/rfid"
FLOOR_PLAN = "http://deri.org/floorplan/"
CONFERENCE = "http://example.org/conference/"

LV = "http://deri.org/floorplan/"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
FOAF = "http://xmlns.com/foaf/0.1/"
SWRC = "http://swrc.ontoware.org/ontology#"
BENCH = "http://localhost/vocabulary/bench/"  # of SP2Bench

PREFIXES = f"""\
PREFIX lv: <{LV}>
PREFIX dc: <{DC}>
PREFIX dcterms: <{DCTERMS}>
PREFIX foaf: <{FOAF}>
PREFIX swrc: <{SWRC}>
"""

FIRST_NAMES = (
    "Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jonas", "Kofi", "Lena",
    "Mateo", "Nadia", "Omar", "Petra", "Quentin", "Rosa", "Sven", "Tariq", "Uma", "Viktor", "Wanda", "Xenia",
    "Yusuf", "Zora", "Anton", "Beatriz", "Carlo", "Deniz", "Emma", "Felix",
)  # fmt: skip
# Two letters each, so that different syllables never give the same name.
SYLLABLES = tuple(consonant + vowel for consonant in "bcdfghjklmnprstvz" for vowel in "aeiou")[:64]

NAMES = len(FIRST_NAMES) * len(SYLLABLES) ** 3  # a power of two
_MIX = 5_184_389  # odd, so that no two products with it are equal modulo NAMES


def person(number: int) -> str:
    """The IRI of an author. The first authors are the people of the stream."""
    return f"<{CONFERENCE}person/{number}>"


def room(number: int) -> str:
    return f"<{CONFERENCE}room/{number}>"


def paper(number: int) -> str:
    return f"<{CONFERENCE}paper/{number}>"


def proceedings(number: int) -> str:
    return f"<{CONFERENCE}proceedings/{number}>"


def author_name(number: int) -> str:
    """The name of an author. No two of eight million are equal, and neighbours are not similar."""
    family, first = divmod(number * _MIX % NAMES, len(FIRST_NAMES))
    family, one = divmod(family, len(SYLLABLES))
    two, three = divmod(family, len(SYLLABLES))
    name = SYLLABLES[one] + SYLLABLES[two] + SYLLABLES[three]
    return f"{FIRST_NAMES[first]} {name.capitalize()}"
