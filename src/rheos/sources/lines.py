"""Lines of a stream file come in, a chunk of elements goes out.

A line is an element: a triple, its time and, for an interval, a second time, which is its end.

    <http://ex/t1> <http://ex/registers> <http://ex/car7> "2026-01-01T00:00:05Z"^^<…dateTime> .

Where the reader may give the time (`untimed`), a line can be a triple alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from rheos.sources import times
from rheos.sources.chunks import BadLine, Chunk, elements
from rheos.store.cutting import split_lines
from rheos.store.lines import LITERAL, TRIPLE, Shape, Term, exact_term, parse

_SPACE = re.compile(rb"[ \t]*")
_TERM = re.compile(
    rb'<[^<>"{}|^`\\\x00-\x20]*>|<(?:[^<>\\\x00-\x20]|\\.)*>|_:[^\s<"]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[A-Za-z0-9-]+)?'
)
_END = re.compile(rb"[ \t]*\.[ \t]*(?:#[^\n]*)?[\r\n]*")
_NOTHING = re.compile(rb"\s*(?:#.*)?\s*", re.DOTALL)


def _element(line: bytes, *, untimed: bool = False) -> list[tuple[Term, ...]]:
    """The terms of one line: pyoxigraph checks the triple; the terms that follow it are the times."""
    if _NOTHING.fullmatch(line):
        return []
    found: list[bytes] = []
    position = 0
    while len(found) < 5:
        position = _SPACE.match(line, position).end()  # type: ignore[union-attr]
        term = _TERM.match(line, position)
        if term is None:
            break
        found.append(term[0])
        position = term.end()
    triple = b" ".join(found[:3]) + b" ."
    if len(found) < (3 if untimed else 4) or _END.fullmatch(line, position) is None:
        # If the triple is wrong, the parser's message is the best one.
        list(ox.parse(triple if len(found) >= 3 else line, ox.RdfFormat.N_TRIPLES))
        missing = "there is no time after the triple" if len(found) == 3 else "a dot and the line's end"
        raise SyntaxError(missing if len(found) == 3 else f"expected {missing} after the time")
    [quad] = ox.parse(triple, ox.RdfFormat.N_TRIPLES)
    moments = [term.decode(errors="replace") for term in found[3:]]
    terms = (exact_term(quad.subject), exact_term(quad.predicate), exact_term(quad.object))
    return [(*terms, *moments, *[None] * (2 - len(moments)))]


# How much text is parsed at once: the columns of more text do not fit into the processor's cache.
CHUNK_BYTES = 4 << 20

SHAPE = Shape(rf"{TRIPLE} {LITERAL}(?: {LITERAL})?", 5, _element)
UNTIMED_SHAPE = Shape(rf"{TRIPLE}(?: {LITERAL})?(?: {LITERAL})?", 5, partial(_element, untimed=True))


def read_chunks(text: bytes, blank_prefix: str, place: str, *, first: bool) -> Iterator[Chunk]:
    """Whole lines, any number of them, as chunks of about CHUNK_BYTES."""
    position = 0
    while position < len(text):
        end = text.find(b"\n", position + CHUNK_BYTES) + 1 or len(text)
        yield read_lines(text[position:end], blank_prefix, place, first=first and position == 0)
        position = end


def read_lines(
    text: bytes, blank_prefix: str, place: str = "", *, first: bool = False, untimed: int | None = None
) -> Chunk:
    """Whole lines as one chunk. `untimed` is the time for lines without a time; None if there may be none."""
    lines = split_lines(text)
    parsed = parse(lines, SHAPE if untimed is None else UNTIMED_SHAPE, blank_prefix)
    s, p, o, start, end = parsed.terms
    reasons = {fault.line: fault.reason for fault in parsed.faults}
    begun = times.read(start) if untimed is None else times.read_some(start, untimed)
    ended, without_zone = begun.microseconds, begun.without_zone
    rows = {**begun.faults}
    if end.null_count < len(end):
        intervals = np.flatnonzero(end.is_valid().to_numpy(zero_copy_only=False))
        until = times.read(end.take(pa.array(intervals)))
        ended = ended.copy()
        ended[intervals] = until.microseconds
        without_zone += until.without_zone
        rows |= {int(intervals[number]): reason for number, reason in until.faults.items()}
        backwards = np.flatnonzero(ended < begun.microseconds)
        rows |= {int(row): "the interval ends before it starts" for row in backwards if int(row) not in rows}
    taken = np.ones(len(start), bool)
    taken[list(rows)] = False
    reasons |= {int(parsed.lines[row]): reason for row, reason in rows.items()}
    batch = elements((s, p, o), begun.microseconds, ended, parsed.lines + 1)
    if rows:
        batch = batch.filter(pa.array(taken))
    bad = tuple(BadLine(line + 1, _text(lines[line]), reasons[line]) for line in sorted(reasons))
    return Chunk(batch, place, len(lines), first, bad, without_zone)


def _text(line: pa.StringScalar) -> str:
    """The text of a line; a bad line may not be UTF-8."""
    return bytes(line.as_buffer()).decode(errors="replace")
