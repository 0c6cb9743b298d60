"""The references of the languages: every word of a grammar is in its page, and what is refused is refused."""

from __future__ import annotations

import re

import pytest

from rheos.errors import QuerySyntaxError
from rheos.runtime.languages import understand
from rheos.syntax import parse
from tests.cli.command import ROOT
from tests.docs.pages import DOCS

SYNTAX = ROOT / "src" / "rheos" / "syntax"
# What the grammar of each language is made of, beside that of SPARQL.
GRAMMARS = {
    "csparql": ("csparql", "registration", "reporting"),
    "cqels": ("cqels",),
    "epsparql": ("epsparql", "events"),
    "rspql": ("rspql", "registration", "reporting"),
}
# Read to be refused with a better message than that of a parser.
NAMED_OTHERWISE = {"CONTAINING": "CONTAINS", "DASH": "-"}
# Of the grammar of SPARQL, or no words.
OTHERS = {"LSQB", "LPAR", "LBRACE", "STAR", "PLUS", "INTEGER", "DECIMAL", "AND", "OR", "NAME", "IRIREF"}
OTHERS |= {"PNAME_LN", "PNAME_NS", "XSD_DURATION", "UNIT", "FINE_UNIT", "FUNCTION", "VAR", "REPEATED"}
OTHERS |= {"END_OF_RUN", "STREAM_OPERATOR", "AGGREGATE_CLAUSE", "COMPUTED"}


def section(page: str, title: str) -> str:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert f"\n## {title}\n" in text
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def words(grammar: str) -> set[str]:
    """The words that a grammar has in its rules."""
    lines = (SYNTAX / f"{grammar}.lark").read_text().splitlines()
    rules = "\n".join(line for line in lines if not re.match(r"\s*//|[A-Z_]+[.0-9]*\s*:|%extend [A-Z]", line))
    rules = re.sub(r"\"[^\"]*\"|/[^/]*/[a-z]?", "", rules)
    found = {word.lstrip("_") for word in re.findall(r"\b_?[A-Z][A-Z_]+\b", rules)}
    return {NAMED_OTHERWISE.get(word, word) for word in found - OTHERS}


@pytest.mark.parametrize("page", GRAMMARS)
def test_every_word_of_a_grammar_is_in_its_page(page: str) -> None:
    grammar = section(page, "Grammar")
    missing = {word for name in GRAMMARS[page] for word in words(name) if f"'{word}'" not in grammar}
    assert missing == set()


REFUSED = [
    (page, *found)
    for page in GRAMMARS
    for found in re.findall(r"^\| `(.*)` \| (.*) \|$", section(page, "What is refused"), re.MULTILINE)
]


@pytest.mark.parametrize(("page", "text", "message"), REFUSED)
def test_what_a_page_says_is_refused(page: str, text: str, message: str) -> None:
    query = f"SELECT * {{ {text} }}" if text.startswith(("STREAM", "GRAPH")) else text
    with pytest.raises(QuerySyntaxError) as caught:
        understand(parse(query, "auto"), "q", "http://ex.org/", ["http://ex.org/s"], "none")
    assert caught.value.message == message


def test_each_page_has_many() -> None:
    pages = [page for page, *_ in REFUSED]
    assert all(pages.count(page) >= 10 for page in GRAMMARS)
