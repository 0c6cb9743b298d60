"""Cells: turns columns of terms into columns of text, in the forms of results.

If the values of a column repeat, the text of each distinct value is made once. Otherwise texts are cut out of
the column as it is in memory, and only those with characters that must be escaped are made one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.answers.terms import BARE, TSV_ESCAPED, csv_field, csv_term, json_term, tsv_term
from rheos.pieces import Positions, pieces

Mask = npt.NDArray[np.bool_]

# Values of a column repeat if there are at least so many rows for each distinct value.
REPEATED = 4
# A column with at most a quarter of this number of distinct values is treated as if they repeat.
FEW = 200

_IRI, _BLANK, _QUOTE, _BACKSLASH, _SPACE = b'<_"\\ '


class Terms:
    """A column of terms as bytes: where each term begins and ends, and where the text of a literal ends."""

    def __init__(self, column: pa.StringArray) -> None:
        self.column = column
        _, offsets, self.data = column.buffers()
        bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        self.text = np.frombuffer(self.data, np.uint8)[: bounds[-1]]
        self.low = int(bounds[0])
        self.start, self.stop = bounds[:-1].astype(np.int64), bounds[1:].astype(np.int64)
        letters = self.text[np.minimum(self.start, len(self.text) - 1)]
        self.first = np.where(self.stop > self.start, letters, 0)  # an unbound variable has no text
        self.is_literal: Mask = self.first == _QUOTE

    @cached_property
    def quotes(self) -> Positions:
        return np.flatnonzero(self.text[self.low :] == _QUOTE) + self.low

    @cached_property
    def close(self) -> Positions:
        """The position of the last quotation mark of a literal; the end of any other term."""
        if not self.is_literal.any():
            return self.stop
        last = self.quotes[np.searchsorted(self.quotes, self.stop) - 1]
        return np.where(self.is_literal, last, self.stop)

    @cached_property
    def inner(self) -> tuple[Positions, Positions]:
        """Where the text of each term is: an IRI without brackets, a literal without quotation marks."""
        is_iri = self.first == _IRI
        return self.start + (is_iri | self.is_literal), self.close - is_iri

    def hold(self, marks: bytes, start: Positions, stop: Positions, *, control: bool = False) -> Mask:
        """Which pieces contain one of the given characters or, if `control`, a control character."""
        text = self.text[self.low :]
        found = [self.quotes] if _QUOTE in marks else []
        found += [np.flatnonzero(text == mark) + self.low for mark in marks if mark != _QUOTE]
        if control:
            found.append(np.flatnonzero(text < _SPACE) + self.low)
        held = np.zeros(len(start), bool)
        for places in found:
            if len(places):
                held |= np.searchsorted(places, start) < np.searchsorted(places, stop)
        return held

    def cut(self, start: Positions, stop: Positions) -> pa.Array:
        return pieces(self.text, self.data, start, stop - start).cast(pa.large_string())


def csv_cells(column: pa.ChunkedArray) -> pa.Array:
    """Terms in the form of CSV: only their values."""
    return _written(column, csv_term, _cut_csv)


def tsv_cells(column: pa.ChunkedArray) -> pa.Array:
    """Terms in the form of TSV: as in Turtle, with numbers without quotes."""
    return _written(column, tsv_term, _cut_tsv)


def json_objects(names: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> list[pa.Array | str]:
    """The bindings of each row as an object of JSON, in pieces for `concatenated`.

    Unbound variables are left out.
    """
    # Each binding has a comma before it, so that an unbound variable leaves no comma behind.
    cells = [_json_binding(name, column) for name, column in zip(names, columns, strict=True)]
    if columns and not columns[0].null_count:
        # The first variable is always bound, so its comma is left out.
        first, *rest = cells[0]
        without = first[1:] if isinstance(first, str) else pc.utf8_slice_codeunits(first, 1)
        return ["{", without, *rest, *chain(*cells[1:]), "}"]
    return ["{", pc.utf8_slice_codeunits(concatenated(*chain(*cells)), 1) if cells else "", "}"]


def mapped(column: pa.ChunkedArray, fragment: Callable[[Any], str], null: str = "") -> pa.Array:
    """The texts of the values of a column; the text of each distinct value is made once."""
    return _of_each(_encoded(column), fragment, null)


def concatenated(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """The concatenation of the texts of each row."""
    typed = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    separator = pa.scalar(between, pa.large_string())
    return pc.binary_join_element_wise(*typed, separator)


def joined(lines: pa.Array) -> bytes:
    """All lines as one text, which is a slice of Arrow's memory, where they are next to each other."""
    if not len(lines):
        return b""
    bounds = np.frombuffer(lines.buffers()[1], np.int64)
    return bytes(memoryview(lines.buffers()[2])[bounds[lines.offset] : bounds[lines.offset + len(lines)]])


