"""A Spark streaming DataFrame as a stream: rows with subject, predicate, object, time come in, chunks go out.

Terms are N-Triples (`<http://ex/a>`, `"text"@en`, `_:b`); an absolute IRI without its brackets is understood,
and an object that is a number, a truth value, a date or a timestamp becomes a literal of that type. `time` is
a timestamp or the text of an xsd:dateTime; with a column `end` the element has an interval. Rows are checked
like the lines of a file.
With a mapping a row is a record: it may have any columns, and Spark writes them as JSON for the mapping.

A column `partition` (a whole number, as Kafka's source has it) says which partition of the stream a row
belongs to. Without this column the number of Spark's partition is used, which stays the same from batch to
batch only if the source sees to it. Within a partition, rows are in the order in which Spark has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rheos.errors import RheosError
from rheos.sources.ahead import Ahead
from rheos.sources.chunks import Chunk, Packed, SegmentWriter, judge
from rheos.sources.decoding import AS_RDF, Decoder, Decoding, Messages
from rheos.sources.lines import read_lines
from rheos.sources.reader import SCHEMA, row, segment_name
from rheos.terms import XSD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTITION, CLOCK, PAYLOAD = "partition", "clock", "payload"
_COLUMNS = ("subject", "predicate", "object", "time")
_BARE_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"]*$"


@dataclass(frozen=True, slots=True)
class Frame:
    """A streaming DataFrame that was checked; `stream` is the IRI of the stream as a term."""

    frame: DataFrame
    stream: str
    blank_prefix: str
    decoder: Decoder | None = None  # of a mapping: then rows are records with any columns

    def chunks(
        self, session: SparkSession, lateness: int, ahead: int | None, store: SegmentWriter, most: int
    ) -> DataFrame:
        """The DataFrame with its rows as chunks of the stream."""
        from pyspark.sql import functions as sql

        from rheos.spark import map_in_arrow

        frame = self.frame
        columns: list[str | Column] = [*_COLUMNS, "end"] if "end" in frame.columns else list(_COLUMNS)
        if self.decoder is not None:
            columns = [sql.to_json(sql.struct("*")).cast("binary").alias(PAYLOAD)]
        # This time is the same for all rows of a batch, also if the batch is read again.
        clock = sql.unix_micros(sql.current_timestamp()).alias(CLOCK)
        tasks = Chunks(self.stream, self.blank_prefix, lateness, ahead, store, self.decoder)
        return map_in_arrow(frame.select(*columns, partition(frame), clock), tasks, SCHEMA)


def checked(frame: DataFrame, stream: str, blank_prefix: str, decoding: Decoding = AS_RDF) -> Frame:
    """A DataFrame as a stream; RheosError if it cannot be one."""
    decoder = None
    if decoding.mapping is not None:
        if decoding.clock.kind == "message":
            raise RheosError("rows have no time of their own: say time='field:COLUMN', a property or arrival")
        decoder = decoding.decoder("json")
    elif decoding.time is not None:
        raise RheosError("a DataFrame without a mapping has its time in the column time")
    missing = [name for name in _COLUMNS if name not in frame.columns and decoder is None]
    if missing:
        raise RheosError(
            f"a DataFrame that is a stream has the columns {', '.join(_COLUMNS)}; "
            f"{', '.join(missing)} is not there"
        )
    if not frame.isStreaming:
        raise RheosError("this DataFrame is not a stream: make it with spark.readStream")
    if decoder is None:
        _check_types(frame)
    partition(frame)  # raises an error if the column does not have whole numbers
    return Frame(frame, stream, blank_prefix, decoder)


def _check_types(frame: DataFrame) -> None:
    """Raise RheosError if a column has a type of which no term, or no time, can be made."""
    from pyspark.sql import types

    text = (types.StringType, types.CharType, types.VarcharType)
    moments = (types.TimestampType, types.TimestampNTZType)
    literals = (types.NumericType, types.BooleanType, types.DateType, *moments)
    known: dict[str, tuple[str, tuple[type, ...]]] = {
        "subject": ("texts", text),
        "predicate": ("texts", text),
        "object": ("texts, numbers, truth values, dates or timestamps", (*text, *literals)),
        "time": ("timestamps or texts", (*text, *moments)),
        "end": ("timestamps or texts", (*text, *moments)),
    }
    for name, (expected, allowed) in known.items():
        if name in frame.columns and not isinstance(frame.schema[name].dataType, allowed):
            found = frame.schema[name].dataType.simpleString()
            raise RheosError(f"the column {name} of a DataFrame that is a stream has {expected}, not {found}")


def partition(frame: DataFrame) -> Column:
    """The partition of a row, as a column. It is added here, because later this DataFrame is united with
    others, and tasks could not tell any more."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import IntegralType

    if PARTITION not in frame.columns:
        return sql.spark_partition_id().cast("long").alias(PARTITION)
    kind = frame.schema[PARTITION].dataType
    if not isinstance(kind, IntegralType):
        raise RheosError(
            f"the column {PARTITION} of a DataFrame has whole numbers, not {kind.simpleString()}"
        )
    return sql.coalesce(sql.col(PARTITION).cast("long"), sql.lit(-1)).alias(PARTITION)


