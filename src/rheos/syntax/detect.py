"""The text of a query comes in, the name of its dialect goes out.

Decided by the words of the text, not by trying one grammar after the other: in SPARQL 1.1 a word outside of
strings, comments and names can only be a keyword or a built-in, so a word that is C-SPARQL's alone never
stands in a SPARQL query. A text with a mistake then gets the error of the language that it is written in, and
no text is parsed twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Nearly all texts of plain SPARQL end here.
_HINT = re.compile("REGISTER|STREAM|AGGREGATE|TIMESTAMP", re.IGNORECASE)

# What to pass over, longest first where two begin alike, and the words that are left.
_TOKEN = r"""
      '{3}(?:[^'\\]|\\.|'(?!''))*'{3} | "{3}(?:[^"\\]|\\.|"(?!""))*"{3}
    | '(?:[^'\\\r\n]|\\.)*' | "(?:[^"\\\r\n]|\\.)*"
    | (?P<comment>\#[^\r\n]*)
    | <[^<>"{}|^`\\\x00-\x20]*>
    | [?$@][\w-]+
    | [\w.-]*:(?:[\w.:%-]|\\.)*
    | (?P<word>[^\W\d]\w*)
    | [\d.-]+
"""
_OWN_WORDS = {"REGISTER", "AGGREGATE", "TIMESTAMP"}


def detect(text: str) -> str:
    """`csparql` for a text with REGISTER, FROM STREAM, AGGREGATE or timestamp(), else `sparql`."""
    if _HINT.search(text) is None:
        return "sparql"
    before = ""
    for word in _words(text):
        if word in _OWN_WORDS or (word == "STREAM" and before in ("FROM", "NAMED")):
            return "csparql"
        before = word
    return "sparql"


def _words(text: str) -> Iterator[str]:
    """The words in capitals; an empty one for each string, IRI, variable, language tag and prefixed name."""
    # Compiled here, not at import, and kept by `re`.
    tokens = re.finditer(_TOKEN, text, re.VERBOSE | re.DOTALL)
    return ((token["word"] or "").upper() for token in tokens if token["comment"] is None)
