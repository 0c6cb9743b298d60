"""The queries of the demo: nothing comes in, their texts go out, each with its name and what it is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rheos.engine import DIALECTS, ENTAILMENTS
from rheos.syntax.detect import detect

FOLDER = Path(__file__).parent / "queries"

# In the order in which they are shown; the first comment of each says what it is about.
NAMES = (
    "district-traffic",
    "arrivals",
    "full-districts",
    "crowded-rooms",
    "market",
    "sea-level",
    "speeding",
    "colleagues",
)
EVENTS = ("rebounds", "foretold", "wave")
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


def queries() -> tuple[DemoQuery, ...]:
    """All that the engine has the language and the entailment for."""
    names = [*NAMES]
    names += EVENTS if "epsparql" in DIALECTS else ()
    names += ENTAILED if "rdfs" in ENTAILMENTS else ()
    return tuple(DemoQuery(name, (FOLDER / f"{name}.rq").read_text()) for name in names)
