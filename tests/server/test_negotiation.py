"""Which of the forms on offer an Accept header chooses."""

from __future__ import annotations

import pytest

from rheos.server.linked import HTML, RDF
from rheos.server.negotiation import choose, media_type

FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

TABLE = [
    (None, "text/turtle"),
    ("", "text/turtle"),
    ("*/*", "text/turtle"),
    ("text/turtle", "text/turtle"),
    ("TEXT/Turtle", "text/turtle"),
    ("application/trig", "application/trig"),
    ("application/n-triples", "application/n-triples"),
    ("application/n-quads", "application/n-quads"),
    ("application/ld+json", "application/ld+json"),
    ("application/rdf+xml", "application/rdf+xml"),
    ("text/html", "text/html"),
    ("application/xhtml+xml", "application/xhtml+xml"),
    (FIREFOX, "text/html"),
    ("text/*", "text/turtle"),
    ("application/*", "application/trig"),
    ("text/turtle;q=0.5, application/trig", "application/trig"),
    ("text/turtle;q=0.5, application/trig;q=0.4", "text/turtle"),
    ("text/turtle, text/html", "text/turtle"),
    ("text/html, text/turtle;q=0.9", "text/html"),
    ("text/turtle;q=0, */*", "application/trig"),
    ("text/*;q=0.3, text/html;q=0.7, */*;q=0.5", "text/html"),
    ("*/*;q=0.1, application/rdf+xml;q=0.2", "application/rdf+xml"),
    ("text/turtle;charset=utf-8", "text/turtle"),
    (
        'application/ld+json;profile="http://www.w3.org/ns/json-ld#expanded, or so";q=0.8',
        "application/ld+json",
    ),
    ("image/png", None),
    ("image/png, text/csv;q=0.9", None),
    ("text/turtle;q=0", None),
    ("*/*;q=0", None),
    ("nonsense", None),
    ("nonsense, text/html;q=0.1", "text/html"),
    ("text/turtle;q=2, text/html;q=0.1", "text/html"),
    ("*/turtle", None),
    ("text/turtle;q=0.001", "text/turtle"),
    (",,text/turtle,", "text/turtle"),
]


@pytest.mark.parametrize(("accept", "chosen"), TABLE)
def test_what_is_chosen(accept: str | None, chosen: str | None) -> None:
    assert choose(accept, (*RDF, *HTML)) == chosen


def test_a_header_of_any_length_is_read_quickly() -> None:
    assert choose('a/b;c="' + "\\" * 50_000, ("text/html",)) is None
    assert choose("a/b;" * 20_000, ("text/html",)) is None
    assert choose("text/html;" + " " * 50_000 + "q=0.5", ("text/html",)) == "text/html"


def test_the_type_of_a_body() -> None:
    assert media_type("Text/Turtle; charset=utf-8") == "text/turtle"
    assert media_type(None) == ""
