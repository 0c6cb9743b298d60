"""Lines of N-Triples and N-Quads: reads their terms into Arrow arrays.

There are three ways with the same result. Most lines of most files have the plain shape that programs write:
single spaces, no comments. They are recognised by one regular expression over the whole column and cut by
position, without a Python object per line (`clean`). The expression accepts only lines that are certainly
valid. The other lines are given to pyoxigraph together, which writes them in the plain shape (`_rewrite`). If
one of them is wrong, they are given to it one by one (`Shape.exact`), and pyoxigraph says which are invalid,
and why.

Everything here is a pure function of Arrow arrays, so that it runs in a Spark task as well as in the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.pieces import Positions
from rheos.store import cutting
from rheos.terms import RDF, XSD_STRING, encode

Term = str | None

# A part of what RFC 3987 allows. Hosts beyond ASCII, IP literals, user names and private-use characters are
# valid, too, as are uppercase language tags, but they are so rare that such lines can go the other ways.
_PATH = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/\x{A0}-\x{D7FF}-]|%[0-9A-Fa-f]{2})"
_QUERY = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\x{A0}-\x{D7FF}-]|%[0-9A-Fa-f]{2})"
_AUTHORITY = r"[A-Za-z0-9._~-]+(?::[0-9]{0,5})?"
IRI = (
    rf"<[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?:/{_PATH}*)?|[A-Za-z0-9._~-]{_PATH}*)"
    rf"(?:\?{_QUERY}*)?(?:#{_QUERY}*)?>"
)
BLANK = r"_:[A-Za-z0-9][A-Za-z0-9_-]*"
LANGUAGE = r"@[a-z]{2,3}(?:-[a-z]{4})?(?:-[a-z]{2})?"
LITERAL = rf'"(?:[^"\\\r\n]|\\[tnrbf"\'\\])*"(?:{LANGUAGE}|\^\^{IRI})?'
TRIPLE = rf"(?:{IRI}|{BLANK}) {IRI} (?:{IRI}|{BLANK}|{LITERAL})"

_STRING_SUFFIX = f'"^^<{XSD_STRING}>'
_RESERVED_SUFFIXES = tuple(f'"^^<{RDF}{name}>' for name in ("langString", "dirLangString"))

# Marks that only lines of RDF 1.2 contain, or texts of literals.
_RDF12_MARKS = ("<<(", "--ltr", "--rtl")

# Below this number of lines, compiling the expression costs more than parsing each line.
_FEW = 400


class Rdf12Error(ValueError):
    """A term that RDF 1.1 does not have."""


class Fault(NamedTuple):
    """A line that cannot be read: its number in the array, from 0, and the reason."""

    line: int
    reason: str


class Cut(NamedTuple):
    """The numbers of the plain lines, an array for each of their terms, and the other lines' numbers."""

    lines: Positions
    terms: tuple[pa.Array, ...]
    leftover: Positions


class Parsed(NamedTuple):
    """All rows of some lines: the line number of each row, one array per term, and the faults."""

    lines: Positions
    terms: tuple[pa.Array, ...]
    faults: list[Fault]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of line: the expression of its plain form, its greatest number of terms, and its exact reader.

    `exact` takes one line and returns its rows (none for a comment), or raises SyntaxError or Rdf12Error.
    Terms after the third may be absent. `format` is the format of such lines in pyoxigraph, if it has one.
    """

    plain: str
    width: int
    exact: Callable[[bytes], Sequence[tuple[Term, ...]]]
    format: ox.RdfFormat | None = None


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


TRIPLES = Shape(TRIPLE, 3, _triples, ox.RdfFormat.N_TRIPLES)
QUADS = Shape(rf"{TRIPLE}(?: {IRI}| {BLANK})?", 4, _quads, ox.RdfFormat.N_QUADS)


def exact_term(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    """The term in the engine's form; Rdf12Error if RDF 1.1 has no such term."""
    if isinstance(term, ox.Triple):
        raise Rdf12Error("triple terms are RDF 1.2; rheos reads RDF 1.1")
    if isinstance(term, ox.Literal) and term.direction is not None:
        raise Rdf12Error("language tags with a direction are RDF 1.2; rheos reads RDF 1.1")
    return encode(term)


def parse(lines: pa.Array, shape: Shape, blank_prefix: str = "") -> Parsed:
    """The terms of all lines, in order; `blank_prefix` is put before the label of every blank node."""
    lines = cutting.as_strings(lines)
    cut = clean(lines, shape) if len(lines) >= _FEW else _nothing_cut(lines, shape)
    return _complete(lines, cut, shape, blank_prefix)


