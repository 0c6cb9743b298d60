"""Static triples come in, and what RDFS entails goes out; a triple of a stream comes in with them likewise.

Rules 2, 3, 5, 7, 9 and 11 of RDFS. The schema is that of the static default graph, or of the merge of the
graphs that are it: a stream or a named graph that says that a class is part of another says nothing about
instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.continuous.arrival_algebra import Quad, Triple
from tests.continuous.event_algebra import Event

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE = (
    f"<{RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain", "range")
)


def entailed_static(static: Iterable[Quad], default: Sequence[str] = ("",)) -> tuple[Quad, ...]:
    """The default graph, which is the merge of some graphs, and the named graphs, with what they entail."""
    given = tuple(static)
    triples = {quad[:3] for quad in given if quad[3] in default}
    while (
        new := {
            made for triple in triples for made in (*transitive(triples, triple), *about(triples, triple))
        }
        - triples
    ):
        triples |= new
    named = {(*made, g) for *triple, g in given if g for made in entailed_triple(triples, tuple(triple))}
    return (*((*triple, "") for triple in sorted(triples)), *sorted(named))


def entailed_event(static: Iterable[Quad], event: Event) -> set[Event]:
    """The event and what follows from it, with the same interval, by a schema that is complete."""
    schema = {quad[:3] for quad in static if not quad[3]}
    return {(*triple, *event[3:]) for triple in entailed_triple(schema, event[:3])}


def entailed_triple(schema: set[Triple], triple: Triple) -> set[Triple]:
    triples = {triple}
    while new := {made for triple in triples for made in about(schema, triple)} - triples:
        triples |= new
    return triples


def transitive(schema: set[Triple], triple: Triple) -> Iterable[Triple]:
    """Rules 5 and 11."""
    below, predicate, above = triple
    if predicate in (SUB_CLASS, SUB_PROPERTY):
        for one, other, top in schema:
            if (one, other) == (above, predicate):
                yield below, predicate, top


def about(schema: set[Triple], triple: Triple) -> Iterable[Triple]:
    """Rules 2, 3, 7 and 9: what the schema says of one triple."""
    s, p, o = triple
    for one, predicate, other in schema:
        if (one, predicate) == (p, DOMAIN):
            yield s, TYPE, other
        if (one, predicate) == (p, RANGE) and not o.startswith('"'):
            yield o, TYPE, other
        if (one, predicate) == (p, SUB_PROPERTY):
            yield s, other, o
        if p == TYPE and (one, predicate) == (o, SUB_CLASS):
            yield s, TYPE, other
