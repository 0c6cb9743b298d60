"""Lines of N-Triples and N-Quads come in as an Arrow array, their terms go out as Arrow arrays.

Two ways, one result. Most lines of most files have the one plain shape that writers give them: single spaces,
no escapes, no comments. These are recognised by one regular expression over the whole column and cut at their
spaces by position, without a Python object per line (`clean`). The expression accepts only what is right for
certain; every other line goes one by one through pyoxigraph (`exact`), which decides what is valid.

Everything here is a pure function of Arrow arrays, so that it runs in a Spark task as well as in the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.terms import RDF, XSD_STRING, encode

Term = str | None
Positions = npt.NDArray[np.int64]

SPACE, QUOTE, DOT = b' ".'

# A part of what RFC 3987 allows. Hosts beyond ASCII, IP literals, user names and private-use characters are
# right too, and so are uppercase language tags, but they are rare enough for the exact way.
_PATH = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/\x{A0}-\x{D7FF}-]|%[0-9A-Fa-f]{2})"
_QUERY = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\x{A0}-\x{D7FF}-]|%[0-9A-Fa-f]{2})"
_AUTHORITY = r"[A-Za-z0-9._~-]+(?::[0-9]{0,5})?"
IRI = (
    rf"<[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?:/{_PATH}*)?|[A-Za-z0-9._~-]{_PATH}*)"
    rf"(?:\?{_QUERY}*)?(?:#{_QUERY}*)?>"
)
BLANK = r"_:[A-Za-z0-9][A-Za-z0-9_-]*"
LANGUAGE = r"@[a-z]{2,3}(?:-[a-z]{4})?(?:-[a-z]{2})?"
LITERAL = rf'"[^"\\\r\n]*"(?:{LANGUAGE}|\^\^{IRI})?'
TRIPLE = rf"(?:{IRI}|{BLANK}) {IRI} (?:{IRI}|{BLANK}|{LITERAL})"

_STRING_SUFFIX = f'"^^<{XSD_STRING}>'
_RESERVED_SUFFIXES = tuple(f'"^^<{RDF}{name}>' for name in ("langString", "dirLangString"))

# Below this many lines, compiling the expression costs more than parsing each line.
_FEW = 400


class Rdf12Error(ValueError):
    """A term that RDF 1.1 does not have."""


class Fault(NamedTuple):
    """A line that cannot be read, by its number from 0 in the array, and why."""

    line: int
    reason: str


class Cut(NamedTuple):
    """The lines that were plain: their numbers, and one array for each term. The others: their numbers."""

    lines: Positions
    terms: tuple[pa.Array, ...]
    leftover: Positions


class Parsed(NamedTuple):
    """All the rows of some lines: the number of the line of each, one array per term, and the faults."""

    lines: Positions
    terms: tuple[pa.Array, ...]
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of line: what its plain form looks like, how many terms it has at most, how to read it exactly.

    `exact` takes one line and gives its rows (none for a comment), or raises SyntaxError or Rdf12Error.
    Terms after the third may be absent.
    """

    plain: str
    width: int
    exact: Callable[[bytes], Sequence[tuple[Term, ...]]]


def _triples(line: bytes) -> list[tuple[Term, ...]]:
    return [
        (exact_term(quad.subject), exact_term(quad.predicate), exact_term(quad.object))
        for quad in ox.parse(line, ox.RdfFormat.N_TRIPLES)
    ]


def _quads(line: bytes) -> list[tuple[Term, ...]]:
    return [
        (
            exact_term(quad.subject),
            exact_term(quad.predicate),
            exact_term(quad.object),
            None if isinstance(quad.graph_name, ox.DefaultGraph) else exact_term(quad.graph_name),
        )
        for quad in ox.parse(line, ox.RdfFormat.N_QUADS)
    ]


TRIPLES = Shape(TRIPLE, 3, _triples)
QUADS = Shape(rf"{TRIPLE}(?: {IRI}| {BLANK})?", 4, _quads)


