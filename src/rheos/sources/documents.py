"""RDF documents as stream elements: TriG, JSON-LD or N-Quads come in, a chunk goes out.

The triples of a graph are elements that stay together. Their time is the object of prov:generatedAtTime, with
the name of the graph as its subject; this triple may stand in any graph of the document. If the stream has
another clock, the time comes from there. Graphs come in the order of the document.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import PurePath

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from rheos.sources import times
from rheos.sources.chunks import BadLine, Chunk, elements, no_elements
from rheos.sources.clocks import GENERATED_AT as GENERATED_AT_TIME
from rheos.sources.clocks import OWN, Clock
from rheos.sources.graphs import marked
from rheos.sources.nesting import TOO_DEEP, is_too_deep
from rheos.store import formats
from rheos.store.cutting import rename_blanks
from rheos.store.lines import Rdf12Error, exact_term, reason_of

GENERATED_AT = ox.NamedNode(GENERATED_AT_TIME)
_DOCUMENTS = (".trig", ".jsonld")
_LOOKED_AT = 100
_SIP = 1 << 16


def is_document(path: str, head: Callable[[], bytes]) -> bool:
    """True if a file is a document of graphs, not lines of elements. `head` reads the beginning of the file.

    A file named .nq can be either: lines of elements have a literal as their fourth term, which N-Quads does
    not allow.
    """
    extension = PurePath(path.lower()).suffix
    if extension in _DOCUMENTS:
        return True
    if extension != ".nq":
        return False
    text = head()
    lines = [line for line in text.split(b"\n")[:_LOOKED_AT] if line.strip() and not line.startswith(b"#")]
    quads = 0
    for line in lines[:-1] if len(text) >= _SIP else lines:
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
    clock: Clock = OWN,
) -> Chunk:
    """The elements of a document. A document that cannot be read is bad as a whole.

    If format and base are not given, they follow from the path. `untimed` is the time for triples without a
    time, if these are allowed. If the `clock` is outside of the document, `untimed` is the time of all.
    """
    format = format or formats.by_path(path)
    base = None if format == formats.N_QUADS else base or "file://" + os.path.abspath(path)
    if format == formats.JSON_LD and is_too_deep(data):
        return Chunk(no_elements(), path, bad=(BadLine(0, "", TOO_DEEP),))
    try:
        quads = list(ox.parse(data, format, base_iri=base))
        terms = [[exact_term(term) for term in (q.subject, q.predicate, q.object)] for q in quads]
    except SyntaxError as error:
        return Chunk(no_elements(), path, bad=(BadLine(error.lineno or 0, "", reason_of(error)),))
    except Rdf12Error as error:
        return Chunk(no_elements(), path, bad=(BadLine(0, "", str(error)),))
    known, spoiled, bad, without_zone = _times(quads, clock, untimed)
    graphs = {quad.graph_name for quad in quads}
    rows: list[int] = []
    found: list[int] = []
    for number, quad in enumerate(quads):
        if quad.graph_name in known:
            rows.append(number)
            found.append(known[quad.graph_name])
        elif quad.graph_name in spoiled:
            pass
        elif quad.subject in graphs or quad.predicate == GENERATED_AT:
            pass  # a triple about a graph describes the stream and is no element of it
        elif untimed is not None:
            rows.append(number)
            found.append(untimed)
        else:
            bad.append(BadLine(0, str(quad), f"the triple is in no graph that has a {_name(clock)}"))
    # The triples of a graph follow one another, wherever the document has them.
    numbers = {graph: at for at, graph in enumerate(dict.fromkeys(quads[row].graph_name for row in rows))}
    of_graph = np.array([numbers[quads[row].graph_name] for row in rows], np.int64)
    order = np.argsort(of_graph, kind="stable")
    moments, of_graph, rows = np.array(found, np.int64)[order], of_graph[order], [rows[at] for at in order]
    columns = [
        rename_blanks(pa.array([terms[number][place] for number in rows], pa.string()), blank_prefix)
        for place in range(3)
    ]
    names = pa.array([_graph_name(graph) for graph in numbers], pa.string())
    graph = marked(rename_blanks(names, blank_prefix).to_pylist(), of_graph)
    batch = elements(columns, moments, moments, np.zeros(len(rows), np.int64), graph)
    return Chunk(batch, path, 0, True, tuple(bad), without_zone)


def _times(
    quads: Sequence[ox.Quad], clock: Clock, untimed: int | None
) -> tuple[dict[object, int], set[object], list[BadLine], int]:
    """The time of each graph by its name; the graphs that have several times; the bad lines that say what is
    wrong; and how many times had no zone.

    The property of the clock gives the time of the graph whose name is its subject. A property that the user
    has named (`property:IRI`) also gives the time of the graph in which it stands, unless its subject is the
    name of a graph.
    """
    if clock.is_outside:
        assert untimed is not None
        named = {quad.graph_name for quad in quads if not isinstance(quad.graph_name, ox.DefaultGraph)}
        return dict.fromkeys(named, untimed), set(), [], 0
    property = ox.NamedNode(clock.name)
    graphs = {quad.graph_name for quad in quads}
    names: dict[object, int] = {}
    insides: dict[object, int] = {}
    spoiled: set[object] = set()
    bad: list[BadLine] = []
    without_zone = 0
    for quad in quads:
        if quad.predicate != property:
            continue
        try:
            time, zoned = times.read_one(exact_term(quad.object))
        except ValueError as error:
            bad.append(BadLine(0, str(quad), str(error)))
            continue
        without_zone += not zoned
        if names.setdefault(quad.subject, time) != time and quad.subject in graphs:
            bad.append(BadLine(0, str(quad), f"its graph has more than one {_name(clock)}"))
            spoiled.add(quad.subject)
        if clock.kind != "property" or quad.subject in graphs:
            continue
        if insides.setdefault(quad.graph_name, time) != time:
            bad.append(BadLine(0, str(quad), f"its graph has more than one {_name(clock)}"))
            spoiled.add(quad.graph_name)
    known = {graph: time for graph, time in (insides | names).items() if graph not in spoiled}
    return known, spoiled, bad, without_zone


def _graph_name(graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph) -> str | None:
    return None if isinstance(graph, ox.DefaultGraph) else exact_term(graph)


def _name(clock: Clock) -> str:
    return "prov:generatedAtTime" if clock.name == GENERATED_AT.value else f"<{clock.name}>"
