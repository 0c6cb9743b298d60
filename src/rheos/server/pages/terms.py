"""RDF terms on pages: a term as the engine has it comes in, HTML that a person can read goes out, with the
whole term in its title."""

from __future__ import annotations

import re

from rheos.answers.continuous import ntriples_term
from rheos.server.pages.html import Html, element, link
from rheos.terms import split_literal

# Only these are links: a click on any other kind of address could do something.
_WEB = re.compile(r"https?://[^\s]+")
_LAST = re.compile(r"[^/#:]+[/#]?$")


def shown(term: str) -> Html:
    """A term in its short form."""
    if term.startswith("<"):
        iri = term[1:-1]
        name = element("span", short(iri), class_="iri")
        return link(iri, name, title=iri, rel="noreferrer") if _WEB.fullmatch(iri) else _titled(name, term)
    if term.startswith('"'):
        lexical, suffix = split_literal(term)
        kind = element("span", suffix if suffix.startswith("@") else "", class_="kind")
        return _titled((element("span", lexical, class_=_class(suffix)), kind), ntriples_term(term))
    return element("span", term, class_="blank")


def short(iri: str) -> str:
    """The last part of an IRI; all of it where there is none."""
    found = _LAST.search(iri)
    return found[0] if found else iri


def _titled(content: Html | tuple[Html, ...], title: str) -> Html:
    return element("span", content, title=title)


def _class(suffix: str) -> str:
    kind = suffix.rpartition("#")[2].rstrip(">")
    return "number" if kind in ("integer", "decimal", "double", "float") else "text"