def parse_trusted(lines: pa.Array, shape: Shape, blank_prefix: str = "") -> Parsed:
    """As `parse`, for lines that pyoxigraph has written, which need no check."""
    lines = cutting.as_strings(lines)
    return _complete(lines, clean(lines, shape, trusted=True), shape, blank_prefix)


def clean(lines: pa.Array, shape: Shape, *, trusted: bool = False) -> Cut:
    """Cut the lines that are certainly valid.

    `trusted` lines come from pyoxigraph's own writer. They need not match the plain form, and are valid
    unless they may contain a term of RDF 1.2.
    """
    lines = cutting.as_strings(lines)
    if trusted:
        mask = cutting.holds_none(lines, _RDF12_MARKS)
    else:
        # The expression works on bytes and accepts some invalid UTF-8, so that is checked before.
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:
            return _nothing_cut(lines, shape)
        accepted = pc.match_substring_regex(lines, rf"^{shape.plain} \.\r?\n?$")
        mask = accepted.to_numpy(zero_copy_only=False)
    taken = np.flatnonzero(mask)
    terms = cutting.cut(lines, taken, shape.width)
    reserved = np.zeros(len(taken), bool)
    for suffix in _RESERVED_SUFFIXES:
        reserved |= pc.ends_with(terms[2], suffix).to_numpy(zero_copy_only=False)
    if reserved.any():
        mask[taken[reserved]] = False
        keep = np.flatnonzero(~reserved)
        taken = taken[keep]
        terms = [column.take(pa.array(keep)) for column in terms]
    terms[2] = cutting.unescape(cutting.without_suffix(terms[2], _STRING_SUFFIX, keep=1))
    return Cut(taken, tuple(terms), np.flatnonzero(~mask))


def _complete(lines: pa.StringArray, cut: Cut, shape: Shape, blank_prefix: str) -> Parsed:
    """The rows of the lines that were cut and of the leftover lines, in the order of the lines."""
    terms, order = cut.terms, cut.lines
    faults: list[Fault] = []
    if len(cut.leftover):
        rest = lines.take(pa.array(cut.leftover)).cast(pa.binary()).to_pylist()
        found = _rewrite(rest, shape) or _one_by_one(rest, shape)
        faults = [Fault(int(cut.leftover[fault.line]), fault.reason) for fault in found.faults]
        if len(found.lines):
            order = np.concatenate([cut.lines, cut.leftover[found.lines]])
            back = pa.array(np.argsort(order, kind="stable"))
            order = np.sort(order, kind="stable")
            both = zip(terms, found.terms, strict=True)
            terms = tuple(pa.concat_arrays(pair).take(back) for pair in both)
    if blank_prefix:
        terms = tuple(cutting.rename_blanks(column, blank_prefix) for column in terms)
    return Parsed(order, terms, faults)


def _rewrite(lines: list[bytes], shape: Shape) -> Parsed | None:
    """The terms of lines that pyoxigraph reads together and writes in the plain form; None if it fails.

    Every line that begins with a term has at least one statement, or is a fault. So if there is no fault, and
    there are as many statements as such lines, each line has exactly one of them, in order.
    """
    if shape.format is None or len(lines) < _FEW:
        return None
    begins = [line.lstrip(b" \t\r\n")[:1] for line in lines]
    numbers = np.array([number for number, mark in enumerate(begins) if mark in (b"<", b"_")], np.int64)
    try:
        written = ox.serialize(ox.parse(b"\n".join(lines), shape.format), format=ox.RdfFormat.N_QUADS) or b""
    except SyntaxError:
        return None
    cut = clean(cutting.split_lines(written), shape, trusted=True)
    if len(cut.leftover) or len(cut.lines) != len(numbers):
        return None
    return Parsed(numbers, cut.terms, [])


def _one_by_one(lines: list[bytes], shape: Shape) -> Parsed:
    """The terms of lines that may be invalid, each read separately."""
    numbers: list[int] = []
    rows: list[tuple[Term, ...]] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines):
        try:
            found = shape.exact(line)
        except (SyntaxError, Rdf12Error) as error:
            faults.append(Fault(number, reason_of(error)))
            continue
        rows.extend(found)
        numbers.extend([number] * len(found))
    columns = zip(*rows, strict=True) if rows else [[]] * shape.width
    terms = tuple(pa.array(column, pa.string()) for column in columns)
    return Parsed(np.array(numbers, np.int64), terms, faults)


def reason_of(error: Exception) -> str:
    """The reason why pyoxigraph refused a text, in one line and without the position."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    head, colon, tail = text.partition(": ")
    if colon and head.startswith(("Parser error", "error at")):
        text = tail
    return " ".join(text.split())


def _nothing_cut(lines: pa.StringArray, shape: Shape) -> Cut:
    return Cut(np.empty(0, np.int64), tuple(cutting.no_columns(shape.width)), np.arange(len(lines)))