@dataclass(frozen=True, slots=True)
class Chunks:
    """The work of the tasks: each chunk has rows of one partition, in the order in which Spark has them."""

    stream: str
    blank_prefix: str
    lateness: int
    ahead: int | None
    store: SegmentWriter
    decoder: Decoder | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        parts = (part for batch in batches for part in by_partition(batch))
        for number, (partition, rows) in enumerate(parts):
            clock = rows.column(CLOCK)[0].as_py()
            chunk = self._chunk(rows, f"DataFrame, partition {partition}", f"{clock:x}_{task}_{number}_")
            ahead = None if self.ahead is None else Ahead(clock, self.ahead)
            judged = judge(replace(chunk, partition=partition), self.lateness, ahead)
            name = segment_name(self.stream, f"f{clock}", task, number)
            yield row(self.stream, task, number, False, Packed.of(judged, self.store, name))

    def _chunk(self, rows: pa.RecordBatch, place: str, mark: str) -> Chunk:
        if self.decoder is None:
            return read_lines(lines(rows), self.blank_prefix, place)
        payload = rows.column(PAYLOAD).cast(pa.binary())
        messages = Messages.of(payload, arrival=rows.column(CLOCK))
        return self.decoder.decode(messages, f"{self.blank_prefix}{mark}", place)


def by_partition(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each partition, in their order."""
    numbers = batch.column(PARTITION)
    for number in sorted(pc.unique(numbers).to_pylist()):
        yield number, batch.filter(pc.equal(numbers, number))


def lines(batch: pa.RecordBatch) -> bytes:
    """The rows as lines of a stream file."""
    terms = [term(batch.column(name)) for name in _COLUMNS[:3]]
    moments = [moment(batch.column("time"))]
    if "end" in batch.schema.names:
        # Without a start, the end would be read as the time of an instant.
        end = moment(batch.column("end"))
        moments.append(pc.if_else(moments[0].is_null(), pa.scalar(None, pa.string()), end))
    joined = pc.binary_join_element_wise(
        *terms, *moments, ".", " ", null_handling="replace", null_replacement=""
    )
    return "".join(f"{line}\n" for line in joined.to_pylist()).encode()


def term(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        plain = column.cast(pa.string())
        bare = pc.match_substring_regex(plain, _BARE_IRI)
        wrapped = pc.binary_join_element_wise("<", plain, ">", "")
        safe = pc.replace_substring_regex(plain, r"[\r\n]+", r" ")
        return pc.if_else(bare, wrapped, safe)
    if pa.types.is_date(kind):
        return _literal(column.cast(pa.string()), "date")
    if pa.types.is_timestamp(kind):
        return _literal(_short(_utc(column)), "dateTime")
    if pa.types.is_decimal(kind):
        return _literal(_plain_decimals(column), "decimal")
    if pa.types.is_boolean(kind):
        return _literal(column.cast(pa.string()), "boolean")
    if pa.types.is_integer(kind):
        return _literal(column.cast(pa.string()), "integer")
    text = column.cast(pa.string())
    for name, spelled in (("inf", "INF"), ("-inf", "-INF"), ("nan", "NaN")):
        text = pc.if_else(pc.equal(text, name), spelled, text)
    return _literal(text, "double")


def _literal(text: pa.Array, datatype: str) -> pa.Array:
    return pc.binary_join_element_wise('"', text, f'"^^<{XSD}{datatype}>', "")


def _plain_decimals(column: pa.Array) -> pa.Array:
    """Decimals as text without an exponent, which xsd:decimal does not have."""
    text = column.cast(pa.string())
    if not pc.any(pc.match_substring(text, "E")).as_py():
        return text
    return pa.array([None if value is None else f"{value:f}" for value in column.to_pylist()], pa.string())


def _utc(column: pa.Array) -> pa.Array:
    """Spark's timestamps are points in time; a type without a zone is taken as UTC."""
    return pc.strftime(column.cast(pa.timestamp("us", "UTC")), "%Y-%m-%dT%H:%M:%SZ")


def _short(text: pa.Array) -> pa.Array:
    """Times without zeros at their end, so that equal times are equal terms."""
    return pc.replace_substring_regex(
        pc.replace_substring_regex(text, r"(\.[0-9]*?)0+Z$", r"\1Z"), r"\.Z$", "Z"
    )


def moment(column: pa.Array) -> pa.Array:
    suffix = f'"^^<{XSD}dateTime>'
    if pa.types.is_timestamp(column.type):
        text = _utc(column)
    else:
        text = pc.replace_substring_regex(column.cast(pa.string()), r"[\r\n\"]+", " ")
        literal = pc.match_substring(column.cast(pa.string()), '"^^<')
        whole = pc.binary_join_element_wise('"', text, suffix, "")
        return pc.if_else(literal, column.cast(pa.string()), whole)
    return pc.binary_join_element_wise('"', text, suffix, "")
