"""RDF terms on pages: a term as the engine has it comes in, its short form for people goes out."""

from __future__ import annotations

import re
from typing import NamedTuple

from rheos.answers.continuous import ntriples_term
from rheos.terms import split_literal

# Only these IRIs become links: a click on another scheme, such as `javascript:`, could run something.
_WEB = re.compile(r"https?://[^\s]+")
_LAST = re.compile(r"[^/#:]+[/#]?$")
_NUMBERS = ("integer", "decimal", "double", "float")


class Term(NamedTuple):
    """A term in its short form. `kind` is its class in the style sheet, `title` the whole term, `href` the
    address that it links to, `language` the language tag of a literal with its @."""

    text: str
    kind: str
    title: str = ""
    href: str = ""
    language: str = ""


def shown(term: str) -> Term:
    if term.startswith("<"):
        iri = term[1:-1]
        is_web = _WEB.fullmatch(iri) is not None
        return Term(short(iri), "iri", iri if is_web else term, iri if is_web else "")
    if term.startswith('"'):
        lexical, suffix = split_literal(term)
        is_number = suffix.rpartition("#")[2].rstrip(">") in _NUMBERS
        language = suffix if suffix.startswith("@") else ""
        return Term(lexical, "number" if is_number else "text", ntriples_term(term), "", language)
    return Term(term, "blank")


def short(iri: str) -> str:
    """The last part of an IRI, or the whole IRI if it has no such part."""
    found = _LAST.search(iri)
    return found[0] if found else iri
