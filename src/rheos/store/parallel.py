"""Large N-Triples and N-Quads: files come in, a persisted Spark DataFrame of their quads goes out.

The files are split, parsed and kept by the tasks of Spark; nothing that grows with them passes through the
driver. On a cluster the executors must reach the files under the same path as the driver does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from rheos.errors import EvaluationError, LoadError
from rheos.execute.session import map_in_arrow
from rheos.store import formats, lines
from rheos.store.documents import Document
from rheos.store.reader import SCHEMA, batch, read
from rheos.store.views import without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "g STRING, s STRING, p STRING, o STRING"

# A faulty batch reports so many lines: enough to find one, even if the file is no RDF at all.
_FAULTS_TOLD = 3

# So much text makes one partition of the kept data.
_PARTITION_BYTES = 128 << 20


def is_readable(document: Document) -> bool:
    """Whether Spark's text reader gives the lines of the document: it goes by names."""
    return (
        document.path is not None
        and formats.is_lines(document.format)
        and document.is_gzip == document.path.name.endswith(formats.GZIP_EXTENSION)
        and not document.path.name.startswith(("_", "."))
        and not document.path.name.endswith("._COPYING_")
    )


def read_parallel(
    spark: SparkSession,
    documents: Sequence[Document],
    blank_prefix: str,
    graph: str | None = None,
    known: Sequence[DataFrame] = (),
) -> tuple[DataFrame, int]:
    """The distinct quads of the documents, persisted, without those known, and their number.

    LoadError if a line is faulty.
    The quads of the default graph get `graph`, if it is given.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.storagelevel import StorageLevel

    parts = [
        _lines_frame(spark, chosen, ParseLines(quads, f"{blank_prefix}{number}", graph, _single(chosen)))
        for number, quads in enumerate((False, True))
        if (chosen := [d for d in documents if (d.format == formats.N_QUADS) == quads])
    ]
    # Kept by subject, the joins around one subject need no exchange.
    partitions = max(
        spark.sparkContext.defaultParallelism,
        sum(document.bytes_about for document in documents) // _PARTITION_BYTES,
    )
    quads = reduce(lambda left, right: left.union(right), parts).repartition(partitions, "s").distinct()
    for frame in known:
        quads = without(quads, frame)
    quads = quads.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        # A faulty line travels as a row without a subject: reason and text in the place of p and o. One job
        # fills the cache, counts, and finds out whether there is any.
        (result,) = quads.selectExpr("count(s)", "min(CASE WHEN s IS NULL THEN (g, p, o) END)").collect()
    except (PySparkException, Py4JJavaError) as error:
        quads.unpersist()
        raise _explain(documents, error) from None
    count, fault = result
    if fault is not None:
        quads.unpersist()
        shown, reason, text = fault
        document = _named(documents, shown)
        raise LoadError(reason, document.name, _line_number(document, text))
    return quads, count


@dataclass(frozen=True, slots=True)
class ParseLines:
    """What a task does: batches of lines (and the file of each, unless there is one only) in, quads out."""

    quads: bool
    blank_prefix: str
    graph: str | None
    only_file: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for given in batches:
            if self.only_file is not None:
                yield from self._parse(given.column(0), self.only_file)
                continue
            files = given.column(1).dictionary_encode()
            for number, name in enumerate(files.dictionary.to_pylist()):
                mask = pc.equal(files.indices, number)
                yield from self._parse(given.column(0).filter(mask), name)

    def _parse(self, text: pa.Array, file: str) -> Iterator[pa.RecordBatch]:
        shape = lines.QUADS if self.quads else lines.TRIPLES
        # All tasks that read a part of the file must give its blank nodes the same labels.
        prefix = f"{self.blank_prefix}h{hashlib.sha256(file.encode()).hexdigest()[:12]}_"
        parsed = lines.parse(text, shape, prefix)
        found = batch(parsed.terms)
        if self.graph is not None:
            found = found.set_column(0, "g", pc.fill_null(found.column(0), self.graph))
        yield found
        if parsed.faults:
            rows = [
                {"g": file, "s": None, "p": fault.reason, "o": _text(text, fault.line)}
                for fault in parsed.faults[:_FAULTS_TOLD]
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _lines_frame(spark: SparkSession, documents: Sequence[Document], parse: ParseLines) -> DataFrame:
    frame = spark.read.text([_spark_path(document) for document in documents])
    if parse.only_file is None:
        frame = frame.selectExpr("value", "_metadata.file_path AS file")
    return map_in_arrow(frame, parse, COLUMNS)


def _spark_path(document: Document) -> str:
    """The path as Spark takes it: with its scheme, and with the characters of globs escaped."""
    assert document.path is not None
    return "file:" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(document.path.resolve()))


def _single(documents: Sequence[Document]) -> str | None:
    return documents[0].name if len(documents) == 1 else None


def _named(documents: Sequence[Document], shown: str) -> Document:
    """The document that Spark shows under this name."""
    path = Path(unquote(urlsplit(shown).path))
    for document in documents:
        assert document.path is not None
        if document.name == shown or document.path.resolve() == path:
            return document
    return documents[0]


def _text(column: pa.Array, line: int) -> str:
    return bytes(column.cast(pa.binary())[line].as_py()).decode(errors="replace")


def _line_number(document: Document, text: str) -> int | None:
    """Where the line is: Spark does not number lines, so the file is read again, now that one is faulty."""
    with document.open() as stream:
        for number, line in enumerate(stream, start=1):
            if line.decode(errors="replace").rstrip("\r\n") == text:
                return number
    return None


def _explain(documents: Sequence[Document], error: Exception) -> Exception:
    """Why Spark could not read the files, if reading them here one by one tells."""
    for document in documents:
        try:
            for _ in read(document):
                pass
        except LoadError as found:
            return found
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return EvaluationError(f"Spark could not read the files: {first}")
