"""Records: the payloads of messages come in, their records go out, as columns.

A payload of JSON is a record, or an array of records. A payload of CSV or TSV has a line with the
names of the columns, and then one record in each line. Anything that is no record becomes a dead
letter, with the reason.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from rheos.execute.database import run
from rheos.mapping.json_fields import name_of
from rheos.sources.chunks import BadLine
from rheos.sources.decoding import Messages, all_bytes, numbers_of
from rheos.sources.nesting import TOO_DEEP, too_deep
from rheos.sources.times import Microseconds

DELIMITERS = {"csv": ",", "tsv": "\t"}
_QUOTING: dict[str, Literal[0, 3]] = {"csv": csv.QUOTE_MINIMAL, "tsv": csv.QUOTE_NONE}
_TEXTS = "payloads"
_SHOWN = 10_000  # characters of a record that a dead letter shows at most


@dataclass(frozen=True, slots=True)
class Records:
    """Records in their order. `origin` is the position of each record's message, `line` the number of the
    record in dead letters. Records are JSON (`texts`), or rows of a table (`columns`, by their names)."""

    messages: Messages
    origin: Microseconds
    line: Microseconds
    texts: pa.Array
    columns: dict[str, pa.Array] | None = None
    bad: list[BadLine] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.origin)

    def text(self, row: int) -> str:
        """The text of a record, for a dead letter."""
        return str(self.texts[row].as_py())[:_SHOWN]


def json_records(cursor: duckdb.DuckDBPyConnection, messages: Messages, *, spread: bool = True) -> Records:
    """The records of JSON payloads. With `spread`, each item of an array is a record."""
    bad: list[BadLine] = []
    texts, kept = _texts(messages, bad)
    deep = too_deep(texts)
    if deep:
        bad += [
            BadLine(int(messages.lines[kept[row]]), messages.text(int(kept[row])), TOO_DEEP) for row in deep
        ]
        fine = np.delete(np.arange(len(texts)), deep)
        texts, kept = texts.take(pa.array(fine)), kept[fine]
    if not len(texts):
        return Records(messages, kept, messages.lines[kept], texts, bad=bad)
    cursor.register(_TEXTS, pa.table([texts], ["text"]))
    valid = run(cursor, f"SELECT json_valid(text) AS valid FROM {_TEXTS}").to_arrow_table()["valid"]
    right = valid.combine_chunks().to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~right):
        message = int(kept[row])
        if messages.text(message).strip():  # an empty message is ignored, as an empty line is
            bad.append(
                BadLine(int(messages.lines[message]), messages.text(message), _fault(texts[row].as_py()))
            )
    if not right.all():
        texts, kept = texts.filter(pa.array(right)), kept[right]
    if spread:
        texts, kept = _items(cursor, texts, kept)
    return Records(messages, kept, messages.lines[kept], texts, bad=bad)


def _texts(messages: Messages, bad: list[BadLine]) -> tuple[pa.Array, Microseconds]:
    """The payloads that are UTF-8, and their positions."""
    payload = pc.fill_null(messages.payload, b"")
    every = np.arange(len(messages))
    try:
        texts = payload.cast(pa.string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        decoded = [_decoded(item) for item in payload.to_pylist()]
        fine = np.array([text is not None for text in decoded], bool)
        for row in np.flatnonzero(~fine):
            bad.append(BadLine(int(messages.lines[row]), messages.text(int(row)), "the record is not UTF-8"))
        return pa.array([text for text in decoded if text is not None], pa.string()), every[fine]
    return texts, every


def _decoded(payload: bytes) -> str | None:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return None


def _fault(text: str) -> str:
    """Why a text is not JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        return f"the record is no JSON: {error.msg} at {where}"
    except (ValueError, RecursionError) as error:
        return f"the record is no JSON: {error}"
    return "the record is no JSON"


def _items(
    cursor: duckdb.DuckDBPyConnection, texts: pa.Array, kept: Microseconds
) -> tuple[pa.Array, Microseconds]:
    """The texts in their order, with the items of arrays in the place of the arrays."""
    begins = pc.starts_with(pc.utf8_ltrim(texts, " \t\r\n"), "[")
    while pc.any(begins).as_py():
        cursor.register(_TEXTS, pa.table([texts, pa.array(kept), begins], ["text", "kept", "is_array"]))
        items = "CASE WHEN is_array THEN CAST(json_extract(text, '$[*]') AS VARCHAR[]) ELSE [text] END"
        spread = run(cursor, f"SELECT kept, unnest({items}) AS text FROM {_TEXTS}").to_arrow_table()
        texts, kept = spread["text"].combine_chunks(), numbers_of(spread["kept"].combine_chunks())
        begins = pc.starts_with(texts, "[")
    return texts, kept


def table_records(messages: Messages, format: str) -> Records:
    """The records of payloads of CSV or TSV."""
    bad: list[BadLine] = []
    payloads = messages.payload.to_pylist()
    heads = [_head(payload) for payload in payloads]
    parts: list[Records] = []
    start = 0
    while start < len(payloads):  # payloads in a row that have the same header are read as one table
        end = start + 1
        while end < len(payloads) and heads[end] == heads[start]:
            end += 1
        bodies = pa.array(
            [(payload or b"")[len(heads[start]) :] for payload in payloads[start:end]], pa.binary()
        )
        part = _table(messages, np.arange(start, end), bodies, heads[start], format, bad, skipped_lines=1)
        if part is not None:
            parts.append(part)
        start = end
    return _merged(parts, messages, bad)


def table_lines(messages: Messages, format: str, head: bytes) -> Records:
    """The records of messages each of which is a line of CSV or TSV; `head` is the line with the names."""
    bad: list[BadLine] = []
    found = _table(messages, np.arange(len(messages)), messages.payload, head, format, bad)
    return _merged([] if found is None else [found], messages, bad)