def _json_binding(name: str, column: pa.ChunkedArray) -> list[pa.Array | str]:
    """The binding of a variable in each row, with a comma before it."""
    key = f",{encode_basestring(name)}:"
    encoded = _encoded(column)
    if _repeats(encoded):
        return [_of_each(encoded, lambda term: key + json_term(term))]
    terms = _terms(column)
    inner = _mended(terms, *terms.inner, lambda text: encode_basestring(text)[1:-1], b'"\\', control=True)
    if (terms.first == _IRI).all():
        return [f'{key}{{"type":"uri","value":"', inner, '"}']
    kinds = np.select([terms.first == _IRI, terms.first == _BLANK, terms.is_literal], [1, 2, 3], 0)
    opened = ["", *(f'{key}{{"type":"{kind}","value":"' for kind in ("uri", "bnode", "literal"))]
    heads = pa.array(opened, pa.large_string()).take(pa.array(kinds))
    # The label of a blank node is what follows `_:`.
    if (kinds == 2).any():
        labels = pc.utf8_slice_codeunits(inner, 2)
        inner = pc.if_else(pa.array(kinds == 2), labels, inner)
    after = np.where(terms.is_literal, terms.close + 1, terms.stop)
    tails = mapped(pa.chunked_array([terms.cut(after, terms.stop)]), _json_tail)
    return [heads, inner, pc.if_else(pa.array(kinds == 0), "", tails)]


def _json_tail(suffix: str) -> str:
    """The JSON after the text of a term: its language or datatype, and the closing brace."""
    if not suffix:
        return '"}'
    if suffix[0] == "@":
        return f'","xml:lang":{encode_basestring(suffix[1:])}}}'
    return f'","datatype":{encode_basestring(suffix[3:-1])}}}'


def _cut_csv(terms: Terms) -> pa.Array:
    return _mended(terms, *terms.inner, csv_field, b'",\r\n')


def _cut_tsv(terms: Terms) -> pa.Array:
    start, stop = terms.start, terms.stop
    bare = np.zeros(len(start), bool)
    for pattern in BARE if terms.is_literal.any() else ():
        bare |= pc.match_substring_regex(terms.column, pattern).to_numpy(zero_copy_only=False)
    start, stop = np.where(bare, start + 1, start), np.where(bare, terms.close, stop)
    inner_start, inner_stop = terms.inner
    odd = terms.hold(TSV_ESCAPED, inner_start, inner_stop) & terms.is_literal
    return _replaced(terms.cut(start, stop), odd, terms.column, tsv_term)


def _mended(
    terms: Terms,
    start: Positions,
    stop: Positions,
    fragment: Callable[[str], str],
    marks: bytes,
    *,
    control: bool = False,
) -> pa.Array:
    """Pieces of the terms; pieces that contain marks are written by `fragment`."""
    found = terms.cut(start, stop)
    return _replaced(found, terms.hold(marks, start, stop, control=control), found, fragment)


def _replaced(texts: pa.Array, odd: Mask, source: pa.Array, fragment: Callable[[str], str]) -> pa.Array:
    if not odd.any():
        return texts
    mask = pa.array(odd)
    return pc.replace_with_mask(texts, mask, mapped(pa.chunked_array([source.filter(mask)]), fragment))


def _written(
    column: pa.ChunkedArray, fragment: Callable[[str], str], cut: Callable[[Terms], pa.Array]
) -> pa.Array:
    encoded = _encoded(column)
    return _of_each(encoded, fragment) if _repeats(encoded) else cut(_terms(column))


def _terms(column: pa.ChunkedArray) -> Terms:
    array = column.combine_chunks().cast(pa.string())
    array = array if isinstance(array, pa.Array) else array.combine_chunks()
    return Terms(array.fill_null("") if array.null_count else array)


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded if isinstance(encoded, pa.Array) else encoded.combine_chunks()


def _repeats(encoded: pa.DictionaryArray) -> bool:
    """Whether to make the text of each distinct value once; that is also quicker for a few values."""
    return len(encoded.dictionary) * REPEATED <= max(len(encoded), FEW)


def _of_each(encoded: pa.DictionaryArray, fragment: Callable[[Any], str], null: str = "") -> pa.Array:
    texts = pa.array([fragment(value) for value in encoded.dictionary.to_pylist()], pa.large_string())
    return texts.take(encoded.indices).fill_null(null)
