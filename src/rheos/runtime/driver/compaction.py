"""Compaction: many small segments become one, beside the batches.

A stream that flows slowly leaves a small segment with every batch. When there are many, a Spark job of its
own puts them together, while batches go on. The next batch after that reads the one instead of the many.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.execute.session import map_in_arrow
from rheos.runtime.state.segments import Segment, Segments, merged, save
from rheos.runtime.state.store import Store
from rheos.sources.reader import segment_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# So many segments that follow one another and have few rows are put together.
TOGETHER = 128
SMALL_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Merge:
    """What a task does: segments of a stream become one of this name."""

    store: Store
    files: tuple[Segment, ...]
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            file = save(merged(self.files, self.store), self.name, self.store)
            yield pa.RecordBatch.from_pylist([{"file": json.dumps(asdict(file))}])


@dataclass
class Compaction:
    """The compaction of a run. One stream at a time."""

    session: SparkSession
    store: Store
    run: str

    def __post_init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._done: tuple[str, Merge, Segment] | None = None
        self._stopped = False

    def consider(self, segments: Mapping[str, Segments]) -> None:
        """Begin to put together the segments of a stream, if one has many small ones."""
        if self._thread is not None or self._stopped:
            return
        for stream, found in segments.items():
            files = small_ones(found.files)
            if files:
                merge = Merge(self.store, files, segment_name(stream, f"{self.run}c", len(files)))
                self._thread = threading.Thread(
                    target=self._work, args=(stream, merge), daemon=True, name="rheos-compaction"
                )
                self._thread.start()
                return

    def applied(self, segments: Mapping[str, Segments]) -> dict[str, Segments]:
        """The segments with those that were put together in the place of the others."""
        found = dict(segments)
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
            if self._done is not None:
                (stream, merge, file), self._done = self._done, None
                names = {part.name for part in merge.files}
                found[stream] = found.get(stream, Segments()).replaced(names, file)
        return found

    def stop(self) -> None:
        self._stopped = True
        if self._thread is not None:
            self._thread.join(5)

    def _work(self, stream: str, merge: Merge) -> None:
        from pyspark.errors import PySparkException

        try:
            one = self.session.range(0, 1, 1, 1)
            (row,) = map_in_arrow(one, merge, "file STRING").collect()
        except (PySparkException, OSError):
            return  # the segments may have gone meanwhile; it is tried again
        self._done = stream, merge, Segment(**json.loads(row["file"]))


def small_ones(files: Sequence[Segment]) -> tuple[Segment, ...]:
    """The first segments that follow one another, are small, and are enough to be put together."""
    together: list[Segment] = []
    for file in files:
        if file.rows > SMALL_ROWS:
            together.clear()
            continue
        together.append(file)
        if len(together) == TOGETHER:
            return tuple(together)
    return ()
