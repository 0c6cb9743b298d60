"""The windows of CQELS-QL for Spark: segments of streams come in, views of windows in buckets go out.

To number ticks needs the elements in one order, so one task does it, and leaves the windows as files. The
joins, which are the work, are then spread over the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from rheos.algebra.streams import Arriving
from rheos.execute.session import map_in_arrow
from rheos.runtime.arriving import Opened, Prepared, Windows, WindowSize
from rheos.runtime.entailing import ENTAILING, Entail, entail_with
from rheos.runtime.evaluating import Span
from rheos.runtime.kept import KeptTable, read_kept
from rheos.runtime.segments import Segments, load, read_table
from rheos.sql.continuous import INSTANTS
from rheos.sql.relation import clause_name

if TYPE_CHECKING:
    from rheos.runtime.catalyst import SparkPlace

_WINDOW = "s STRING, p STRING, o STRING, bucket LONG, valid_from LONG, valid_until LONG"
_INSTANTS = "instant LONG, at LONG, turn LONG, bucket LONG, first BOOLEAN"


def open_windows(
    prepared: Prepared,
    span: Span,
    segments: Mapping[str, Segments],
    start: Path,
    place: SparkPlace,
    derivations: KeptTable | None = None,
) -> tuple[tuple[WindowSize, ...], int]:
    """Have the windows of a query and its ticks as views; how large the windows are, in how many buckets.

    The paths of all files begin as `start` does. By the derivations elements entail more.
    """
    opening = Opening(prepared.query, prepared.monotone, span, dict(segments), str(start), derivations)
    (row,) = map_in_arrow(place.spark.range(0, 1, 1, 1), opening, "about STRING").collect()
    about = json.loads(row["about"])
    _show(place, INSTANTS, [_file(start, INSTANTS)], _INSTANTS)
    for number in range(1, len(about["sizes"]) + 1):
        old, new = (_file(start, clause_name(number, part)) for part in ("old", "new"))
        for part, files in (("old", [old]), ("new", [new]), ("all", [old, new])):
            _show(place, clause_name(number, part), files, _WINDOW)
    return tuple(WindowSize(**size) for size in about["sizes"]), about["buckets"]


def _file(start: Path, name: str) -> Path:
    return start.with_name(f"{start.name}-{name}.arrow")


def _show(place: SparkPlace, name: str, files: list[Path], schema: str) -> None:
    paths = place.spark.createDataFrame([(str(file),) for file in files], "path STRING")
    map_in_arrow(paths.repartition(len(files)), read_files, schema).createOrReplaceTempView(name)


def read_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Paths of files come in, their rows go out."""
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield from read_table(path).combine_chunks().to_batches(100_000)


@dataclass(frozen=True, slots=True)
class Opening:
    """What the task does that numbers the ticks."""

    query: Arriving
    monotone: bool
    span: Span
    segments: Mapping[str, Segments]
    start: str
    derivations: KeptTable | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            windows = Windows({stream: load(found).placed for stream, found in self.segments.items()})
            after, until, since = self.span
            # However large it is, the batch stays whole: Spark can hold more than memory.
            opened = windows.opened(
                self.query,
                after,
                until,
                dict(since),
                monotone=self.monotone,
                spreads=False,
                entail=self.entail(),
            )
            assert isinstance(opened, Opened)
            self.write(INSTANTS, opened.instants)
            for number, window in enumerate(opened.windows, start=1):
                self.write(clause_name(number, "old"), window.part("old"))
                self.write(clause_name(number, "new"), window.part("new"))
            sizes = [
                {"rows": size.rows, "old": size.old, "different": dict(size.different)}
                for size in opened.sizes
            ]
            about = json.dumps({"sizes": sizes, "buckets": opened.buckets})
            yield pa.RecordBatch.from_pylist([{"about": about}])

    def entail(self) -> tuple[str, Entail] | None:
        kept = self.derivations
        if kept is None or not kept.size.rows:
            return None
        derivations = read_kept(kept)

        def ask(elements: pa.Table, statement: str) -> pa.Table:
            with duckdb.connect() as connection:
                connection.register("derivations", derivations)
                connection.register(ENTAILING, elements)
                return connection.execute(statement).to_arrow_table()

        return kept.path, entail_with("derivations", ask)

    def write(self, name: str, table: pa.Table) -> None:
        path = _file(Path(self.start), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
