"""JSON-LD contexts as mappings: with a context, records of plain JSON are RDF.

All records of a chunk are read as one document, in which each record is a named graph with the record's
number as its name. If that fails, halves of the chunk are read, and halves of these, so that only the wrong
records become dead letters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos import iris
from rheos.errors import LoadError, RheosError
from rheos.mapping.decoder import database
from rheos.mapping.elements import Triples, chunk_of
from rheos.mapping.items import field_of
from rheos.mapping.records import Records, json_records
from rheos.sources.chunks import BadLine, Chunk
from rheos.sources.clocks import Clock
from rheos.sources.decoding import Decoder, Messages, apart, numbers_of
from rheos.sources.nesting import TOO_DEEP, is_too_deep
from rheos.store.cutting import split_lines
from rheos.store.lines import QUADS, Rdf12Error, parse_trusted, reason_of

_GRAPH = "urn:rheos:record:"


@dataclass(frozen=True, slots=True)
class ContextDecoder(Decoder):
    """Decodes records of JSON with a context, which is given as JSON text."""

    context: str
    clock: Clock
    base: str = iris.DEFAULT_BASE

    def reading(self, format: str) -> Decoder:
        if format not in ("json", "ndjson", "jsonl"):
            raise RheosError(f"a JSON-LD context makes RDF of JSON, not of {format}")
        return self

    def decode(self, messages: Messages, blank_prefix: str, place: str = "", *, first: bool = False) -> Chunk:
        with database() as cursor:
            records = json_records(cursor, messages)
            objects = pc.starts_with(pc.utf8_ltrim_whitespace(records.texts), "{")
            bad: dict[int, str] = {
                int(row): "the record is no JSON object"
                for row in np.flatnonzero(~numbers_of(objects).astype(bool))
            }
            rows = np.flatnonzero(numbers_of(objects).astype(bool))
            text = self._quads(records, rows, bad)
            s, p, o, record = _terms(text, records, blank_prefix)
            time = field_of(cursor, records, self.clock.name) if self.clock.kind == "field" else None
        told = [BadLine(int(records.line[row]), records.text(row), reason) for row, reason in bad.items()]
        every = np.arange(len(records))
        good = np.setdiff1d(every, np.array(list(bad), np.int64))
        # Each record is one row. Records that cannot be read are dead letters already.
        kept = _only(records, good, told)
        place_of = np.full(len(records), -1)
        place_of[good] = np.arange(len(good))
        time = None if time is None else time.take(pa.array(good))
        triples = Triples(s, p, o, place_of[record], np.arange(len(good)), time)
        return chunk_of(triples, kept, self.clock, place, first=first, repeats=True)

    def _quads(
        self, records: Records, rows: np.ndarray[tuple[int], np.dtype[np.int64]], bad: dict[int, str]
    ) -> bytes:
        """The N-Quads of some records, each in a graph named by its number. Wrong records go to `bad`."""
        texts = records.texts.take(pa.array(rows)).to_pylist()
        try:
            return self._read(list(zip(rows, texts, strict=True)))
        except (SyntaxError, Rdf12Error) as error:
            if len(rows) == 1:
                bad[int(rows[0])] = f"the record is no JSON-LD: {reason_of(error)}"
                return b""
        middle = len(rows) // 2
        return self._quads(records, rows[:middle], bad) + self._quads(records, rows[middle:], bad)

    def _read(self, records: list[tuple[int, str]]) -> bytes:
        if not records:
            return b""
        graphs = ",".join(f'{{"@id":"{_GRAPH}{number}","@graph":[{text}]}}' for number, text in records)
        document = f'{{"@context":{self.context},"@graph":[{graphs}]}}'
        quads = ox.parse(document.encode(), ox.RdfFormat.JSON_LD, base_iri=self.base)
        return ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""


def context_of(text: str, name: str) -> str:
    """The context in a text: the value of @context in a document, or the whole text."""
    if is_too_deep(text.encode()):
        raise LoadError(TOO_DEEP, name)
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise LoadError(
            f"the context is no JSON: {error.msg} at column {error.colno}", name, error.lineno
        ) from None
    if isinstance(found, dict) and "@context" in found:
        found = found["@context"]
    context = json.dumps(found)
    if not isinstance(found, dict | list):
        raise LoadError("a context is a JSON object: nothing is fetched from elsewhere", name)
    try:
        list(ox.parse(f'{{"@context":{context},"@graph":[]}}'.encode(), ox.RdfFormat.JSON_LD))
    except SyntaxError as error:
        raise LoadError(f"the context cannot be used: {reason_of(error)}", name) from None
    return context


def _terms(
    text: bytes, records: Records, blank_prefix: str
) -> tuple[pa.Array, pa.Array, pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The terms of N-Quads in the order of their records, and the record of each quad."""
    parsed = parse_trusted(split_lines(text), QUADS)
    s, p, o, graph = parsed.terms
    inside = pc.fill_null(pc.starts_with(graph, f"<{_GRAPH}"), False)
    s, p, o, graph = (column.filter(inside) for column in (s, p, o, graph))
    record = numbers_of(pc.utf8_slice_codeunits(graph, len(_GRAPH) + 1, -1).cast(pa.int64()))
    if len(record) > 1 and np.any(np.diff(record) < 0):
        order = pa.array(np.argsort(record, kind="stable"))
        s, p, o, record = s.take(order), p.take(order), o.take(order), record[order.to_numpy()]
    lines = records.line[record]
    s, o = _numbered(s, o)
    return apart(s, lines, blank_prefix), p, apart(o, lines, blank_prefix), record


def _numbered(s: pa.Array, o: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Terms with numbers as labels of blank nodes: pyoxigraph invents other labels each time."""
    terms = pa.concat_arrays([s, o])
    blanks = pc.starts_with(terms, "_:")
    if pc.any(blanks).as_py():
        number = pc.dictionary_encode(terms.filter(blanks)).indices.cast(pa.string())
        terms = pc.replace_with_mask(terms, blanks, pc.binary_join_element_wise("_:b", number, ""))
    return terms.slice(0, len(s)), terms.slice(len(s))


def _only(records: Records, rows: np.ndarray[tuple[int], np.dtype[np.int64]], told: list[BadLine]) -> Records:
    return Records(
        records.messages,
        records.origin[rows],
        records.line[rows],
        records.texts.take(pa.array(rows)),
        bad=[*records.bad, *told],
    )
