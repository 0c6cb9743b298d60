"""Compaction: many small segments become one, in a Spark job beside the batches.

A stream that flows slowly leaves a small segment with every batch. When there are many, a Spark job
of its own merges them, while batches go on. The first batch after that reads the merged segment
instead of the small ones.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.runtime.state.segments import Segment, Segments, merged, save
from rheos.runtime.state.store import Store
from rheos.sources.reader import segment_name
from rheos.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# So many segments that follow one another are merged, if each has at most so many rows.
TOGETHER = 128
SMALL_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Merge:
    """The work of a task: merges segments of a stream into one with a given name."""

    store: Store
    files: tuple[Segment, ...]
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            file = save(merged(self.files, self.store), self.name, self.store)
            yield pa.RecordBatch.from_pylist([{"file": json.dumps(asdict(file))}])


@dataclass
class Compaction:
    """The compaction of a run. It merges the segments of one stream at a time."""

    session: SparkSession
    store: Store
    run: str

    def __post_init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._done: tuple[str, Merge, Segment] | None = None
        self._stopped = False

    def consider(self, segments: Mapping[str, Segments]) -> None:
        """Begin to merge the segments of a stream, if one has many small ones."""
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
        """The segments, with the merged one in the place of those from which it was made,
        if a merge is done."""
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
            return  # segments may have been deleted meanwhile; a later batch tries again
        self._done = stream, merge, Segment(**json.loads(row["file"]))


def small_ones(files: Sequence[Segment]) -> tuple[Segment, ...]:
    """The first `TOGETHER` small segments that follow one another; none if there are not so many."""
    together: list[Segment] = []
    for file in files:
        if file.rows > SMALL_ROWS:
            together.clear()
            continue
        together.append(file)
        if len(together) == TOGETHER:
            return tuple(together)
    return ()
