"""Decoders: messages of a stream come in (from Kafka, MQTT or a WebSocket), a chunk of elements goes out.

A payload is RDF, unless the stream has a mapping: lines as in a stream file, or TriG, JSON-LD or N-Quads with
the time of each graph. If the time comes from outside, the triples of a message that are in no named graph
are one graph, in every format. Every message is decoded by itself: the same label of a blank node in another
message is another node, and a message that cannot be read becomes a dead letter without effect on the others.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos import iris
from rheos.errors import RheosError
from rheos.sources.chunks import ELEMENTS, BadLine, Chunk, no_elements
from rheos.sources.clocks import OWN, Clock, clock
from rheos.sources.documents import is_document, read_document
from rheos.sources.graphs import marked
from rheos.sources.lines import read_lines
from rheos.sources.times import Microseconds
from rheos.store import formats

if TYPE_CHECKING:
    from rheos.mapping import Mapping

MESSAGES = pa.schema(
    [
        ("payload", pa.binary()),
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("time", pa.int64()),
        ("arrival", pa.int64()),
        ("line", pa.int64()),
    ]
)
LINES = "lines"  # the format of stream files
RECORDS = ("json", "ndjson", "jsonl", "csv", "tsv")  # formats that need a mapping
_TEXT = 10_000  # characters of a bad message that a dead letter shows


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in their order, with the columns of MESSAGES.

    `time` is the message's own timestamp and `arrival` the time at which it came (microseconds since 1970).
    `topic` and `key` come from the broker. Each of these columns may be NULL. `line` is the number of the
    message in dead letters. It is also part of the labels of blank nodes, so that the same label in two
    messages with one `blank_prefix` gives two nodes.
    """

    batch: pa.RecordBatch

    def __post_init__(self) -> None:
        if self.batch.schema != MESSAGES:
            raise TypeError(f"messages have the columns {MESSAGES.names}, not {self.batch.schema}")

    @classmethod
    def of(
        cls,
        payload: Iterable[bytes | None] | pa.Array,
        *,
        topic: pa.Array | None = None,
        key: pa.Array | None = None,
        time: pa.Array | None = None,
        arrival: pa.Array | None = None,
        line: pa.Array | None = None,
    ) -> Messages:
        """Messages from the columns that are known. If lines are not given, they are counted from 1."""
        if not isinstance(payload, pa.Array):
            payload = pa.array(payload, pa.binary())
        count = len(payload)
        numbers = pa.array(np.arange(1, count + 1)) if line is None else line
        given = (payload, topic, key, time, arrival, numbers)
        columns = [
            pa.nulls(count, field.type) if column is None else column.cast(field.type)
            for column, field in zip(given, MESSAGES, strict=True)
        ]
        return cls(pa.RecordBatch.from_arrays(columns, schema=MESSAGES))

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @property
    def payload(self) -> pa.BinaryArray:
        return self.batch.column("payload")

    @property
    def lines(self) -> Microseconds:
        return numbers_of(self.batch.column("line"))

    def take(self, rows: Microseconds) -> Messages:
        return Messages(self.batch.take(pa.array(rows)))

    def text(self, row: int) -> str:
        """The text of a message, for a dead letter."""
        return (self.payload[row].as_py() or b"")[: 4 * _TEXT].decode(errors="replace")[:_TEXT]


class Decoder(ABC):
    """Makes elements from messages. A decoder is pickled on its way to the tasks, which decode."""

    @abstractmethod
    def decode(self, messages: Messages, blank_prefix: str, place: str = "", *, first: bool = False) -> Chunk:
        """The elements of some messages, in the order of the messages. A message that cannot be read becomes
        a bad line.

        The line of an element is that of its message. `lines` of the chunk is the number of messages; a
        caller whose `line` does not count from the beginning of the chunk sets `lines` to 0. A few MB at once
        are quicker than more.
        """

    def reading(self, format: str) -> Decoder:
        """The same decoder for payloads of another format."""
        raise RheosError(f"{format} is not RDF: the stream needs a mapping")

    def decode_lines(
        self, messages: Messages, head: bytes, blank_prefix: str, place: str = "", *, first: bool = False
    ) -> Chunk:
        """As `decode`, for messages that are the lines of a table; `head` is the line with the column
        names."""
        raise RheosError("lines of a table are not RDF: the stream needs a mapping")


class Decoding(NamedTuple):
    """How the payloads of a stream are to be read, as a user says it: a mapping, if they are not RDF, and
    where the time comes from. A source makes its decoder when it knows the format. `base` is the stream's
    IRI."""

    mapping: str | os.PathLike[str] | Mapping | None = None
    time: str | None = None
    base: str = iris.DEFAULT_BASE

    def decoder(self, format: str | None = None) -> Decoder:
        return decoder(self.mapping, self.time, format, base=self.base)

    @property
    def clock(self) -> Clock:
        return clock(self.time)


AS_RDF = Decoding()


