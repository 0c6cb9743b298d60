"""The text of a query comes in, the name of its dialect goes out, or where it mixes two of them.

Decided by the words of the text, not by trying one grammar after the other: in SPARQL 1.1 a word outside of
strings, comments and names can only be a keyword or a built-in, so a word that is another language's alone
never stands in a SPARQL query. A text with a mistake then gets the error of the language that it is written
in, and no text is parsed twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Nearly all texts of plain SPARQL end here.
_HINT = re.compile("REGISTER|STREAM|AGGREGATE|TIMESTAMP", re.IGNORECASE)

# What to pass over, longest first where two begin alike, and the words that are left. A hyphen belongs to the
# word before it: it may be the name of a registered query.
_TOKEN = r"""
      '{3}(?:[^'\\]|\\.|'(?!''))*'{3} | "{3}(?:[^"\\]|\\.|"(?!""))*"{3}
    | '(?:[^'\\\r\n]|\\.)*' | "(?:[^"\\\r\n]|\\.)*"
    | (?P<comment>\#[^\r\n]*)
    | <[^<>"{}|^`\\\x00-\x20]*>
    | [?$@][\w-]+
    | [\w.-]*:(?:[\w.:%-]|\\.)*
    | (?P<word>[^\W\d][\w-]*)
    | [\d.-]+
"""
_CLAUSE = "FROM STREAM"
_PATTERN = "STREAM"
_CSPARQL = {"REGISTER", "AGGREGATE", "TIMESTAMP", _CLAUSE}


def detect(text: str) -> str:
    """`cqels` for a text with a STREAM pattern, `csparql` for one with REGISTER, FROM STREAM, AGGREGATE or
    timestamp(), else `sparql`."""
    found = {mark for mark, _ in _marks(text)}
    if _PATTERN in found:
        return "cqels"
    return "csparql" if found & _CSPARQL else "sparql"


def mixture(text: str) -> int | None:
    """Where the second kind begins in a text with windows in FROM STREAM and STREAM patterns, else None."""
    first = None
    for mark, index in _marks(text):
        if mark not in (_CLAUSE, _PATTERN):
            continue
        if first not in (None, mark):
            return index
        first = mark
    return None


def _marks(text: str) -> Iterator[tuple[str, int]]:
    """What shows the language of a text: words of one language alone, each with its place."""
    if _HINT.search(text) is None:
        return
    words = _words(text)
    before = ""
    for word, index in words:
        if word == "STREAM":
            yield (_CLAUSE if before in ("FROM", "NAMED") else _PATTERN), index
        elif word in _CSPARQL:
            yield word, index
        if word == "REGISTER":  # QUERY or STREAM and the name follow; any word may be that
            next(words, None)
            next(words, None)
        before = word


def _words(text: str) -> Iterator[tuple[str, int]]:
    """The words in capitals; an empty one for each string, IRI, variable, language tag and prefixed name."""
    # Compiled here, not at import, and kept by `re`.
    tokens = re.finditer(_TOKEN, text, re.VERBOSE | re.DOTALL)
    return (((token["word"] or "").upper(), token.start()) for token in tokens if token["comment"] is None)
