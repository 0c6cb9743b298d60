"""What is not for Spark SQL: work on the segments of streams comes in, it is done in DuckDB inside one Spark
task, or in several that share it out, and what it came to goes out.

Rules that read one another's streams in a circle, and policies of consumption, go from event to event. Where
everything else is left to Catalyst, a task of its own does this part.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from rheos.execute.session import map_in_arrow
from rheos.runtime.circle import Derived, Fixpoint, Rule, Share, united
from rheos.runtime.consuming import answers
from rheos.runtime.detecting import DetectingBatch, Detection
from rheos.runtime.evaluation import Answers
from rheos.runtime.kept import KeptTable, load_kept
from rheos.runtime.place import DuckPlace
from rheos.runtime.segments import Segments, load, read_table, save
from rheos.runtime.shares import Places, shared_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Alone(ABC):
    """Work for a task that has segments of streams and what is kept of static data. The paths of the files
    that it leaves begin as `start` does."""

    segments: Mapping[str, Segments]
    kept: Mapping[str, KeptTable]
    start: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column("id").to_pylist()):
            with duckdb.connect() as connection:
                load_kept(connection, self.kept, {})
                place = DuckPlace(connection)
                filled = frozenset(name for name, table in self.kept.items() if table.size.rows)
                live = {stream: load(found).placed for stream, found in self.segments.items()}
                about = self.work(number, DetectingBatch(place, live, filled), place)
            yield pa.RecordBatch.from_pylist([{"about": json.dumps(about)}])

    @abstractmethod
    def work(self, number: int, batch: DetectingBatch, place: DuckPlace) -> dict[str, Any]:
        """Do the part of this number; what can be written as JSON of it."""

    def write(self, name: str, table: pa.Table) -> str:
        """Leave a table in a file."""
        path = Path(f"{self.start}-{name}.arrow")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        partial.replace(path)
        return str(path)


@dataclass(frozen=True, slots=True)
class CircleAlone(Alone):
    rules: Sequence[Rule]
    until: int
    tasks: int
    places: tuple[Places, ...] | None

    def work(self, number: int, batch: DetectingBatch, place: DuckPlace) -> dict[str, Any]:
        share = None if self.places is None else Share(number, self.tasks, self.places)
        found = Fixpoint(batch, place, self.rules, self.until, share).derived()
        paths = {
            rule.name: self.write(f"rule-{at}-{number}", found.solutions[rule.name])
            for at, rule in enumerate(self.rules)
        }
        return {"paths": paths, "failure": found.failure, "failed_at": found.failed_at}


@dataclass(frozen=True, slots=True)
class PolicyAlone(Alone):
    detection: Detection
    span: tuple[int, int]
    since: Mapping[str, int]

    def work(self, number: int, batch: DetectingBatch, place: DuckPlace) -> dict[str, Any]:
        before = {name: batch.elements[name].drop_columns(["place"]) for name in self.detection.states}
        found, state = answers(batch, place, self.detection, self.span, self.since, before)
        segments = {
            name: asdict(save(elements, Path(f"{self.start}-state-{number}.arrow")))
            for number, (name, elements) in enumerate(state.items())
        }
        paths = [self.write("instants", found.instants), self.write("rows", found.rows)]
        return {"paths": paths, "state": {name: {"dropped": 0, "files": [s]} for name, s in segments.items()}}


def derived(
    segments: Mapping[str, Segments],
    kept: Mapping[str, KeptTable],
    start: str,
    rules: Sequence[Rule],
    until: int,
    spark: SparkSession,
) -> Derived:
    """What the rules of a circle derive: in as many tasks as there are cores, if they can be shared out."""
    places = shared_places([rule.detection for rule in rules])
    tasks = 1 if places is None else spark.sparkContext.defaultParallelism
    parts = []
    for about in _done(CircleAlone(segments, kept, start, rules, until, tasks, places), spark, tasks):
        solutions = {name: read_table(path) for name, path in about["paths"].items()}
        parts.append(Derived(solutions, about["failure"], about["failed_at"]))
    return united(parts)


def consumed(alone: PolicyAlone, spark: SparkSession) -> tuple[Answers, dict[str, Segments]]:
    (about,) = _done(alone, spark)
    instants, rows = map(read_table, about["paths"])
    return Answers(instants, rows), {name: Segments.of_json(s) for name, s in about["state"].items()}


def _done(alone: Alone, spark: SparkSession, tasks: int = 1) -> list[dict[str, Any]]:
    rows = map_in_arrow(spark.range(0, tasks, 1, tasks), alone, "about STRING").collect()
    return [json.loads(row["about"]) for row in rows]
