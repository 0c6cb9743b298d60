"""Push: reads the elements in the body of a request and appends them to the log of their stream."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from rheos.server import models
from rheos.server.problems import Problem
from rheos.sources.chunks import BadLine, Chunk
from rheos.sources.decoding import Decoder, Decoding, Messages, RdfDecoder
from rheos.sources.documents import read_document
from rheos.sources.lines import read_lines
from rheos.sources.push import UNTIMED, PushLog, stands_for
from rheos.sources.record_files import MEDIA_TYPES as RECORD_TYPES
from rheos.sources.times import NEVER, Microseconds
from rheos.store import formats
from rheos.store.cutting import split_lines
from rheos.store.lines import reason_of

MEDIA_TYPES: dict[str, ox.RdfFormat] = {
    "application/n-quads": formats.N_QUADS,
    "application/n-triples": formats.N_QUADS,
    "application/trig": formats.TRIG,
    "text/turtle": formats.TRIG,
    "application/ld+json": formats.JSON_LD,
}

# Of records a mapping makes elements.
ALL_TYPES = (*MEDIA_TYPES, *RECORD_TYPES)

_FIRST_BYTES, _FIRST_LINES = 1 << 16, 100  # these show whether a body has quads
_SHOWN = 200  # characters of a bad line that the client is told


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a body: `elements` of them are on the disk, and `late` of these are late. Elements that
    are too far `ahead` and `bad` lines were not accepted."""

    elements: int
    late: int
    ahead: int
    bad: tuple[BadLine, ...]

    def json(self) -> dict[str, Any]:
        """What the client is told."""
        told = models.Accepted(self.elements, self.late, self.ahead, shown(self.bad))
        found: dict[str, Any] = msgspec.to_builtins(told)
        return found


def accept(
    log: PushLog,
    decoding: Decoding,
    body: bytes,
    media: str,
    backlog: int,
    clock: int = NEVER,
    lateness: int = 0,
) -> Accepted:
    """Append the good elements of a body to a log. Problem if the body has bad lines only.

    Relative IRIs in the body are resolved against the IRI of the stream. `clock` is the highest time of the
    stream that the engine has read.
    """
    format = MEDIA_TYPES.get(media)
    records = RECORD_TYPES.get(media)
    if format is None and (records is None or decoding.mapping is None):
        known = ", ".join(MEDIA_TYPES if decoding.mapping is None else ALL_TYPES)
        detail = f"elements come as {known}"
        detail += f", not as {media}" if media else "; Content-Type says as which"
        if records is not None:
            detail = f"{media} is not RDF: it needs a stream with a mapping"
        raise Problem(415, "Elements of this type are not understood", detail, headers={"Accept-Post": known})
    if log.backlog > backlog:
        detail = "the stream has more elements that wait to be evaluated than it may"
        raise Problem(503, "The server is behind", detail, headers={"Retry-After": "5"})
    chunk = read_records(body, records, decoding) if format is None else read_rdf(body, format, decoding)
    count, late, ahead = chunk.elements.num_rows, 0, 0
    if chunk.bad and not count:
        detail = f"line {chunk.bad[0].line}: {chunk.bad[0].reason}"
        raise Problem(400, "There is no element in the body", detail, bad=shown(chunk.bad))
    if count:
        as_it_is = format == formats.N_QUADS and decoding.clock.kind in ("own", "field")
        plain = as_it_is and chunk.lines and stands_for(body, chunk)
        late = late_of(chunk, max(clock, log.high), lateness, log.ahead)
        try:
            ahead = log.append(chunk.elements, body if plain else None)
        except OSError as error:
            raise Problem(507, "The elements could not be stored", error.strerror) from error
    return Accepted(count - ahead, late, ahead, chunk.bad)


def late_of(chunk: Chunk, clock: int, lateness: int, ahead: int | None) -> int:
    """How many elements will be late when they are evaluated. This is an estimate: other clients may push at
    the same time."""
    now = time.time_ns() // 1000
    times: Microseconds = chunk.elements.column("time").to_numpy()
    times = np.where(times == UNTIMED, now, times)
    times = times if ahead is None else times[times <= now + ahead]
    seen = np.maximum.accumulate(np.concatenate(([clock], times)))[:-1]
    return int(np.count_nonzero(times < seen - lateness))


def read_records(body: bytes, format: str | None, decoding: Decoding) -> Chunk:
    """Read records that are not RDF. Each line of NDJSON is a record of its own."""
    decoder = _decoder(decoding, format)
    lines = split_lines(body).cast(pa.binary()) if format == "ndjson" else pa.array([body], pa.binary())
    return _decoded(decoder, lines)


@lru_cache(maxsize=64)
def _decoder(decoding: Decoding, format: str | None) -> Decoder:
    """The decoder, kept for later bodies: a mapping takes longer to compile than to apply to some records."""
    return decoding.decoder(format)


def read_rdf(body: bytes, format: ox.RdfFormat, decoding: Decoding) -> Chunk:
    """Read RDF. The clock of the stream gives the times, unless its kind is `own` or `field`: then the body
    says them."""
    clock = decoding.clock
    if clock.kind in ("own", "field"):
        return read(body, format, decoding.base)
    names = {formats.N_QUADS: None, formats.TRIG: "trig", formats.JSON_LD: "jsonld"}
    return _decoded(RdfDecoder(clock, names[format], decoding.base), pa.array([body], pa.binary()))


def _decoded(decoder: Decoder, payload: pa.Array) -> Chunk:
    now = pa.array(np.full(len(payload), time.time_ns() // 1000))
    return decoder.decode(Messages.of(payload, arrival=now), f"p{uuid.uuid4().hex[:16]}_")


def read(body: bytes, format: ox.RdfFormat, stream: str) -> Chunk:
    """Read the elements of a body. Elements without a time get the time UNTIMED. The same label of a blank
    node stands for another node in another body."""
    prefix = f"p{uuid.uuid4().hex[:16]}_"
    if format != formats.N_QUADS:
        return read_document(body, "", prefix, format=format, base=stream, untimed=UNTIMED)
    if not names_graphs(body):
        return read_lines(body, prefix, untimed=UNTIMED)
    chunk = read_document(body, "", prefix, format=format, untimed=UNTIMED)
    if chunk.elements.num_rows or not chunk.bad:
        return chunk
    # One bad line makes the whole document bad, so the document is read again without its bad lines.
    good, bad = without_bad_lines(body)
    chunk = read_document(good, "", prefix, format=format, untimed=UNTIMED)
    return replace(chunk, bad=(*bad, *chunk.bad))


def names_graphs(body: bytes) -> bool:
    """True if the lines are quads with the name of a graph, not triples with a time."""
    for line in body[:_FIRST_BYTES].split(b"\n")[:_FIRST_LINES]:
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


def shown(bad: tuple[BadLine, ...]) -> list[models.Bad]:
    """Bad lines as the client sees them. An error in a document has no line number."""
    return [models.Bad(item.line or None, item.text.rstrip("\r\n")[:_SHOWN], item.reason) for item in bad]