def decoder(
    mapping: str | os.PathLike[str] | Mapping | None = None,
    time: str | None = None,
    format: str | None = None,
    *,
    base: str = iris.DEFAULT_BASE,
) -> Decoder:
    """The decoder of a stream. Without a `mapping` (a file, or a mapping that was read) payloads are RDF.

    `time` is `field:NAME`, `property:IRI`, `message` or `arrival`; None means that the payload has the time.
    `format` is the format of the payloads: `lines`, `trig`, `jsonld`, `nquads`, or with a mapping `json`,
    `csv`, `tsv`. If it is None, the format of each payload is recognised by its content. Relative IRIs are
    resolved against `base`.
    """
    if mapping is not None:
        from rheos.mapping import mapped

        return mapped(mapping, clock(time), format, base)
    if format is not None and format.lower() in RECORDS:
        raise RheosError(f"{format} is not RDF: the stream needs a mapping")
    return RdfDecoder(clock(time), None if format is None else _rdf_format(format), base)


def _rdf_format(name: str) -> str:
    if name.lower() == LINES:
        return LINES
    found = formats.by_name(name, "the format of a stream")
    if found == formats.RDF_XML:
        raise RheosError("RDF/XML has no graphs, and so no times: a stream comes as lines, TriG or JSON-LD")
    chosen = {formats.TRIG: "trig", formats.TURTLE: "trig", formats.JSON_LD: "jsonld"}
    return chosen.get(found, "nquads")


@dataclass(frozen=True, slots=True)
class RdfDecoder(Decoder):
    """Decodes payloads that are RDF: all of one `format` or, if that is None, each of a format of its own."""

    clock: Clock = OWN
    format: str | None = None
    base: str = iris.DEFAULT_BASE

    def __post_init__(self) -> None:
        if self.clock.kind == "field":
            raise RheosError(f"RDF has no fields: the time cannot be {self.clock}; say property:IRI")

    def reading(self, format: str) -> Decoder:
        return decoder(None, self.clock.text, format, base=self.base)

    def decode(self, messages: Messages, blank_prefix: str, place: str = "", *, first: bool = False) -> Chunk:
        moments, untimed = outside_times(messages, self.clock)
        kinds = self._kinds(messages)
        kinds[untimed] = ""
        chunks = [bad_chunk(messages, untimed, f"the message has no time: {self.clock} is not known")]
        lines = np.flatnonzero(kinds == LINES)
        if len(lines):
            chunk, failed = self._lines(messages, lines, moments, blank_prefix)
            chunks.append(chunk)
            # A message that is no line may be a document that does not begin like one.
            kinds[failed] = "unknown"
        for row in np.flatnonzero(kinds == "unknown"):
            chunks.append(self._unknown(messages, int(row), moments, blank_prefix))
        for row in np.flatnonzero((kinds == "trig") | (kinds == "jsonld") | (kinds == "nquads")):
            chunks.append(self._document(messages, int(row), str(kinds[row]), moments, blank_prefix))
        return together(chunks, messages, place, first=first)

    def _kinds(self, messages: Messages) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """The format of each message, recognised by its beginning. N-Quads are recognised only later, when
        they are read."""
        if self.format is not None:
            return np.full(len(messages), self.format, "U8")
        kinds = np.full(len(messages), LINES, "U8")
        if self.clock.kind == "property":
            kinds[:] = "unknown"
        begin = pc.binary_slice(messages.payload, 0, 200)
        for kind, expression in _BEGINNINGS.items():
            found = pc.fill_null(pc.match_substring_regex(begin, expression), False)
            kinds[found.to_numpy(zero_copy_only=False)] = kind
        return kinds

    def _lines(
        self, messages: Messages, rows: Microseconds, moments: Microseconds | None, blank_prefix: str
    ) -> tuple[Chunk, Microseconds]:
        """The elements of messages that are lines, and the rows of messages that are no lines after all. No
        elements are taken from these messages, because they may have another format."""
        chosen = messages.take(rows)
        texts = pc.binary_join_element_wise(pc.fill_null(chosen.payload, b""), b"", b"\n")
        counts = numbers_of(pc.count_substring(texts, b"\n").cast(pa.int64()))
        owner = np.repeat(rows, counts)  # the message of each line
        chunk = read_lines(all_bytes(texts), "", untimed=None if moments is None else 0)
        bad_of = np.array([owner[item.line - 1] for item in chunk.bad], np.int64)
        failed = np.unique(bad_of) if self.format is None else bad_of[:0]
        owners = owner[numbers_of(chunk.elements.column("line")) - 1]
        kept = ~np.isin(owners, failed)
        batch, owners = chunk.elements.filter(pa.array(kept)), owners[kept]
        columns = {name: batch.column(name) for name in ELEMENTS.names}
        for name in ("s", "o"):
            columns[name] = apart(columns[name], messages.lines[owners], blank_prefix)
        if moments is not None:
            columns["start"] = columns["time"] = pa.array(moments[owners])
            if len(owners) > 1 and (owners[1:] == owners[:-1]).any():
                # Lines that share the time of their message are one graph, as in any other format.
                columns["graph"] = marked([None], owners)
        columns["line"] = pa.array(messages.lines[owners])
        bad = tuple(
            replace(item, line=int(messages.lines[message]))
            for item, message in zip(chunk.bad, bad_of, strict=True)
            if self.format is not None
        )
        elements = pa.RecordBatch.from_arrays(list(columns.values()), schema=ELEMENTS)
        return replace(chunk, elements=elements, bad=bad), failed

    def _unknown(
        self, messages: Messages, row: int, moments: Microseconds | None, blank_prefix: str
    ) -> Chunk:
        """The elements of a message whose format is recognised only when it is read. A message of no known
        format is read as lines, so that the errors are about lines."""
        payload = messages.payload[row].as_py() or b""
        quads = is_document("message.nq", lambda: payload[:_SIP])
        kind = "nquads" if quads else "trig"
        if quads or self.clock.kind == "property" or b"{" in payload:
            found = self._document(messages, row, kind, moments, blank_prefix)
            if found.elements.num_rows or quads or self.clock.kind == "property":
                return found
        plain = replace(self, format=LINES)
        return plain._lines(messages, np.array([row]), moments, blank_prefix)[0]

    def _document(
        self, messages: Messages, row: int, kind: str, moments: Microseconds | None, blank_prefix: str
    ) -> Chunk:
        payload, line = messages.payload[row].as_py() or b"", int(messages.lines[row])
        untimed = None if moments is None else int(moments[row])
        prefix = f"{blank_prefix}{line}_"
        chunk = read_document(
            payload, "", prefix, format=_FORMATS[kind], base=self.base, untimed=untimed, clock=self.clock
        )
        bad = tuple(
            BadLine(line, item.text or messages.text(row), _at(item.line, item.reason)) for item in chunk.bad
        )
        numbers = pa.array(np.full(chunk.elements.num_rows, line, np.int64))
        return replace(chunk, elements=chunk.elements.set_column(5, ELEMENTS.field("line"), numbers), bad=bad)


