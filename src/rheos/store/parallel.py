"""Reads large N-Triples and N-Quads files into a persisted Spark DataFrame of their quads.

Spark's tasks split, read, parse and keep the files; only counts and faults come to the driver. On a cluster,
the executors must reach the files under the same path as the driver. The tasks open the files themselves: so
file names and compression do not matter, a fault has its line number, and it takes a tenth less processor
time than Spark's text reader, which passes every line through the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rheos.errors import EvaluationError, LoadError
from rheos.spark import map_in_arrow
from rheos.store import formats, lines
from rheos.store.cutting import split_lines
from rheos.store.documents import Document
from rheos.store.reader import PIECE_BYTES, SCHEMA, batch, pieces
from rheos.store.views import without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The amount of text that is one task's share, and the amount for one partition of the DataFrame.
_SHARE_BYTES = 64 << 20
_PARTITION_BYTES = 128 << 20

_COLUMNS = "g STRING, s STRING, p STRING, o STRING"


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a document that begin at a byte from `start` up to `end`, `end` excluded."""

    document: Document
    blank_prefix: str
    start: int
    end: int


def divide(documents: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """The documents that tasks can read in parts (files of N-Triples or N-Quads), and the others."""
    large: list[Document] = []
    others: list[Document] = []
    for document in documents:
        in_parts = document.path is not None and formats.is_lines(document.format)
        (large if in_parts else others).append(document)
    return large, others


def read_parallel(
    spark: SparkSession,
    documents: Sequence[Document],
    blank_prefix: str,
    graph: str | None = None,
    known: Sequence[DataFrame] = (),
) -> tuple[DataFrame, int]:
    """The distinct quads of the documents without the known ones, persisted, and their number.

    Quads of the default graph go into `graph`, if it is given. LoadError if a document cannot be read.
    """
    from pyspark.errors import PySparkException
    from pyspark.storagelevel import StorageLevel

    shares = tuple(_shares(documents, blank_prefix))
    tasks = spark.range(0, len(shares), 1, len(shares))
    # Partitions are by subject, so that joins around one subject need no exchange.
    partitions = max(
        spark.sparkContext.defaultParallelism,
        sum(document.bytes_about for document in documents) // _PARTITION_BYTES,
    )
    quads = map_in_arrow(tasks, ReadShares(shares, graph), _COLUMNS).repartition(partitions, "s").distinct()
    for frame in known:
        quads = without(quads, frame)
    quads = quads.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        # A fault is a row without a subject. One job fills the cache, counts the quads, and finds the first
        # fault.
        row = quads.selectExpr("count(s)", "min(CASE WHEN s IS NULL THEN (g, p, o) END)").collect()[0]
    except PySparkException as error:
        quads.unpersist()
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise EvaluationError(f"Spark could not read the files: {first}") from error
    count, fault = row
    if fault is not None:
        quads.unpersist()
        raise _load_error(documents, *fault)
    return quads, count


@dataclass(frozen=True, slots=True)
class ReadShares:
    """The function of a task: the numbers of shares come in, the quads of their parts go out."""

    shares: tuple[tuple[Part, ...], ...]
    graph: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for given in batches:
            for number in given.column(0).to_pylist():
                for part in self.shares[number]:
                    yield from self._read(part)

    def _read(self, part: Part) -> Iterator[pa.RecordBatch]:
        shape = lines.QUADS if part.document.format == formats.N_QUADS else lines.TRIPLES
        before = 0
        try:
            for piece in _pieces_of(part):
                parsed = lines.parse(piece, shape, part.blank_prefix)
                found = batch(parsed.terms)
                if self.graph is not None:
                    found = found.set_column(0, "g", pc.fill_null(found.column(0), self.graph))
                yield found
                if parsed.faults:
                    fault = parsed.faults[0]
                    yield _fault_row(part, fault.reason, before + fault.line)
                    return
                before += len(piece)
        except LoadError as error:
            yield _fault_row(part, error.reason, None)


def _shares(documents: Sequence[Document], blank_prefix: str) -> Iterator[tuple[Part, ...]]:
    """The documents in shares of about the same size: parts of large ones, or several small ones."""
    share: list[Part] = []
    size = 0
    for number, document in enumerate(documents):
        length = document.bytes_stored
        # A compressed file can only be read from its beginning.
        step = length if document.is_gzip else _SHARE_BYTES
        for start in range(0, max(length, 1), max(step, 1)):
            end = min(start + step, length)
            share.append(Part(document, f"{blank_prefix}{number}_", start, end))
            size += end - start
            if size >= _SHARE_BYTES:
                yield tuple(share)
                share, size = [], 0
    if share:
        yield tuple(share)


def _pieces_of(part: Part) -> Iterator[pa.StringArray]:
    """The lines of a part. A line that begins before the start belongs to the part before."""
    with part.document.open() as text:
        if part.document.is_gzip:
            yield from pieces(text)
            return
        if part.start:
            text.seek(part.start - 1)
            text.readline()
        place = text.tell()
        while place < part.end:
            block = text.read(min(PIECE_BYTES, part.end - place))
            if not block:
                return
            if not block.endswith(b"\n"):
                block += text.readline()
            place += len(block)
            yield split_lines(block)


def _fault_row(part: Part, reason: str, line: int | None) -> pa.RecordBatch:
    """A fault as a row: its document, its place as a text that sorts like the place, and the reason."""
    place = "" if line is None else f"{part.start:020} {line:020}"
    row = {"g": part.document.name, "s": None, "p": place, "o": reason}
    return pa.RecordBatch.from_pylist([row], schema=SCHEMA)


def _load_error(documents: Sequence[Document], name: str, where: str, reason: str) -> LoadError:
    """The error for a fault.

    A task knows only the line within its part; the lines before it are counted now.
    """
    if not where:
        return LoadError(reason, name)
    start, line = map(int, where.split())
    place = before = 0
    block = b"\n"
    document = next(document for document in documents if document.name == name)
    if start:
        with document.open() as text:
            text.seek(0)
            while place < start:
                block = text.read(min(PIECE_BYTES, start - place))
                place += len(block)
                before += block.count(b"\n")
            # A line that has begun before the start belongs to the part before.
            before += not block.endswith(b"\n")
    return LoadError(reason, name, before + line + 1)