def exact_term(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    """The term in the engine's form, unless RDF 1.1 has no such term."""
    if isinstance(term, ox.Triple):
        raise Rdf12Error("triple terms are RDF 1.2; rheos reads RDF 1.1")
    if isinstance(term, ox.Literal) and term.direction is not None:
        raise Rdf12Error("language tags with a direction are RDF 1.2; rheos reads RDF 1.1")
    return encode(term)


def parse(lines: pa.Array, shape: Shape, blank_prefix: str = "") -> Parsed:
    """The terms of all lines, in their order; `blank_prefix` goes before every blank node's label."""
    lines = _as_strings(lines)
    cut = clean(lines, shape) if len(lines) >= _FEW else _none_of(lines, shape)
    return _complete(lines, cut, shape, blank_prefix)


def parse_trusted(lines: pa.Array, shape: Shape, blank_prefix: str = "") -> Parsed:
    """As `parse`, for lines that pyoxigraph has written: they need not be checked again."""
    return _complete(lines, clean(lines, shape, trusted=True), shape, blank_prefix)


def _complete(lines: pa.Array, cut: Cut, shape: Shape, blank_prefix: str) -> Parsed:
    """The rows of the lines that were cut together with those of the leftover lines, read exactly."""
    numbers: list[int] = []
    rows: list[tuple[Term, ...]] = []
    faults: list[Fault] = []
    if len(cut.leftover):
        for number, line in zip(
            cut.leftover.tolist(), lines.take(pa.array(cut.leftover)).cast(pa.binary()), strict=True
        ):
            try:
                found = shape.exact(line.as_py())
            except (SyntaxError, Rdf12Error) as error:
                faults.append(Fault(number, reason_of(error)))
                continue
            rows.extend(found)
            numbers.extend([number] * len(found))
    terms = cut.terms
    order = cut.lines
    if rows:
        order = np.concatenate([cut.lines, np.array(numbers, np.int64)])
        slow = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
        back = pa.array(np.argsort(order, kind="stable"))
        terms = tuple(pa.concat_arrays(pair).take(back) for pair in zip(terms, slow, strict=True))
        order = np.sort(order, kind="stable")
    if blank_prefix:
        terms = tuple(rename_blanks(column, blank_prefix) for column in terms)
    return Parsed(order, terms, faults)


def clean(lines: pa.Array, shape: Shape, *, trusted: bool = False) -> Cut:
    """Cut the lines that are certainly right.

    `trusted` lines come from pyoxigraph's own writer: they are taken as right unless they hold an escape or
    something of RDF 1.2, and need not match the plain form.
    """
    lines = _as_strings(lines)
    if trusted:
        accepted = pc.invert(pc.match_substring_regex(lines, r"\\|<<\(|--ltr|--rtl"))
    else:
        # The expression is matched on bytes and lets some broken UTF-8 pass.
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:
            return _none_of(lines, shape)
        accepted = pc.match_substring_regex(lines, rf"^{shape.plain} \.\r?\n?$")
    mask = accepted.to_numpy(zero_copy_only=False)
    taken = np.flatnonzero(mask)
    terms = _cut(lines, taken, shape.width)
    reserved = np.zeros(len(taken), bool)
    for suffix in _RESERVED_SUFFIXES:
        reserved |= pc.ends_with(terms[2], suffix).to_numpy(zero_copy_only=False)
    if reserved.any():
        mask[taken[reserved]] = False
        keep = np.flatnonzero(~reserved)
        taken = taken[keep]
        terms = [column.take(pa.array(keep)) for column in terms]
    terms[2] = _without_string(terms[2])
    return Cut(taken, tuple(terms), np.flatnonzero(~mask))


def rename_blanks(column: pa.Array, prefix: str) -> pa.Array:
    """Put the prefix before the label of every blank node in the column."""
    blanks = pc.starts_with(column, "_:")
    if not pc.any(blanks).as_py():
        return column
    renamed = pc.binary_join_element_wise("_:" + prefix, pc.utf8_slice_codeunits(column, 2), "")
    return pc.if_else(blanks, renamed, column)


def reason_of(error: Exception) -> str:
    """Why pyoxigraph refused, in one line and without the place, which is told apart from it."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    head, colon, tail = text.partition(": ")
    if colon and head.startswith(("Parser error", "error at")):
        text = tail
    return " ".join(text.split())


def _as_strings(lines: pa.Array) -> pa.Array:
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    if lines.type != pa.string():
        lines = lines.cast(pa.string())
    return pc.fill_null(lines, "") if lines.null_count else lines


def _none_of(lines: pa.Array, shape: Shape) -> Cut:
    return Cut(np.empty(0, np.int64), _no_terms(shape.width), np.arange(len(lines)))


def _no_terms(width: int) -> tuple[pa.Array, ...]:
    return tuple(pa.array([], pa.string()) for _ in range(width))


def _cut(lines: pa.Array, taken: Positions, width: int) -> list[pa.Array]:
    """The terms of the taken lines: a term ends at the next space, a literal after its last quote."""
    _, offsets, data = lines.buffers()
    if not len(taken) or data is None:
        return list(_no_terms(width))
    bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    low, high = int(bounds[0]), int(bounds[-1])
    text = np.frombuffer(data, np.uint8)[:high]
    spaces = np.flatnonzero(text[low:] == SPACE) + low
    quotes = np.flatnonzero(text[low:] == QUOTE) + low
    start = bounds[:-1][taken].astype(np.int64)
    terms = []
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
        terms.append(_slices(text, data, start, stop - start, absent))
        start = stop + 1 if absent is None else np.where(absent, start, stop + 1)
    return terms


def _slices(
    text: npt.NDArray[np.uint8],
    data: pa.Buffer,
    start: Positions,
    length: Positions,
    absent: npt.NDArray[np.bool_] | None,
) -> pa.Array:
    """Pieces of one buffer as a column: Arrow's string views, made by hand, then copied by Arrow.

    A view is 16 bytes: the length, then the text itself up to 12 bytes, or its first 4, a buffer's number and
    the place in it.
    """
    count = len(start)
    views = np.zeros((count, 4), np.int32)
    views[:, 0] = length
    final = len(text) - 1
    views[:, 1] = text[np.minimum(start[:, None] + np.arange(4), final)].view(np.int32)[:, 0]
    views[:, 3] = start
    short = np.flatnonzero(length <= 12)
    if len(short):
        letters = text[np.minimum(start[short][:, None] + np.arange(12), final)]
        letters[np.arange(12) >= length[short][:, None]] = 0
        views.view(np.uint8).reshape(count, 16)[short, 4:] = letters
    validity = None
    if absent is not None and absent.any():
        validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    column = pa.Array.from_buffers(pa.string_view(), count, [validity, pa.py_buffer(views), data])
    return column.cast(pa.string())


def _without_string(objects: pa.Array) -> pa.Array:
    """Objects with `^^xsd:string` left out, as the engine writes them."""
    typed = pc.ends_with(objects, _STRING_SUFFIX)
    if not pc.any(typed).as_py():
        return objects
    return pc.if_else(typed, pc.utf8_slice_codeunits(objects, 0, 1 - len(_STRING_SUFFIX)), objects)
