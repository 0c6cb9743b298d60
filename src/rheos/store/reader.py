"""Reads one RDF document as Arrow batches of quads (g, s, p, o; g NULL: the default graph)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.errors import LoadError
from rheos.store import formats, lines
from rheos.store.cutting import split_lines
from rheos.store.documents import Document

SCHEMA = pa.schema([(name, pa.string()) for name in ("g", "s", "p", "o")])

# Pieces that fit into the cache of one core: 0.47 s for a million lines, not 0.74 s as in pieces of 64 MiB.
PIECE_BYTES = 1 << 21
_PIECE_QUADS = 20_000


def read(document: Document, blank_prefix: str = "") -> Iterator[pa.RecordBatch]:
    """All quads of the document, with a prefix for blank nodes; LoadError at the first fault.

    After an error, the caller must not use the batches that came before it.
    """
    with document.open() as text:
        if formats.is_lines(document.format):
            yield from _read_lines(document, text, blank_prefix)
        else:
            if document.format == formats.RDF_XML:
                _check_well_formed(document, text)
            yield from _read_whole(document, text, blank_prefix)


def pieces(text: IO[bytes], size: int = PIECE_BYTES) -> Iterator[pa.StringArray]:
    """The lines of a text, each with its line end, in arrays of about `size` bytes."""
    rest: list[bytes] = []
    while block := text.read(size):
        end = block.rfind(b"\n") + 1
        if not end:
            rest.append(block)
            continue
        yield split_lines(b"".join([*rest, block[:end]]))
        rest = [block[end:]]
    if any(rest):
        yield split_lines(b"".join(rest))


def batch(terms: tuple[pa.Array, ...]) -> pa.RecordBatch:
    """The terms of parsed lines (s, p, o and perhaps g) in the order of the schema."""
    graph = terms[3] if len(terms) > 3 else pa.nulls(len(terms[0]), pa.string())
    return pa.record_batch([graph, *terms[:3]], schema=SCHEMA)


def _read_lines(document: Document, text: IO[bytes], blank_prefix: str) -> Iterator[pa.RecordBatch]:
    shape = lines.QUADS if document.format == formats.N_QUADS else lines.TRIPLES
    before = 0
    for piece in pieces(text):
        parsed = lines.parse(piece, shape, blank_prefix)
        if parsed.faults:
            fault = parsed.faults[0]
            raise LoadError(fault.reason, document.name, before + fault.line + 1)
        before += len(piece)
        yield batch(parsed.terms)


def _read_whole(document: Document, text: IO[bytes], blank_prefix: str) -> Iterator[pa.RecordBatch]:
    """Reads a document by pyoxigraph's parser, and then the lines of its N-Quads writer.

    To write a chunk of quads as lines and cut these (`lines.clean`) is quicker than to ask each quad for its
    terms: 3 s of processor time, not 5.5 s, for a million triples of Turtle (busy machine, medians of four).
    """
    try:
        quads = ox.parse(text, document.format, base_iri=document.base)
        labels: dict[str, str] = {}
        while chunk := ox.serialize(itertools.islice(quads, _PIECE_QUADS), format=ox.RdfFormat.N_QUADS):
            parsed = lines.parse_trusted(split_lines(chunk), lines.QUADS, blank_prefix)
            if parsed.faults:
                raise LoadError(parsed.faults[0].reason, document.name, _line_of_error(document))
            yield batch(tuple(_in_order(terms, blank_prefix, labels) for terms in parsed.terms))
    except SyntaxError as error:
        line = error.lineno or _line_of_error(document)
        raise LoadError(_reason(error, document), document.name, line) from None
    except UnicodeDecodeError:
        raise LoadError("it is not UTF-8 text", document.name) from None


def _in_order(terms: pa.Array, prefix: str, labels: dict[str, str]) -> pa.Array:
    """Terms in which blank nodes that had no label are numbered in their order.

    pyoxigraph gives them other labels each time, but a document that is read again must have the same labels.
    """
    pattern = f"^_:{re.escape(prefix)}[a-f][0-9a-f]{{20,31}}$"
    found = pc.fill_null(pc.match_substring_regex(terms, pattern), False)
    if not found.true_count:
        return terms
    # No label in a document begins with a hyphen.
    new = [labels.setdefault(label, f"_:{prefix}-{len(labels)}") for label in terms.filter(found).to_pylist()]
    return pc.replace_with_mask(terms, found, pa.array(new, terms.type))


def _reason(error: SyntaxError, document: Document) -> str:
    reason = lines.reason_of(error)
    if "LoadDocumentCallback" in reason:
        return "its JSON-LD context is remote and is not fetched: put the context into the file"
    if "No scheme found" in reason and document.base is None:
        return "a relative IRI, but no base IRI is given"
    return reason


def _check_well_formed(document: Document, text: IO[bytes]) -> None:
    """Raise a LoadError if a document is not well-formed XML in UTF-8.

    An XML parser reads it first, because pyoxigraph accepts files that are cut off. UTF-8 is the only
    encoding that both parsers support on every system.
    """

    def check_encoding(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            raise LoadError(f"only UTF-8 is read, and it says that it is {encoding[:40]}", document.name, 1)

    start = text.tell()
    parser = expat.ParserCreate("utf-8")
    parser.XmlDeclHandler = check_encoding
    try:
        parser.ParseFile(text)
    except expat.ExpatError as error:
        reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise LoadError(reason, document.name, error.lineno) from None
    text.seek(start)


class _LineFeed:
    """A stream that returns one line at a time, so that it knows which line its reader has reached."""

    def __init__(self, text: IO[bytes]) -> None:
        self.text = text
        self.line = 0
        self.rest = b""

    def read(self, size: int = -1) -> bytes:
        if not self.rest:
            self.rest = self.text.readline()
            self.line += bool(self.rest)
        cut = len(self.rest) if size < 0 else size
        given, self.rest = self.rest[:cut], self.rest[cut:]
        return given


def _line_of_error(document: Document) -> int | None:
    """The line of the first fault, if pyoxigraph does not say it: the document is read again line by line."""
    with document.open() as text:
        feed = _LineFeed(text)
        try:
            for quad in ox.parse(feed, document.format, base_iri=document.base):  # type: ignore[arg-type]
                lines.exact_term(quad.object)
        except (SyntaxError, lines.Rdf12Error):
            return max(feed.line, 1)
    return None