_FORMATS: dict[str, ox.RdfFormat] = {
    "trig": formats.TRIG,
    "jsonld": formats.JSON_LD,
    "nquads": formats.N_QUADS,
}
_SIP = 1 << 16
_BEGINNINGS = {
    "jsonld": r"^\s*[\[{]",
    "trig": r"^\s*(?:@prefix\s|@base\s|(?i:prefix\s|base\s|graph\s))",
}


# --- for all decoders --------------------------------------------------------------------------------------


def outside_times(messages: Messages, clock: Clock) -> tuple[Microseconds | None, Microseconds]:
    """The time of each message, or None if the content of the messages has the times; and the rows of the
    messages that should have a time and have none."""
    if not clock.is_outside:
        return None, np.empty(0, np.int64)
    column = messages.batch.column("time" if clock.kind == "message" else "arrival")
    missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    return numbers_of(pc.fill_null(column, 0)), missing


def bad_chunk(messages: Messages, rows: Microseconds, reason: str) -> Chunk:
    """A chunk without elements, with some messages as bad lines."""
    bad = tuple(BadLine(int(messages.lines[row]), messages.text(int(row)), reason) for row in rows)
    return Chunk(no_elements(), bad=bad)


def together(chunks: Iterable[Chunk], messages: Messages, place: str, *, first: bool) -> Chunk:
    """Several chunks of the same messages as one chunk, in the order of the messages."""
    chunks = list(chunks)
    elements = in_order([chunk.elements for chunk in chunks if chunk.elements.num_rows], messages)
    bad = sorted((item for chunk in chunks for item in chunk.bad), key=lambda item: item.line)
    without_zone = sum(chunk.without_zone for chunk in chunks)
    return Chunk(elements, place, len(messages), first, tuple(bad), without_zone)


def in_order(batches: Sequence[pa.RecordBatch], messages: Messages) -> pa.RecordBatch:
    """All elements, in the order of their messages."""
    if len(batches) < 2:
        return batches[0] if batches else no_elements()
    table = pa.Table.from_batches(batches).combine_chunks()
    by_line = np.argsort(messages.lines, kind="stable")
    rank = np.searchsorted(messages.lines, numbers_of(table["line"]), sorter=by_line)
    [batch] = table.take(pa.array(np.argsort(by_line[rank], kind="stable"))).combine_chunks().to_batches()
    return batch


def apart(column: pa.Array, lines: Microseconds, blank_prefix: str) -> pa.Array:
    """Terms in which the label of a blank node has the line of its message, so that it is unique."""
    blanks = pc.starts_with(column, "_:")
    if not pc.any(blanks).as_py():
        return column
    numbers = pa.array(lines).cast(pa.string())
    label = pc.utf8_slice_codeunits(column, 2)
    renamed = pc.binary_join_element_wise(f"_:{blank_prefix}", numbers, "_", label, "")
    return pc.if_else(blanks, renamed, column)


def numbers_of(column: pa.Array) -> Microseconds:
    found: Microseconds = column.to_numpy(zero_copy_only=False)
    return found


def all_bytes(texts: pa.BinaryArray) -> bytes:
    """All texts of a column, one after the other."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return b"" if data is None else bytes(memoryview(data)[bounds[0] : bounds[-1]])


def _at(line: int, reason: str) -> str:
    return f"line {line}: {reason}" if line > 1 else reason
