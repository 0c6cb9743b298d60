"""Recognises a query where an update was expected, or the other way round, when the text cannot be parsed.

The first word after the prologue decides: in SPARQL it tells queries and updates apart.
"""

from __future__ import annotations

import re

from rheos.syntax.explain import locate
from rheos.syntax.terms import Fault

# Blanks, comments, and the pieces of a prologue: keywords, IRIs and prefixes. It also matches an empty text.
_PROLOGUE = re.compile(r"(?:\s+|#[^\r\n]*|<[^<>]*>|(?:BASE|PREFIX)(?!\w)|[^\s<>{}():#]*:)*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")

_QUERY = "this is a query, not an update; give it to Engine.query()"
_UPDATE = "this is an update, not a query; give it to Engine.update()"
_CONTINUOUS = "this is a continuous query, not an update; give it to Engine.register()"

_QUERIES = {"SELECT": _QUERY, "CONSTRUCT": _QUERY, "ASK": _QUERY, "DESCRIBE": _QUERY, "REGISTER": _CONTINUOUS}
_UPDATES = dict.fromkeys(
    ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY"), _UPDATE
)


def mistaken(text: str, expected: str) -> Fault | None:
    """A fault at the first word, if this word begins a query where an `update` was expected, or the other way
    round; else None."""
    start = _PROLOGUE.match(text)
    word = _WORD.match(text, start.end() if start else 0)
    if word is None:
        return None
    message = (_QUERIES if expected == "update" else _UPDATES).get(word[0].upper())
    return None if message is None else Fault(message, locate(text, word.start()))
