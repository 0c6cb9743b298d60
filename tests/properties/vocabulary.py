"""The small world of the random tests: terms, predicates and variables, each of one kind.

A variable's name says what it may be bound to, and a predicate's name what its objects are, so that
joins hit and most expressions have a value. Kinds, from narrow to wide: `int` is part of `num`, `str`
of `text`, and all are part of `any`; `calc` is for computed numbers, which never meet a number of the
data in a join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

EX = "http://ex/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PROLOGUE = f"PREFIX : <{EX}>\nPREFIX xsd: <{XSD}>\nPREFIX rdf: <{RDF}>\n"


class Chooser:
    """Draws of hypothesis under short names; shrinking prefers first choices, low numbers and False."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return options[0] if len(options) == 1 else self.draw(st.sampled_from(options))

    def weighted(self, options: dict[T, int]) -> T:
        return self.pick([option for option, weight in options.items() for _ in range(weight)])

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


class Dice(Chooser):
    """The same choices by a seed: faster than hypothesis and evenly spread, but nothing shrinks."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


@dataclass(frozen=True)
class Features:
    """Choices that hold for the data and the query together."""

    derived: bool = False  # derived integer types in the data
    dense: bool = False  # few nodes and predicates, so that patterns match many triples


# --- terms, as they are written in N-Quads -------------------------------------------------------


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


IRIS = [iri(name) for name in "abcd"]
GRAPHS = [iri("g1"), iri("g2")]
BLANKS = ["_:x", "_:y"]
NODES = [*IRIS, *BLANKS, GRAPHS[0]]
CLASSES = [iri("C"), iri("D")]
INTS = [typed(text, "integer") for text in ("0", "1", "2", "3", "10", "-1")]

# Oxigraph's store keeps numbers, booleans and times by value, not by lexical form, and makes every
# derived integer an xsd:integer. So numbers of the data have the lexical form that XSD calls
# canonical, decimals are not whole, and derived integers have values of their own.
NUMBERS = [
    *INTS, typed("1.5", "decimal"), typed("-0.5", "decimal"), typed("2.25", "decimal"),
    typed("1.0E0", "double"), typed("2.5E0", "double"), typed("1.5E0", "float"), typed("-3.0E1", "double"),
]  # fmt: skip
DERIVED = [
    typed("100", "byte"), typed("101", "short"), typed("102", "int"), typed("103", "long"),
    typed("104", "unsignedByte"), typed("105", "nonNegativeInteger"), typed("106", "positiveInteger"),
    typed("-107", "negativeInteger"), typed("-108", "nonPositiveInteger"), typed("109", "unsignedLong"),
]  # fmt: skip
STRINGS = ['"a"', '"b"', '"ab"', '""', '"Abc d"', '"10"', '"é"']
LANGUAGE_STRINGS = ['"a"@en', '"a"@fr', '"Chat"@en-gb', '"ab"@en']
TIMES = [
    typed(text, "dateTime")
    for text in (
        "2026-01-01T00:00:00Z", "2026-01-01T12:30:00Z", "2026-01-01T02:00:00+02:00",
        "2026-03-05T06:07:08.25Z",
        # far from the others, because a comparison with a time that has a zone is open within 14 hours
        "2020-02-29T10:00:00",
    )
]  # fmt: skip
BOOLEANS = [typed("true", "boolean"), typed("false", "boolean")]
ODD = [
    '"x"^^<http://ex/dt>', '"y"^^<http://ex/dt>', typed("abc", "integer"), typed("NaN", "double"),
    typed("INF", "double"), typed("2026-01-01", "date"), typed("maybe", "boolean"),
]  # fmt: skip

OBJECTS = {
    "node": NODES,
    "class": CLASSES,
    "int": INTS,
    "num": NUMBERS,
    "str": STRINGS,
    "text": [*STRINGS, *LANGUAGE_STRINGS],
    "time": TIMES,
    "bool": BOOLEANS,
    "any": [*ODD, *INTS[:3], *STRINGS[:3], *LANGUAGE_STRINGS[:3], *BOOLEANS, *IRIS[:2]],
}

# --- predicates and variables --------------------------------------------------------------------

PREDICATES = {
    ":p": "node", ":q": "node", ":r": "node", "a": "class", ":i": "int", ":n": "num",
    ":s": "str", ":l": "text", ":t": "time", ":b": "bool", ":v": "any",
}  # fmt: skip
PREDICATE_WEIGHTS = {
    ":p": 5, ":q": 4, ":r": 2, "a": 1, ":i": 3, ":n": 3, ":s": 2, ":l": 2, ":t": 1, ":b": 1, ":v": 2,
}  # fmt: skip
LINKS = [":p", ":q", ":r"]

VARIABLES = {
    "node": ["a", "b", "c", "d", "r"],
    "any": ["u", "v", "w"],
    "int": ["i", "j"],
    "num": ["n", "m"],
    "str": ["s", "t"],
    "text": ["l", "k"],
    "time": ["e", "f"],
    "bool": ["o"],
    "calc": ["x", "y", "z"],
    "graph": ["g", "h"],
    "predicate": ["p", "q"],
}
KIND = {name: kind for kind, names in VARIABLES.items() for name in names}

# which variables may stand where a term of a kind is found
HOLDERS = {
    "node": ["node", "any"],
    "class": ["any"],
    "int": ["int", "num", "any"],
    "num": ["num", "any"],
    "str": ["str", "text", "any"],
    "text": ["text", "any"],
    "time": ["time", "any"],
    "bool": ["bool", "any"],
    "any": ["any"],
}


def short(term: str) -> str:
    """A term of the data as it is written in a query."""
    if term.startswith(f"<{EX}"):
        return ":" + term[len(EX) + 1 : -1]
    lexical, _, datatype = term.partition("^^")
    if not datatype:
        return term
    name = datatype.removeprefix(f"<{XSD}").removesuffix(">")
    text = lexical[1:-1]
    if name == "integer" and text.lstrip("-").isdigit():
        return text
    if name in ("boolean", "decimal") and text != "maybe":
        return text
    if name == "double" and "E" in text:
        return text
    return f"{lexical}^^:dt" if datatype == "<http://ex/dt>" else f"{lexical}^^xsd:{name}"
