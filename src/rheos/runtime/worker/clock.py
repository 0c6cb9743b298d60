"""The clock: up to which time streams are complete, and up to which time queries can be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rheos.runtime.operator import Count, End
from rheos.runtime.plan import Control, Registered
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.progress import Progress
from rheos.sources.times import FOREVER, NEVER


def complete(progress: Mapping[str, Progress], control: Control) -> dict[str, int]:
    """Up to which time each of these streams from outside is complete: its watermark is after that time."""
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
    # A partition that was idle and flows again may have a lower watermark. The stream stays complete up to
    # the time of before, since answers up to there are final.
    return FOREVER if watermark == FOREVER else max(watermark - 1, found.complete)


def complete_for(query: Registered, known: Mapping[str, int]) -> int | None:
    """Up to which time all the streams of a query are complete. A stream that is not in `known` has a maker
    that was stopped, and the query does not wait for it. None if no stream is in `known`."""
    return min((known[stream] for stream in query.streams & known.keys()), default=None)


def pass_on(query: Registered, known: dict[str, int]) -> None:
    """Note that the stream that a query makes is complete as far as the streams that it reads."""
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
    """The time up to which a query can be evaluated: up to where its streams are complete or, if all have
    ended, up to where its clock stops. If none of its streams flows, the time does not advance.

    `made` says how far the makers of its derived streams have been evaluated. These streams are complete up
    to there, whether or not the makers found anything, and whether or not the streams have ended since.
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
    """The end of a stream, as a query sees it. For a derived stream only the live elements count: all readers
    have seen the elements that were dropped."""
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
