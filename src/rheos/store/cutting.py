"""Cuts terms by position out of lines whose shape is known; lines and terms are Arrow arrays.

There is no Python object per line. The positions of all spaces and quotation marks are found in one pass.
Each term ends at the first space after it (a literal at the first space after its closing quotation mark),
and all pieces together become Arrow columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.pieces import Positions, Text, pieces

SPACE, QUOTE, DOT, BACKSLASH, NEWLINE = b' ".\\\n'

# The escapes of N-Triples except \\ and \u, and the characters that they stand for.
_ESCAPES = {
    '\\"': '"',
    "\\n": "\n",
    "\\r": "\r",
    "\\t": "\t",
    "\\b": "\b",
    "\\f": "\f",
    "\\'": "'",
}
_ANY_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)")

# One of these, which no text in the column contains, stands for an escaped backslash while other escapes are
# replaced.
_STAND_INS = ("\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3")


def split_lines(text: bytes) -> pa.StringArray:
    """The lines of a text, each with its line end, without copying them."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE) + 1
    if text and (not len(ends) or ends[-1] != len(text)):
        ends = np.append(ends, len(text))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))


def as_strings(lines: pa.Array | pa.ChunkedArray) -> pa.StringArray:
    """The lines as one array of Arrow's plain strings, NULL as an empty line."""
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    if lines.type != pa.string():
        lines = lines.cast(pa.string())
    return pc.fill_null(lines, "") if lines.null_count else lines


def no_columns(width: int) -> list[pa.Array]:
    return [pa.array([], pa.string()) for _ in range(width)]


def cut(lines: pa.StringArray, taken: Positions, width: int) -> list[pa.Array]:
    """The terms of the taken lines, literals still with escapes; NULL for an absent fourth term."""
    _, offsets, data = lines.buffers()
    if not len(taken) or data is None:
        return no_columns(width)
    bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    low, high = int(bounds[0]), int(bounds[-1])
    text = np.frombuffer(data, np.uint8)[:high]
    spaces = np.flatnonzero(text[low:] == SPACE) + low
    quotes = _bare_quotes(text, low)
    start = bounds[:-1][taken].astype(np.int64)
    columns = []
    for number in range(width):
        absent = text[start] == DOT if number > 2 else None
        last = start
        if number > 1:
            literal = np.flatnonzero(text[start] == QUOTE)
            if len(literal):
                last = start.copy()
                last[literal] = quotes[np.searchsorted(quotes, start[literal] + 1)]
        following = np.searchsorted(spaces, last)
        if absent is not None:
            following = np.minimum(following, len(spaces) - 1)
        stop = spaces[following]
        if absent is not None:
            stop = np.where(absent, start, stop)
        columns.append(pieces(text, data, start, stop - start, absent))
        start = stop + 1 if absent is None else np.where(absent, start, stop + 1)
    return columns


def unescape(column: pa.Array) -> pa.Array:
    """The column with all escapes of N-Triples replaced by their characters; the escapes must be valid."""
    escaped = pc.match_substring(column, "\\")
    if not pc.any(escaped).as_py():
        return column
    texts = column.filter(escaped)
    stand_in = next((mark for mark in _STAND_INS if not _any_holds(texts, mark)), None)
    if stand_in is None or _any_holds(texts, "\\u") or _any_holds(texts, "\\U"):
        # This is so rare that texts are handled one by one.
        texts = pa.array([_ANY_ESCAPE.sub(_character, text) for text in texts.to_pylist()], pa.string())
    else:
        texts = pc.replace_substring(texts, "\\\\", stand_in)
        for escape, character in _ESCAPES.items():
            texts = pc.replace_substring(texts, escape, character)
        texts = pc.replace_substring(texts, stand_in, "\\")
    return pc.replace_with_mask(column, escaped, texts)


def without_suffix(column: pa.Array, suffix: str, keep: int) -> pa.Array:
    """The column without a suffix of its values, of which the first `keep` characters stay."""
    ending = pc.ends_with(column, suffix)
    if not pc.any(ending).as_py():
        return column
    return pc.if_else(ending, pc.utf8_slice_codeunits(column, 0, keep - len(suffix)), column)


def rename_blanks(column: pa.Array, prefix: str) -> pa.Array:
    """Put the prefix before the label of every blank node in the column."""
    blanks = pc.starts_with(column, "_:")
    if not pc.any(blanks).as_py():
        return column
    renamed = pc.binary_join_element_wise("_:" + prefix, pc.utf8_slice_codeunits(column, 2), "")
    return pc.if_else(blanks, renamed, column)


def holds_none(lines: pa.StringArray, marks: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which lines contain none of the marks.

    A mark that is nowhere in the text is found out in one search.
    """
    data = lines.buffers()[2]
    text = data.to_pybytes() if data is not None else b""
    present = [mark for mark in marks if mark.encode() in text]
    result = np.ones(len(lines), bool)
    for mark in present:
        result &= ~pc.match_substring(lines, mark).to_numpy(zero_copy_only=False)
    return result


def _bare_quotes(text: Text, low: int) -> Positions:
    """The positions of quotation marks that are not escaped: after an even number of backslashes."""
    quotes = np.flatnonzero(text[low:] == QUOTE) + low
    if not len(quotes):
        return quotes
    odd = np.zeros(len(quotes), bool)
    running = np.flatnonzero(text[quotes - 1] == BACKSLASH)
    distance = 1
    while len(running):
        odd[running] = ~odd[running]
        distance += 1
        running = running[text[quotes[running] - distance] == BACKSLASH]
    return quotes[~odd]


def _any_holds(texts: pa.Array, mark: str) -> bool:
    return bool(pc.any(pc.match_substring(texts, mark)).as_py())


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code:
        return chr(int(code, 16))
    return _ESCAPES.get(escape[0], "\\")
