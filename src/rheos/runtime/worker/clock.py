"""The clock: up to which time streams are complete, and queries can be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rheos.runtime.operator import Count, End
from rheos.runtime.plan import Control, Registered
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.progress import Progress
from rheos.sources.times import FOREVER, NEVER


def complete(progress: Mapping[str, Progress], control: Control) -> dict[str, int]:
    """Up to which time each of these streams from outside is complete: its watermark is after it."""
    return {stream: _complete(stream, found, control) for stream, found in progress.items()}


def _complete(stream: str, found: Progress, control: Control) -> int:
    before = control.progress.get(stream, Progress())
    if found.ended or stream in control.ended or (stream in control.silent and found.read == before.read):
        return FOREVER
    idle = {
        number
        for name, number in control.idle
        if name == stream and found.partition(number) == before.partition(number)
    }
    watermark = found.watermark(control.lateness.get(stream, 0), idle)
    # A partition that is no longer idle may be behind the others; what is complete stays so.
    return FOREVER if watermark == FOREVER else max(watermark - 1, found.complete)


def complete_for(query: Registered, known: Mapping[str, int]) -> int | None:
    """Up to which time all the streams of a query are complete. One that is not known has a maker that was
    stopped, and is not waited for; None if none is known."""
    return min((known[stream] for stream in query.streams & known.keys()), default=None)


def pass_on(query: Registered, known: dict[str, int]) -> None:
    """The stream that a query makes is complete as far as those that it reads."""
    until = complete_for(query, known)
    if query.derived is not None and until is not None:
        known[query.derived] = until


def until_of(
    query: Registered,
    known: Mapping[str, int],
    held: Mapping[str, Buffer],
    progress: Mapping[str, Progress],
    after: int,
    before: Mapping[str, Count],
    made: Mapping[str, int],
) -> int:
    """The time up to which a query can be evaluated: where its streams are complete, or if they all have
    ended, where its clock stops. Without any stream that flows it stays where it is.

    `made` says how far the makers of its derived streams have been evaluated. These streams are complete up
    to there, whether or not anything was found, and whether or not they have ended since.
    """
    until = complete_for(query, known)
    if until is None:
        return after
    if until < FOREVER:
        return until
    ends = {stream: end_of(stream, held[stream], progress, before.get(stream)) for stream in query.streams}
    end = query.operator.end({stream: found for stream, found in ends.items() if found is not None})
    return max((*made.values(), after if end is None else end))


def end_of(stream: str, held: Buffer, progress: Mapping[str, Progress], before: Count | None) -> End | None:
    """The end of a stream, as a query sees it; of a derived one, that of what is still held of it: what was
    before has been seen by all its readers."""
    last = progress[stream].high if stream in progress else held.last
    if last == NEVER:
        return None
    first = 0 if before is None else before.triples
    found = End(last, held.up_to(last - 1) - first, held.up_to(last) - first)
    if not held.has_graphs:
        return found
    unseen = 0 if before is None else before.graphs
    graphs = held.graphs_up_to(last - 1) - unseen, held.graphs_up_to(last) - unseen
    return replace(found, graphs=graphs)
