"""Bibliography: generated papers, their authors and their proceedings, as N-Triples.

It is like SP2Bench: proceedings with editors, and papers in them with one to six authors, more in each year.
It is written volume by volume and does not depend on where it ends, so a small bibliography is the beginning
of a large one. New authors come with every volume and stay for ten years; after that they publish only now
and then. So as the data grows there are more authors, but the papers and co-authors of each grow only with
its logarithm, as the CQELS paper observes. Some authors write much more than others: every eighth author has
many of the papers of the seven after it, every sixty-fourth still more.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path

from rheos_bench.conference.vocabulary import (
    BENCH,
    DC,
    DCTERMS,
    FOAF,
    NAMES,
    SWRC,
    author_name,
    paper,
    person,
    proceedings,
)
from rheos_bench.data import TYPE, XSD

FIRST_YEAR = 1970
FIRST_VOLUMES = 8  # of the first year
PAPERS = 40  # in a volume
NEW_AUTHORS = 50  # in a volume
CAREER = 10  # years
CREATORS = (1, 1, 2, 2, 2, 3, 3, 4, 4, 6)  # authors of a paper; each entry is as likely as the others
CIRCLE = 24  # the numbers of co-authors are at most so far from the middle of their circle
LATE = 0.02  # how often an author of any year takes part
SENIOR, MASTER = 0.3, 0.1  # a draw below these takes an eighth or a sixty-fourth author instead

LIMIT = (
    6 * NAMES
)  # triples: an author comes with more than six of them, and no two authors should share a name

TOPICS = (
    "joins", "streams", "windows", "indexes", "graphs", "ontologies", "caches", "rules", "queries", "sensors",
    "schemas", "proofs", "types", "games", "maps", "names", "events", "paths", "views", "clocks",
)  # fmt: skip
MANNERS = (
    "adaptive", "bounded", "continuous", "distributed", "exact", "fair", "granular", "hybrid", "incremental",
    "lazy", "minimal", "native", "open", "parallel", "quick", "robust", "shared", "typed", "uniform", "vague",
)  # fmt: skip


def lines(triples: int, seed: int = 42) -> Iterator[str]:
    """Exactly so many lines of N-Triples, all different, each with its line feed."""
    if triples > LIMIT:
        raise ValueError(f"a bibliography has at most {LIMIT:,} triples")
    return islice(chain.from_iterable(volumes(random.Random(seed))), triples)


def write_bibliography(path: Path, triples: int, seed: int = 42) -> Path:
    """Write the lines to a file."""
    with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(lines(triples, seed))
    return path


def volumes(chance: random.Random) -> Iterator[list[str]]:
    """The lines of each proceedings with its new authors, volume after volume, without end."""
    number = 0
    known: list[int] = []  # how many authors there were at the beginning of each year
    in_this_year = FIRST_VOLUMES
    for year in count(FIRST_YEAR):
        known.append(number * NEW_AUTHORS)
        oldest = known[-CAREER - 1] if len(known) > CAREER else 0
        for _ in range(in_this_year):
            yield _volume(chance, number, year, oldest)
            number += 1
        in_this_year += in_this_year // 7 + 1


_NAME = f"<{FOAF}name>"
_PERSON = f"{TYPE} <{FOAF}Person>"
_CREATOR = f"<{DC}creator>"
_TITLE = f"<{DC}title>"
_ISSUED = f"<{DCTERMS}issued>"
_PART_OF = f"<{DCTERMS}partOf>"
_EDITOR = f"<{SWRC}editor>"


def _volume(chance: random.Random, number: int, year: int, oldest: int) -> list[str]:
    pick = chance.random
    known = (number + 1) * NEW_AUTHORS
    made: list[str] = []
    for new in range(known - NEW_AUTHORS, known):
        who = person(new)
        made += (f"{who} {_PERSON} .\n", f'{who} {_NAME} "{author_name(new)}" .\n')

    here = proceedings(number)
    issued = f'{_ISSUED} "{year}"^^<{XSD}integer> .\n'
    made += (
        f"{here} {TYPE} <{BENCH}Proceedings> .\n",
        f'{here} {_TITLE} "Proceedings {number} of {year}" .\n',
        f"{here} {issued}",
    )
    editors = {(oldest + int(pick() * (known - oldest))) // 8 * 8 for _ in range(3)}
    made += [f"{here} {_EDITOR} {person(editor)} .\n" for editor in sorted(editors)]

    for one in range(number * PAPERS, (number + 1) * PAPERS):
        this = paper(one)
        manner, topic = MANNERS[int(pick() * len(MANNERS))], TOPICS[int(pick() * len(TOPICS))]
        made += (
            f"{this} {TYPE} <{BENCH}Inproceedings> .\n",
            f'{this} {_TITLE} "On {manner} {topic}, {one}" .\n',
            f"{this} {issued}",
            f"{this} {_PART_OF} {here} .\n",
        )
        middle = oldest + int(pick() * (known - oldest))
        first, width = max(0, middle - CIRCLE), min(known, middle + CIRCLE) - max(0, middle - CIRCLE)
        authors = set()
        for _ in range(CREATORS[int(pick() * len(CREATORS))]):
            author = first + int(pick() * width)
            chosen = pick()
            if chosen < MASTER:
                author = author // 64 * 64
            elif chosen < SENIOR:
                author = author // 8 * 8
            elif chosen > 1 - LATE:
                author = int(pick() * known)
            authors.add(author)
        made += [f"{this} {_CREATOR} {person(author)} .\n" for author in sorted(authors)]
    return made