def _head(payload: bytes | None) -> bytes:
    data = payload or b""
    end = data.find(b"\n") + 1
    return data if not end else data[:end]


def _merged(parts: Sequence[Records], messages: Messages, bad: list[BadLine]) -> Records:
    if len(parts) == 1:
        return parts[0]
    nothing = np.empty(0, np.int64)
    if not parts:
        return Records(messages, nothing, nothing, pa.array([], pa.string()), {}, bad)
    names = dict.fromkeys(name for part in parts for name in part.columns or {})
    columns = {
        name: pa.concat_arrays(
            [(part.columns or {}).get(name, pa.nulls(len(part), pa.string())) for part in parts]
        )
        for name in names
    }
    origin = np.concatenate([part.origin for part in parts])
    line = np.concatenate([part.line for part in parts])
    return Records(messages, origin, line, pa.concat_arrays([part.texts for part in parts]), columns, bad)


def _table(
    messages: Messages,
    places: Microseconds,
    bodies: pa.Array,
    head: bytes,
    format: str,
    bad: list[BadLine],
    skipped_lines: int = 0,
) -> Records | None:
    """The records in the lines of bodies, with the names of columns in `head`. `skipped_lines` says how many
    lines of its message come before each body."""
    ended = pc.binary_join_element_wise(pc.fill_null(bodies, b""), b"", b"\n")
    counts = numbers_of(pc.count_substring(ended, b"\n").cast(pa.int64()))
    lines = pc.split_pattern(pa.array([all_bytes(ended)], pa.binary()), b"\n").flatten()[:-1]
    owner = np.repeat(places, counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    number = messages.lines[owner] + within + skipped_lines
    try:
        texts = lines.cast(pa.string())
        texts.validate(full=True)
        fine = np.ones(len(lines), bool)
    except pa.ArrowInvalid:
        decoded = [_decoded(item) for item in lines.to_pylist()]
        fine = np.array([text is not None for text in decoded], bool)
        texts = pa.array([text or "" for text in decoded], pa.string())
        for row in np.flatnonzero(~fine):
            text = lines[int(row)].as_py().decode(errors="replace")
            bad.append(BadLine(int(number[row]), text[:_SHOWN], "the record is not UTF-8"))
    texts = pc.utf8_rtrim(texts, "\r")
    try:
        names = _names(head, format)
    except (ValueError, csv.Error) as error:
        for row in np.flatnonzero(fine & ~_blank(texts)):
            bad.append(BadLine(int(number[row]), texts[int(row)].as_py()[:_SHOWN], str(error)))
        return None
    open_quotes = pc.bit_wise_and(pc.count_substring(texts, '"'), 1)
    broken = numbers_of(open_quotes.cast(pa.int64())).astype(bool) & (format == "csv") & fine
    for row in np.flatnonzero(broken):
        reason = "a quoted field is not closed on its line: a record is one line"
        bad.append(BadLine(int(number[row]), texts[int(row)].as_py()[:_SHOWN], reason))
    kept = np.flatnonzero(fine & ~broken & ~_blank(texts))
    table, skipped = _parse(texts.take(pa.array(kept)), names, format)
    for at, reason in skipped:
        bad.append(BadLine(int(number[kept[at]]), texts[int(kept[at])].as_py()[:_SHOWN], reason))
    kept = np.delete(kept, [at for at, _ in skipped])
    columns = {name: table[at].combine_chunks() for at, name in enumerate(names)}
    return Records(messages, owner[kept], number[kept], texts.take(pa.array(kept)), columns, bad)


def _blank(texts: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.equal(pc.utf8_trim_whitespace(texts), "").to_numpy(zero_copy_only=False)
    return found


def _names(head: bytes, format: str) -> list[str]:
    """The names of columns, as names of variables. ValueError if there are none, or if two columns have the
    same name."""
    text = head.decode("utf-8-sig", errors="replace").strip("\r\n")
    if not text.strip():
        raise ValueError("the first line is empty, and does not name the columns")
    rows = list(csv.reader([text], delimiter=DELIMITERS[format], quoting=_QUOTING[format], strict=True))
    names = [name_of(value.strip()) for value in rows[0]]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two columns have the same name: {', '.join(sorted(twice))}")
    return names


def _parse_options(format: str, handler: object = None) -> pcsv.ParseOptions:
    quote = '"' if format == "csv" else False
    return pcsv.ParseOptions(
        delimiter=DELIMITERS[format], quote_char=quote, invalid_row_handler=handler, ignore_empty_lines=False
    )


def _parse(texts: pa.Array, names: Sequence[str], format: str) -> tuple[pa.Table, list[tuple[int, str]]]:
    """The fields of lines; and the lines with a wrong number of fields, by their
    positions, with the reason."""
    wrong: list[tuple[int, str]] = []

    def handler(row: pcsv.InvalidRow) -> str:
        wrong.append((row.number - 1, f"it has {row.actual_columns} fields, not {row.expected_columns}"))
        return "skip"

    kinds = dict.fromkeys(names, pa.string())
    if not len(texts):
        return pa.table([pa.array([], pa.string()) for _ in names], names), wrong
    body = all_bytes(pc.binary_join_element_wise(texts, "", "\n").cast(pa.binary()))
    table = pcsv.read_csv(
        pa.BufferReader(body),
        pcsv.ReadOptions(column_names=list(names), use_threads=False),
        _parse_options(format, handler),
        pcsv.ConvertOptions(column_types=kinds, strings_can_be_null=False, null_values=[]),
    )
    return table, wrong
