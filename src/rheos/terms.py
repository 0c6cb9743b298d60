"""RDF terms as strings: the form in which the engine stores a term in one column, to and from pyoxigraph.

A term is one string, N-Triples without its escapes:

    <http://ex/a>   _:b0   "text"   "chat"@fr   "5"^^<http://www.w3.org/2001/XMLSchema#integer>

Equality of terms is equality of strings. The text between the first and the last quotation mark is the
lexical form itself: no datatype IRI and no language tag can hold a quotation mark, so the last one always
closes the literal and nothing needs escaping. Language tags are in lower case, and `xsd:string` is not
written.
"""

from __future__ import annotations

import pyoxigraph as ox

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

XSD_STRING = XSD + "string"
RDF_LANG_STRING = RDF + "langString"

AnyTerm = ox.NamedNode | ox.BlankNode | ox.Literal


def iri(value: str) -> str:
    return f"<{value}>"


def blank(label: str) -> str:
    return f"_:{label}"


def literal(lexical: str, datatype: str | None = None, language: str | None = None) -> str:
    if language:
        return f'"{lexical}"@{language.lower()}'
    if datatype is None or datatype == XSD_STRING:
        return f'"{lexical}"'
    return f'"{lexical}"^^<{datatype}>'


def is_literal(term: str) -> bool:
    return term.startswith('"')


def split_literal(term: str) -> tuple[str, str]:
    """The lexical form of a literal, and the text after it: empty, `@lang`, or `^^<datatype>`."""
    end = term.rindex('"')
    return term[1:end], term[end + 1 :]


def encode(term: AnyTerm) -> str:
    """A pyoxigraph term in the engine's form."""
    match term:
        case ox.NamedNode():
            return f"<{term.value}>"
        case ox.BlankNode():
            return f"_:{term.value}"
        case ox.Literal():
            return literal(term.value, term.datatype.value, term.language)
    raise TypeError(f"not a term of RDF 1.1: {term}")


def decode(term: str) -> AnyTerm:
    """The engine's form as a pyoxigraph term."""
    match term[0]:
        case "<":
            return ox.NamedNode(term[1:-1])
        case "_":
            return ox.BlankNode(term[2:])
    lexical, suffix = split_literal(term)
    if not suffix:
        return ox.Literal(lexical)
    if suffix[0] == "@":
        return ox.Literal(lexical, language=suffix[1:])
    return ox.Literal(lexical, datatype=ox.NamedNode(suffix[3:-1]))
