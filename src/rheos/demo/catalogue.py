"""The catalogue: the queries of the demo, each with its name and a line that says what it is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rheos.syntax.detect import detect

FOLDER = Path(__file__).parent / "queries"

# In the order in which they are shown. The first line of each file is a comment that says what it is about.
NAMES = (
    "district-traffic",
    "busy-gates",
    "rising-traffic",
    "arrivals",
    "full-districts",
    "crowded-rooms",
    "market",
    "falls",
    "sea-level",
    "speeding",
    "colleagues",
    "rebounds",
    "foretold",
    "wave",
    "sightings",
)
ENTAILED = ("sightings",)


@dataclass(frozen=True, slots=True)
class DemoQuery:
    name: str
    text: str

    @property
    def about(self) -> str:
        return self.text.partition("\n")[0].removeprefix("#").strip()

    @property
    def language(self) -> str:
        return detect(self.text)

    @property
    def entailment(self) -> str:
        return "rdfs" if self.name in ENTAILED else "none"


def queries() -> tuple[DemoQuery, ...]:
    return tuple(DemoQuery(name, (FOLDER / f"{name}.rq").read_text()) for name in NAMES)
