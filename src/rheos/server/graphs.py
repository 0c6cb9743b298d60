"""Streams as RDF graphs (Streaming Linked Data, section 3). An s-graph describes the content of a window, and
an i-graph holds the triples of a moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import pyoxigraph as ox

from rheos.algebra.streams import MovingWindow
from rheos.answers.continuous import time_text
from rheos.server import windows
from rheos.server.views import Content, Triple
from rheos.terms import XSD, decode

SLD = windows.SLD
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
PROV = "http://www.w3.org/ns/prov#"

# By media type. A client that does not choose gets the first.
FORMATS: dict[str, ox.RdfFormat] = {
    format.media_type: format
    for format in (
        ox.RdfFormat.TURTLE,
        ox.RdfFormat.TRIG,
        ox.RdfFormat.N_TRIPLES,
        ox.RdfFormat.N_QUADS,
        ox.RdfFormat.JSON_LD,
        ox.RdfFormat.RDF_XML,
    )
}
# In these formats the triples stand in a graph with a name. JSON-LD could do that too, but its readers expect
# triples in the default graph.
_NAMING = (ox.RdfFormat.TRIG, ox.RdfFormat.N_QUADS)

_LAST_UPDATE, _EXPIRES, _WINDOW_TYPE, _WINDOW_SIZE, _RECEIVED_AT = (
    ox.NamedNode(SLD + name) for name in ("lastUpdate", "expires", "windowType", "windowSize", "receivedAt")
)
_SEE_ALSO = ox.NamedNode(RDFS + "seeAlso")
_GENERATED_AT = ox.NamedNode(PROV + "generatedAtTime")
_PREFIXES = {"sld": SLD, "rdfs": RDFS, "xsd": XSD, "prov": PROV}


def moment_path(moment: int) -> str:
    """The last part of the address of a moment."""
    return quote(time_text(moment), safe="")


def date_time(moment: int) -> ox.Literal:
    return ox.Literal(time_text(moment), datatype=ox.NamedNode(XSD + "dateTime"))


def s_graph(
    iri: str, stream: str, window: MovingWindow, content: Content | None, expires: int, format: ox.RdfFormat
) -> bytes:
    """The s-graph of a window. `iri` names the s-graph; the IRIs of moments begin with the IRI `stream`."""
    graph = ox.NamedNode(iri)
    triples = [
        ox.Triple(graph, _WINDOW_TYPE, windows.kind_of(window)),
        ox.Triple(graph, _WINDOW_SIZE, windows.size_of(window)),
        ox.Triple(graph, _EXPIRES, date_time(expires)),
    ]
    if content is not None:
        triples.append(ox.Triple(graph, _LAST_UPDATE, date_time(content.at)))
        moments = {moment: ox.NamedNode(f"{stream}/{moment_path(moment)}") for moment in content.moments}
        triples += [ox.Triple(graph, _SEE_ALSO, held) for held in moments.values()]
        triples += [ox.Triple(held, _RECEIVED_AT, date_time(moment)) for moment, held in moments.items()]
    return written((), triples, graph, format)


def i_graph(
    iri: str, moment: int, triples: Iterable[Triple], seen_in: Sequence[str], format: ox.RdfFormat
) -> bytes:
    """The i-graph of a moment: its triples, and the s-graphs that show the moment. It also has the time as
    prov:generatedAtTime, so that the i-graph can be pushed to another stream."""
    graph = ox.NamedNode(iri)
    about = [
        ox.Triple(graph, _RECEIVED_AT, date_time(moment)),
        ox.Triple(graph, _GENERATED_AT, date_time(moment)),
        *(ox.Triple(graph, _SEE_ALSO, ox.NamedNode(seen)) for seen in seen_in),
    ]
    held = [ox.Triple(*map(decode, triple)) for triple in triples]  # type: ignore[arg-type]
    return written(held, about, graph, format)


def written(
    held: Iterable[ox.Triple], about: Iterable[ox.Triple], graph: ox.NamedNode, format: ox.RdfFormat
) -> bytes:
    """Write a graph: the triples that it holds, and those about the graph itself. ValueError if the format
    cannot hold one of the terms."""
    if format in _NAMING:
        held = list(held)
        # An s-graph has no triples but those about itself, so these are in the named graph.
        named, default = (held, about) if held else (about, ())
        quads = [ox.Quad(t.subject, t.predicate, t.object, graph) for t in named]
        quads += [ox.Quad(*triple) for triple in default]
        return ox.serialize(quads, format=format, prefixes=_PREFIXES) or b""
    both: list[ox.Triple] = [*about, *held]
    data = [ox.Quad(*triple) for triple in both] if format.supports_datasets else both
    return ox.serialize(data, format=format, prefixes=_PREFIXES) or b""
