"""Shapes: generated CQELS-QL queries, each of a shape of its own, always the same ones.

Unlike the instances of a template, they differ in more than constants. A query says whom it is about, through
which window it sees them, what it asks of the place, and perhaps of somebody else there. Most are cheap joins
about one or a few people; one in five has an aggregate, DISTINCT, OPTIONAL or NOT EXISTS.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from rheos_bench.conference.building import FLOORS, PEOPLE
from rheos_bench.conference.vocabulary import (
    FLOOR_PLAN,
    PREFIXES,
    RFID,
    author_name,
    paper,
    person,
    proceedings,
)

EARLY_PAPERS = 160  # all by people of the stream
EARLY_PROCEEDINGS = 20  # which some of them have edited

# --- what a query is made of ------------------------------------------------------------------------------

WHO = (
    '?person foaf:name "$Name$" .',
    '?person foaf:name ?name . FILTER (?name IN ("$Name$", "$Another$"))',
    "VALUES ?person { $Person$ $Neighbour$ }",
    "FILTER (?person = $Person$)",
    "$Paper$ dc:creator ?person . $Paper$ dcterms:partOf ?volume .",
    "$Proceedings$ swrc:editor ?person .",
)
WINDOWS = ("NOW", "TRIPLES 1", "RANGE 2s")
PLACE = (
    "",
    "GRAPH <$Plan$> { ?loc lv:name ?place }",
    "GRAPH <$Plan$> { ?loc lv:name ?place . ?loc lv:desc ?about }",
    "GRAPH <$Plan$> { ?loc lv:floor ?floor } FILTER (?floor >= $Floor$)",
    "GRAPH <$Plan$> { ?loc lv:connected ?next . ?next lv:name ?place }",
)
COMPANY = (
    "STREAM <$Stream$> [$Window$] { ?other lv:detectedAt ?loc } FILTER (?other != ?person)",
    "STREAM <$Stream$> [$Window$] { ?other lv:detectedAt ?near } GRAPH <$Plan$> { ?loc lv:connected ?near }",
    "STREAM <$Stream$> [$Window$] { ?other lv:detectedAt ?loc } "
    "?shared dc:creator ?person . ?shared dc:creator ?other . FILTER (?other != ?person)",
)
COMPANY_WINDOWS = ("RANGE 5s", "TRIPLES 20", "RANGE 10s SLIDE 5s")
COMPANIES = ("", *(text.replace("$Window$", window) for text in COMPANY for window in COMPANY_WINDOWS))


class Form(NamedTuple):
    """What stands around the parts above: before them, after them in WHERE, and after WHERE."""

    head: str
    more: str = ""
    tail: str = ""


FORMS = {
    Form("SELECT *"): 4,
    Form("SELECT ?person ?loc"): 4,
    Form("CONSTRUCT { ?person lv:visits ?loc }"): 3,
    Form("SELECT *", "BIND (STR(?loc) AS ?text)"): 2,
    Form("SELECT *", "{ ?item dc:creator ?person } UNION { ?item swrc:editor ?person }"): 2,
    Form("SELECT DISTINCT ?person ?loc"): 1,
    Form("SELECT ?loc (COUNT(*) AS ?times)", "", "GROUP BY ?loc"): 1,
    Form("SELECT *", "OPTIONAL { ?edited swrc:editor ?person }"): 1,
    Form("SELECT *", "FILTER NOT EXISTS { ?edited swrc:editor ?person }"): 1,
}


class Shape(NamedTuple):
    """The parts of one query, with placeholders for constants."""

    window: str
    who: str
    place: str
    company: str
    form: Form

    @property
    def text(self) -> str:
        lines = [self.who, self.place, self.company, self.form.more]
        inside = "".join(f"  {line}\n" for line in lines if line)
        stream = f"  STREAM <$Stream$> [{self.window}] {{ ?person lv:detectedAt ?loc }}\n"
        return f"{PREFIXES}\n{self.form.head}\nWHERE {{\n{stream}{inside}}}\n{self.form.tail}".rstrip() + "\n"


# --- and the queries --------------------------------------------------------------------------------------


def different(number: int = 256, seed: int = 42) -> list[str]:
    """So many queries, each with constants of its own. There are some 8,000 shapes to choose from."""
    chance = random.Random(seed)
    shapes: dict[Shape, None] = {}
    while len(shapes) < number:
        alone = chance.random() < 0.5
        shape = Shape(
            chance.choice(WINDOWS),
            chance.choice(WHO),
            chance.choice(PLACE),
            "" if alone else chance.choice(COMPANIES[1:]),
            chance.choices(list(FORMS), list(FORMS.values()))[0],
        )
        shapes[shape] = None
    return [_with_constants(shape.text, at) for at, shape in enumerate(shapes)]


def _with_constants(text: str, at: int) -> str:
    constants = {
        "Stream": RFID,
        "Plan": FLOOR_PLAN,
        "Name": author_name(at % PEOPLE),
        "Another": author_name((at + 1) % PEOPLE),
        "Person": person(at % PEOPLE),
        "Neighbour": person((at + 1) % PEOPLE),
        "Paper": paper(at % EARLY_PAPERS),
        "Proceedings": proceedings(at % EARLY_PROCEEDINGS),
        "Floor": str(1 + at % (FLOORS - 1)),
    }
    for name, constant in constants.items():
        text = text.replace(f"${name}$", constant)
    return text
