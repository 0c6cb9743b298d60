"""CityBench in tests: its queries are answered by an engine, over its streams at some pace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.answers.continuous import Answer
from rheos_bench.city import mappings, material, replay
from rheos_bench.city.published import Query
from rheos_bench.city.replay import SECOND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = 1_800_000_000 * SECOND

Row = tuple[str | None, ...]
needs_citybench = pytest.mark.skipif(bool(material.missing()), reason=material.missing() or "")


def written(folder: Path, speed: int, seconds: int) -> dict[str, Path]:
    """The streams as files, so many times as fast as they were recorded, for so long."""
    pace = replay.Pace(START, speed, replay.origins())
    moved = [pace.moved(stream, START + seconds * SECOND) for stream in replay.recorded().values()]
    return replay.write(moved, folder)


def answered(
    spark: SparkSession, paths: dict[str, Path], asked: Sequence[Query]
) -> dict[str, Sequence[Answer]]:
    """The answers of queries over the streams in these files, by the names of the queries."""
    with Engine(spark=spark) as engine:
        engine.load(material.default_graph())
        for iri, path in material.static_graphs().items():
            engine.load(path, graph=iri)
        for name in sorted({name for query in asked for name in query.streams}):
            engine.add_stream(
                material.SERVICES + name,
                paths[name],
                mapping=mappings.mapping_of(name),
                time=f"field:{mappings.time_field(name)}",
            )
        handles = {
            query.name: engine.register(query.text, dialect=query.language, name=query.name, keep=None)
            for query in asked
        }
        engine.run()
        assert not [handle.failure for handle in handles.values() if handle.failure]
        assert all(not stream.bad and not stream.late for stream in engine.metrics.streams.values())
        return {name: handle.results for name, handle in handles.items()}


def rows(answer: Answer, variables: Iterable[str]) -> Counter[Row]:
    """The rows of an answer, for some variables, and how often each is there."""
    names = list(variables)
    found = ({name: str(term) for name, term in row.items()} for row in answer.rows or [])
    return Counter(tuple(map(row.get, names)) for row in found)


def at_instants(answers: Sequence[Answer], variables: Iterable[str]) -> dict[int, Counter[Row]]:
    """What was reported at each time that has rows, in microseconds. CQELS-QL can tick more than once."""
    names = list(variables)
    found: dict[int, Counter[Row]] = defaultdict(Counter)
    for answer in answers:
        if answer.rows:
            found[replay.moment(answer.at.isoformat()[:-6])] += rows(answer, names)
    return dict(found)
