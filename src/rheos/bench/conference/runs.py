"""Runs of the whole engine on the conference: a stream and queries come in, what a run took goes out.

The files are made when they are first needed. Answers are written as NDJSON, counted and thrown away. A run
counts from when Spark has decided what the first batch reads, as in `rheos bench windows`: to start a
streaming query takes about as long for one tick as for a million, and is measured apart.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import pyoxigraph as ox

from rheos import Engine
from rheos.answers.formatter import Formatter
from rheos.bench.conference.bibliography import write_bibliography
from rheos.bench.conference.building import PEOPLE, PER_SECOND, write_floor_plan, write_stream
from rheos.bench.conference.loops import static_store
from rheos.bench.conference.vocabulary import FLOOR_PLAN, RFID
from rheos.cli.progress import progress


@dataclass
class Lines:
    """An output that counts the lines written to it, and keeps the different ones if told so."""

    keep: bool = False
    count: int = 0
    different: set[bytes] = field(default_factory=set)

    def write(self, content: bytes) -> int:
        self.count += content.count(b"\n")
        if self.keep:
            self.different.update(content.splitlines())
        return len(content)

    def flush(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Run:
    """What a run took, in seconds: all of it after the start, and what of that queries and their static parts
    report as theirs; and to register the queries, and to start."""

    ticks: int
    seconds: float
    evaluation: float
    static: float
    registering: float
    start: float
    answers: int
    answering: int  # queries that had an answer
    batches: int
    different: int = 0

    @property
    def per_tick(self) -> float:
        """Milliseconds."""
        return self.seconds * 1000 / self.ticks

    @property
    def rate(self) -> float:
        return self.ticks / self.seconds


@dataclass(frozen=True, slots=True)
class Ticks:
    """A stream file: so many elements, in a building with so many people, and so many a second."""

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
        """The static data for the loops without rheos; only the last one is kept."""
        if triples not in self._stores:
            self._stores.clear()
            with progress(f"loading {triples:,} triples into pyoxigraph"):
                self._stores[triples] = static_store(self.bibliography(triples), self.plan)
        return self._stores[triples]

    def load(self, triples: int) -> None:
        """Have a bibliography of that size, and the floor plan."""
        if self.loaded != triples:
            path = self.bibliography(triples)
            with progress(f"loading {triples:,} triples"):
                load_static(self.engine, path, self.plan)
            self.loaded = triples

    def run(self, ticks: Ticks, texts: Sequence[str], *, keep: bool = False) -> Run:
        """All the queries on a stream; `keep` to count different answers too."""
        found = measured(self.engine, self.stream(ticks), ticks.number, texts, keep=keep)
        self.starts.append(found.start)
        return found


def load_static(engine: Engine, bibliography: Path, plan: Path) -> None:
    engine.clear()
    engine.load(str(bibliography))
    engine.load(str(plan), graph=FLOOR_PLAN)


def measured(engine: Engine, stream: Path, ticks: int, texts: Sequence[str], *, keep: bool = False) -> Run:
    """One run of an engine that has its static data already."""
    engine.streaming.clear()
    engine.add_stream(RFID, str(stream))
    began = time.perf_counter()
    handles = [engine.register(text, name=f"q{at}", keep=False) for at, text in enumerate(texts)]
    registering = time.perf_counter() - began
    output = Lines(keep)
    engine.stream_to(output, Formatter("ndjson", [handle.info for handle in handles]))
    asked = time.time()
    engine.run()
    ended = time.time()
    first = (engine.streaming.folder / "spark" / "offsets" / "0").stat().st_mtime
    # A query reports its share of what its family took, and only if it has an answer.
    took = [m for handle in handles if (m := handle.metrics.milliseconds) is not None]
    return Run(
        ticks,
        ended - first,
        mean(took) * len(handles) / 1000 if took else 0.0,
        engine.metrics.static_milliseconds / 1000,
        registering,
        first - asked,
        output.count,
        sum(handle.metrics.rows > 0 for handle in handles),
        engine.metrics.batches,
        len(output.different),
    )
