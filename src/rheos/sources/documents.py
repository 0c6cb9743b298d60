"""RDF documents as stream elements: TriG, JSON-LD or N-Quads come in, a chunk goes out.

The triples of a named graph are elements; their time is the object of prov:generatedAtTime of the graph's
name, which is said in the default graph or in any other. Graphs come in the order of the document.
"""

from __future__ import annotations

import os
from pathlib import PurePath

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from rheos.sources import times
from rheos.sources.chunks import BadLine, Chunk, elements, no_elements
from rheos.store import formats
from rheos.store.cutting import rename_blanks
from rheos.store.lines import Rdf12Error, exact_term, reason_of
from rheos.terms import encode

GENERATED_AT = ox.NamedNode("http://www.w3.org/ns/prov#generatedAtTime")
_DOCUMENTS = (".trig", ".jsonld")
_LOOKED_AT = 100
_SIP = 1 << 16


def is_document(path: str, head: bytes | None = None) -> bool:
    """Whether a file is a document of graphs rather than lines of elements.

    N-Quads files can be either: lines of elements have a literal as their fourth term, which N-Quads has not.
    """
    extension = PurePath(path.lower()).suffix
    if extension in _DOCUMENTS:
        return True
    if extension != ".nq":
        return False
    if head is None:
        try:
            with open(path, "rb") as file:
                head = file.read(_SIP)
        except OSError:
            return False
    lines = [line for line in head.split(b"\n")[:_LOOKED_AT] if line.strip() and not line.startswith(b"#")]
    quads = 0
    for line in lines[:-1] if len(head) == _SIP else lines:
        try:
            quads += sum(
                not isinstance(quad.graph_name, ox.DefaultGraph) for quad in ox.parse(line, formats.N_QUADS)
            )
        except SyntaxError:
            return False
    return quads > 0


def read_document(
    data: bytes,
    path: str,
    blank_prefix: str,
    *,
    format: ox.RdfFormat | None = None,
    base: str | None = None,
    untimed: int | None = None,
) -> Chunk:
    """The elements of a document. One that cannot be read is bad as a whole.

    Format and base are those of a file of that path, if they are not given. `untimed` is the time of triples
    that have none, if that is allowed.
    """
    format = format or formats.by_path(path)
    base = None if format == formats.N_QUADS else base or "file://" + os.path.abspath(path)
    try:
        quads = list(ox.parse(data, format, base_iri=base))
        terms = [[exact_term(term) for term in (q.subject, q.predicate, q.object)] for q in quads]
    except SyntaxError as error:
        return Chunk(no_elements(), path, bad=(BadLine(error.lineno or 0, "", reason_of(error)),))
    except Rdf12Error as error:
        return Chunk(no_elements(), path, bad=(BadLine(0, "", str(error)),))
    known: dict[object, int] = {}
    bad: list[BadLine] = []
    without_zone = 0
    for quad in quads:
        if quad.predicate == GENERATED_AT:
            try:
                known[quad.subject], zoned = times.read_one(encode(quad.object))
                without_zone += not zoned
            except ValueError as error:
                bad.append(BadLine(0, str(quad), str(error)))
    graphs = {quad.graph_name for quad in quads}
    rows: list[int] = []
    found: list[int] = []
    for number, quad in enumerate(quads):
        if quad.graph_name in known:
            rows.append(number)
            found.append(known[quad.graph_name])
        elif quad.subject in graphs or quad.predicate == GENERATED_AT:
            pass  # what is said of a graph is about the stream, not in it
        elif untimed is not None:
            rows.append(number)
            found.append(untimed)
        else:
            bad.append(BadLine(0, str(quad), "the triple is in no graph that has a prov:generatedAtTime"))
    moments = np.array(found, np.int64)
    columns = [
        rename_blanks(pa.array([terms[number][place] for number in rows], pa.string()), blank_prefix)
        for place in range(3)
    ]
    batch = elements(columns, moments, moments, np.zeros(len(rows), np.int64))
    return Chunk(batch, path, 0, True, tuple(bad), without_zone)
