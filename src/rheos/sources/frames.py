"""A Spark streaming DataFrame as a stream: rows with subject, predicate, object, time come in, chunks go out.

Terms are N-Triples (`<http://ex/a>`, `"text"@en`, `_:b`); an absolute IRI without its brackets is understood,
and an object that is a number or a truth value becomes a literal. `time` is a timestamp or the text of an
xsd:dateTime; with a column `end` the element has an interval. Rows are checked like the lines of a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rheos.errors import RheosError
from rheos.sources.lines import read_lines
from rheos.sources.reader import SCHEMA, row
from rheos.terms import XSD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = ("subject", "predicate", "object", "time")
_BARE_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"]*$"


def chunked(frame: DataFrame, stream: str, blank_prefix: str) -> DataFrame:
    """The DataFrame with its rows as chunks of the stream."""
    from rheos.execute.session import map_in_arrow

    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise RheosError(
            f"a DataFrame that is a stream has the columns {', '.join(_COLUMNS)}; "
            f"{', '.join(missing)} is not there"
        )
    if not frame.isStreaming:
        raise RheosError("this DataFrame is not a stream: make it with spark.readStream")
    columns = [*_COLUMNS, "end"] if "end" in frame.columns else list(_COLUMNS)
    return map_in_arrow(frame.select(*columns), Chunks(stream, blank_prefix), SCHEMA)


@dataclass(frozen=True, slots=True)
class Chunks:
    """What the tasks do: the order of the rows is that of partitions, and in them of rows."""

    stream: str
    blank_prefix: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        for number, batch in enumerate(batches):
            if batch.num_rows:
                chunk = read_lines(lines(batch), self.blank_prefix, "DataFrame")
                yield row(self.stream, partition, number, False, chunk.pack())


def lines(batch: pa.RecordBatch) -> bytes:
    """The rows as the lines that a file would have."""
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
    datatype = (
        "boolean" if pa.types.is_boolean(kind) else "integer" if pa.types.is_integer(kind) else "double"
    )
    if pa.types.is_decimal(kind):
        datatype = "decimal"
    return pc.binary_join_element_wise('"', column.cast(pa.string()), f'"^^<{XSD}{datatype}>', "")


def moment(column: pa.Array) -> pa.Array:
    suffix = f'"^^<{XSD}dateTime>'
    if pa.types.is_timestamp(column.type):
        # Spark's timestamps are instants; without a zone in the type they are taken as UTC.
        text = pc.strftime(column.cast(pa.timestamp("us", "UTC")), "%Y-%m-%dT%H:%M:%SZ")
    else:
        text = pc.replace_substring_regex(column.cast(pa.string()), r"[\r\n\"]+", " ")
        literal = pc.match_substring(column.cast(pa.string()), '"^^<')
        whole = pc.binary_join_element_wise('"', text, suffix, "")
        return pc.if_else(literal, column.cast(pa.string()), whole)
    return pc.binary_join_element_wise('"', text, suffix, "")
