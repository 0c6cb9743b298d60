"""The Kafka topics of a run: which partitions they have, whether Spark names them, and
where bounded ones end."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rheos.runtime.driver.watch import Stream
from rheos.runtime.state.progress import Progress
from rheos.sources.frames import Frame
from rheos.sources.kafka import Kafka, reached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# With these settings, Spark's checkpoint identifies sources by name, so that topics can come and go.
_NAMED = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
}
_ENDS = "ends.json"


class Topics:
    """The streams of a run that are topics. The `folder` is on the driver's disk and survives the process."""

    def __init__(self, session: SparkSession, streams: Mapping[str, Stream], folder: Path) -> None:
        self._session = session
        self._streams = streams
        self._topics = {n: s.frame for n, s in streams.items() if isinstance(s.frame, Kafka)}
        self._file = folder / _ENDS
        self._ends: dict[str, dict[int, int]] = {}

    @property
    def bounded(self) -> bool:
        return any(topic.bounded for topic in self._topics.values())

    def known(self, progress: Mapping[str, Progress]) -> dict[str, Progress]:
        """The progress of the topics, with all of their partitions. LoadError if Kafka does not list them."""
        self._note_ends()
        return {
            name: progress.get(name, Progress()).knowing(topic.partitions(self._session))
            for name, topic in self._topics.items()
        }

    def name_sources(self) -> bool:
        """Set Spark to identify sources by name, if all sources can have one; a user's DataFrame cannot. True
        if it does."""
        named = not any(isinstance(stream.frame, Frame) for stream in self._streams.values())
        for setting, value in _NAMED.items():
            self._session.conf.set(setting, value if named else {"true": "false", "2": "1"}[value])
        return named

    def ended(self, query: StreamingQuery) -> frozenset[str]:
        """The bounded topics that have been read to their ends."""
        progress = query.lastProgress
        if progress is None:
            return frozenset()
        offsets = [source.endOffset for source in progress.sources]
        return frozenset(n for n, ends in self._ends.items() if reached(offsets, self._topics[n].topic, ends))

    def _note_ends(self) -> None:
        """Note where bounded topics end: where they ended when the run first began,
        which is kept in a file."""
        try:
            found = json.loads(self._file.read_text())
        except FileNotFoundError:
            found = {}
        for name, topic in self._topics.items():
            if topic.bounded:
                before = found.get(name)
                ends = topic.ends(self._session) if before is None else before
                self._ends[name] = {int(number): end for number, end in ends.items()}
        if self._ends:
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps({**found, **self._ends}))
            os.replace(new, self._file)
