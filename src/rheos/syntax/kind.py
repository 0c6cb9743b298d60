"""A text that could not be read comes in; out goes what to do with it, if it is none of what was expected.

By its first word after the prologue, which in SPARQL tells queries and updates apart.
"""

from __future__ import annotations

import re

from rheos.syntax.explain import locate
from rheos.syntax.terms import Fault

# Blanks, comments, and the pieces of a prologue: its keywords, IRIs and prefixes. It matches always.
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
    """A fault at the first word, if that makes the text a query where an `update` was expected, or the other
    way round."""
    start = _PROLOGUE.match(text)
    word = _WORD.match(text, start.end() if start else 0)
    if word is None:
        return None
    message = (_QUERIES if expected == "update" else _UPDATES).get(word[0].upper())
    return None if message is None else Fault(message, locate(text, word.start()))
