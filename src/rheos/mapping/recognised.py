"""Formats of records by their content: messages come in, each of JSON, NDJSON, CSV or TSV; a chunk goes out.

A payload that begins with a brace or a bracket is JSON or, if its first line is a record and there are more,
NDJSON. Another payload of several lines is a table, as lines that come without a file name are: CSV, or TSV
if its first line has a tab and no comma. What is left is read as JSON, so that a message that is no record is
a dead letter. All records of a message have its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.sources.chunks import Chunk
from rheos.sources.clocks import Clock
from rheos.sources.decoding import Decoder, Messages, numbers_of, together
from rheos.sources.record_files import begins_with_record, table_format
from rheos.sources.times import Microseconds

_SEVERAL_LINES = r"\S[^\n]*\n\s*\S"
_JSON = r"^\s*[\[{]"


@dataclass(frozen=True, slots=True)
class RecognisingDecoder(Decoder):
    """Decodes each payload in its format, with `made`, which decodes one of them. `json` and `tables` say
    what the mapping can read."""

    made: Decoder
    clock: Clock
    json: bool = True
    tables: bool = True

    def reading(self, format: str) -> Decoder:
        return self.made.reading(format)

    def decode(self, messages: Messages, blank_prefix: str, place: str = "", *, first: bool = False) -> Chunk:
        kinds = self._kinds(messages)
        if (kinds == "json").all():
            return self.made.reading("json").decode(messages, blank_prefix, place, first=first)
        chunks = []
        if (kinds == "json").any():
            rows = np.flatnonzero(kinds == "json")
            chunks.append(self.made.reading("json").decode(messages.take(rows), blank_prefix, place))
        if (kinds == "ndjson").any():
            lines = _lines(messages, np.flatnonzero(kinds == "ndjson"))
            chunks.append(self.made.reading("json").decode(lines, blank_prefix, place))
        for head, rows in _tables(messages, kinds):
            lines = _lines(messages, rows, skipped=1)
            format = table_format(head)
            chunks.append(self.made.reading(format).decode_lines(lines, head, blank_prefix, place))
        return replace(together(chunks, messages, place, first=first), lines=len(messages))

    def _kinds(self, messages: Messages) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """The kind of each payload: `json`, `ndjson` or `table`."""
        kinds = np.full(len(messages), "json" if self.json else "table", "U6")
        if not self.json or not pc.any(pc.match_substring(messages.payload, "\n")).as_py():
            return kinds
        several = np.flatnonzero(_matches(messages.payload, _SEVERAL_LINES))
        if not len(several):
            return kinds
        payload = messages.payload.take(pa.array(several))
        begins = _matches(payload, _JSON)
        for row, is_json, text in zip(several, begins, payload.to_pylist(), strict=True):
            if is_json and begins_with_record(text):
                kinds[row] = "ndjson"
            elif not is_json and self.tables:
                kinds[row] = "table"
        return kinds


def _matches(payload: pa.Array, expression: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found = pc.fill_null(pc.match_substring_regex(payload, expression), False)
    matches: np.ndarray[tuple[int], np.dtype[np.bool_]] = found.to_numpy(zero_copy_only=False)
    return matches.astype(bool)


def _lines(messages: Messages, rows: Microseconds, skipped: int = 0) -> Messages:
    """The lines of some messages as messages, without the first `skipped` lines of each."""
    chosen = messages.take(rows)
    split = pc.split_pattern(pc.fill_null(chosen.payload, b""), b"\n")
    parent = numbers_of(pc.list_parent_indices(split))
    within = np.arange(len(parent)) - np.searchsorted(parent, parent)
    kept = np.flatnonzero(within >= skipped)
    batch = chosen.take(parent[kept]).batch
    payload = split.flatten().take(pa.array(kept))
    return Messages(batch.set_column(batch.schema.get_field_index("payload"), "payload", payload))


def _tables(
    messages: Messages, kinds: np.ndarray[tuple[int], np.dtype[np.str_]]
) -> Iterator[tuple[bytes, Microseconds]]:
    """The messages that are tables, those in a row with the same first line together; and this line."""
    waiting: list[int] = []
    head = b""
    for row in np.flatnonzero(kinds == "table"):
        line = (messages.payload[int(row)].as_py() or b"").partition(b"\n")[0]
        if waiting and line != head:
            yield head, np.array(waiting, np.int64)
            waiting = []
        head = line
        waiting.append(int(row))
    if waiting:
        yield head, np.array(waiting, np.int64)
