"""Chunks as tasks take them in: judged when they are read, then put into the order of their stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from rheos.runtime.state.progress import Arrival, DeadLetter, Progress, take_in
from rheos.runtime.state.store import Store
from rheos.sources.ahead import Ahead
from rheos.sources.chunks import LIVE, Chunk, Header, judge

NO_STORE = Store("file:///nowhere", durable=False)


class Arrived(NamedTuple):
    """What came of chunks: how far the stream is, what was accepted of each, and what was not."""

    progress: Progress
    elements: list[pa.Table]
    letters: list[DeadLetter]


def arrivals(chunks: Sequence[Chunk], lateness: int, ahead: Ahead | None = None) -> list[Arrival]:
    judged = [judge(chunk, lateness, ahead) for chunk in chunks]
    return [
        Arrival(Header.of_json(header.json()), pa.Table.from_batches([elements]))
        for header, elements in judged
    ]


def arrive(
    stream: str, chunks: Sequence[Chunk], progress: Progress, lateness: int, ahead: Ahead | None = None
) -> Arrived:
    found = arrivals(chunks, lateness, ahead)
    taken = take_in(stream, found, progress, lateness)
    elements = [
        arrival.elements.select(LIVE.names).slice(late)
        for arrival, late in zip(found, taken.late, strict=True)
    ]
    return Arrived(taken.progress, elements, taken.letters)
