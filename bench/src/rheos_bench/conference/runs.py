"""Runs of the whole engine on the conference. The files are made when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph as ox

from rheos import Engine
from rheos.cli.progress import progress
from rheos_bench.conference.bibliography import write_bibliography
from rheos_bench.conference.building import PEOPLE, PER_SECOND, write_floor_plan, write_stream
from rheos_bench.conference.loops import static_store
from rheos_bench.conference.vocabulary import FLOOR_PLAN, RFID
from rheos_bench.runs import Run, measured


@dataclass(frozen=True, slots=True)
class Ticks:
    """A stream file: its number of elements, of people in the building, and of elements in a second."""

    number: int
    people: int = PEOPLE
    per_second: int = PER_SECOND


@dataclass
class Conference:
    """The files in a folder, and an engine that has read some of them."""

    engine: Engine
    folder: Path
    starts: list[float] = field(default_factory=list)
    loaded: int = -1
    _stores: dict[int, ox.Store] = field(default_factory=dict)

    def stream(self, ticks: Ticks) -> Path:
        path = self.folder / f"stream-{ticks.number}-{ticks.people}-{ticks.per_second}.nq"
        if not path.exists():
            with progress(f"generating {ticks.number:,} ticks"):
                write_stream(path, ticks.number, people=ticks.people, per_second=ticks.per_second)
        return path

    def bibliography(self, triples: int) -> Path:
        path = self.folder / f"papers-{triples}.nt"
        if not path.exists():
            with progress(f"generating {triples:,} triples"):
                write_bibliography(path, triples)
        return path

    @property
    def plan(self) -> Path:
        path = self.folder / "plan.nt"
        return path if path.exists() else write_floor_plan(path)

    def store(self, triples: int) -> ox.Store:
        """The static data for the loops without rheos. Only the last store is kept."""
        if triples not in self._stores:
            self._stores.clear()
            with progress(f"loading {triples:,} triples into pyoxigraph"):
                self._stores[triples] = static_store(self.bibliography(triples), self.plan)
        return self._stores[triples]

    def load(self, triples: int) -> None:
        """Load a bibliography of that size, and the floor plan."""
        if self.loaded != triples:
            path = self.bibliography(triples)
            with progress(f"loading {triples:,} triples"):
                load_static(self.engine, path, self.plan)
            self.loaded = triples

    def run(self, ticks: Ticks, texts: Sequence[str], *, keep: bool = False) -> Run:
        """Run all the queries on a stream. With `keep`, different answers are counted too."""
        found = measured(self.engine, RFID, self.stream(ticks), ticks.number, texts, keep=keep)
        self.starts.append(found.start)
        return found


def load_static(engine: Engine, bibliography: Path, plan: Path) -> None:
    engine.clear()
    engine.load(str(bibliography))
    engine.load(str(plan), graph=FLOOR_PLAN)
