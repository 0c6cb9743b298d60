"""Elements that clients push: a body comes in, its elements go to the log of the stream, and what became of
them goes out."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyoxigraph as ox

from rheos.runtime.buffers import NEVER
from rheos.server.problems import Problem
from rheos.sources.chunks import BadLine, Chunk
from rheos.sources.documents import read_document
from rheos.sources.lines import read_lines
from rheos.sources.push import UNTIMED, PushLog, stands_for
from rheos.sources.times import Microseconds
from rheos.store import formats
from rheos.store.lines import reason_of

MEDIA_TYPES: dict[str, ox.RdfFormat] = {
    "application/n-quads": formats.N_QUADS,
    "application/n-triples": formats.N_QUADS,
    "application/trig": formats.TRIG,
    "text/turtle": formats.TRIG,
    "application/ld+json": formats.JSON_LD,
}

_SIP, _LOOKED_AT = 1 << 16, 100  # bytes and lines that tell what a body is
_SHOWN = 200  # characters of a bad line


@dataclass(frozen=True, slots=True)
class Accepted:
    """How many elements are on the disk, how many of them are late, how many others were too far ahead, and
    which lines were none."""

    elements: int
    late: int
    ahead: int
    bad: tuple[BadLine, ...]

    def json(self) -> dict[str, Any]:
        counts = {"accepted": self.elements, "late": self.late, "ahead": self.ahead}
        return {**counts, "bad": shown(self.bad)}


def accept(
    log: PushLog, stream: str, body: bytes, media: str, backlog: int, clock: int = NEVER, lateness: int = 0
) -> Accepted:
    """Put the elements of a body into a log: all that are right, or a Problem if none is.

    `stream` is the stream's IRI, against which those of the body are resolved; `clock` is the highest time
    that was read of it.
    """
    format = MEDIA_TYPES.get(media)
    if format is None:
        known = ", ".join(MEDIA_TYPES)
        detail = f"elements come as {known}" + (
            f", not as {media}" if media else "; Content-Type says as which"
        )
        raise Problem(415, "Elements of this type are not understood", detail, headers={"Accept-Post": known})
    if log.backlog > backlog:
        detail = "the stream has more elements that wait to be evaluated than it may"
        raise Problem(503, "The server is behind", detail, headers={"Retry-After": "5"})
    chunk = read(body, format, stream)
    count, late, ahead = chunk.elements.num_rows, 0, 0
    if chunk.bad and not count:
        detail = f"line {chunk.bad[0].line}: {chunk.bad[0].reason}"
        raise Problem(400, "There is no element in the body", detail, bad=shown(chunk.bad))
    if count:
        plain = format == formats.N_QUADS and chunk.lines and stands_for(body, chunk)
        late = late_of(chunk, max(clock, log.high), lateness, log.ahead)
        try:
            ahead = log.append(chunk.elements, body if plain else None)
        except OSError as error:
            raise Problem(507, "The elements could not be stored", error.strerror) from error
    return Accepted(count - ahead, late, ahead, chunk.bad)


def late_of(chunk: Chunk, clock: int, lateness: int, ahead: int | None) -> int:
    """How many elements will be late when they are evaluated. Others may push at the same time, so only the
    evaluation knows for sure."""
    now = time.time_ns() // 1000
    times: Microseconds = chunk.elements.column("time").to_numpy()
    times = np.where(times == UNTIMED, now, times)
    times = times if ahead is None else times[times <= now + ahead]
    seen = np.maximum.accumulate(np.concatenate(([clock], times)))[:-1]
    return int(np.count_nonzero(times < seen - lateness))


def read(body: bytes, format: ox.RdfFormat, stream: str) -> Chunk:
    """The elements of a body. Labels of blank nodes are its own, and those without a time have UNTIMED."""
    prefix = f"p{uuid.uuid4().hex[:16]}_"
    if format != formats.N_QUADS:
        return read_document(body, "", prefix, format=format, base=stream, untimed=UNTIMED)
    if not names_graphs(body):
        return read_lines(body, prefix, untimed=UNTIMED)
    chunk = read_document(body, "", prefix, format=format, untimed=UNTIMED)
    if chunk.elements.num_rows or not chunk.bad:
        return chunk
    # One bad line makes the document bad, but the others stand for themselves.
    good, bad = without_bad_lines(body)
    chunk = read_document(good, "", prefix, format=format, untimed=UNTIMED)
    return replace(chunk, bad=(*bad, *chunk.bad))


def names_graphs(body: bytes) -> bool:
    """Whether lines are quads with the name of a graph, rather than triples with a time."""
    for line in body[:_SIP].split(b"\n")[:_LOOKED_AT]:
        try:
            if any(not isinstance(q.graph_name, ox.DefaultGraph) for q in ox.parse(line, formats.N_QUADS)):
                return True
        except SyntaxError:
            continue
    return False


def without_bad_lines(body: bytes) -> tuple[bytes, list[BadLine]]:
    good, bad = [], []
    for number, line in enumerate(body.split(b"\n"), start=1):
        try:
            good += [line for _ in ox.parse(line, formats.N_QUADS)]
        except SyntaxError as error:
            bad.append(BadLine(number, line.decode(errors="replace"), reason_of(error)))
    return b"\n".join(good), bad


def shown(bad: tuple[BadLine, ...]) -> list[dict[str, Any]]:
    """Bad lines as a client is told of them; a document has no lines, only an error somewhere."""
    return [
        {"line": item.line or None, "text": item.text.rstrip("\r\n")[:_SHOWN], "reason": item.reason}
        for item in bad
    ]
