"""Later and foreign syntax: recognises SPARQL 1.2, and what other engines add to the languages, at the place
where a text cannot be parsed any further."""

from __future__ import annotations

import re

_SIGNS = {
    "<<": "quoted triples ('<<', RDF-star) are not supported",
    "{|": "annotations of triples ('{|', RDF-star) are not supported",
    "~": "names of triples ('~', RDF-star) are not supported",
    "--": "the direction of a text ('--', SPARQL 1.2) is not supported",
}
_WORDS = {"VERSION": "SPARQL 1.2", "LATERAL": "no SPARQL yet", "UNFOLD": "no SPARQL yet"}
_FUNCTIONS = dict.fromkeys(
    ("TRIPLE", "ISTRIPLE", "SUBJECT", "PREDICATE", "OBJECT"), "quoted triples (RDF-star)"
)
_FUNCTIONS |= dict.fromkeys(("LANGDIR", "STRLANGDIR", "HASLANG", "HASLANGDIR"), "SPARQL 1.2")

# Syntax that other engines and drafts have in RSP-QL: of windows, and of the times of patterns.
_WINDOWS = {
    "SLIDING": "SLIDING, REPORT and TICK, of Kolibrie, are not supported; a window is [RANGE 10s STEP 2s]",
    "TUMBLING": "a window that tumbles is one without STEP here, as in [RANGE PT10S]",
    "TRIPLES": "a window counts elements here, which are graphs, as in [ELEMENTS 100 STEP 10]",
    "START": "START and END, of Janus, are not supported; [FROM NOW-2h TO NOW-1h] is a window in the past",
}
_TIMES = {"BEGIN": "BEGIN AT", "END": "END AT", "WITH": "WITH DURATION"}

_WORD = re.compile(r"[A-Za-z]+")
_CALL = re.compile(r"\s*\(")
_COUNTED = re.compile(r"\{\s*(?:\d+\s*(?:,\s*\d*\s*)?|,\s*\d+\s*)\}")


def mistake(text: str, start: int, accepted: set[str]) -> tuple[str, int] | None:
    """The message for such syntax and the index at which it begins; None if it is another mistake. `accepted`
    are the terminals that could have come there."""
    for sign, message in _SIGNS.items():
        # The first character of a sign may be a token by itself, which stands before `start`.
        for begin in (start, start - 1)[: len(sign)]:
            if begin >= 0 and text.startswith(sign, begin) and _is_sign(sign, text, begin):
                return message, begin
    if "SLASH" in accepted and "VBAR" in accepted and (counted := _COUNTED.match(text, start)):
        return f"a number of repetitions ('{counted[0]}') is not supported; a path has *, + and ?", start
    word = _WORD.match(text, start)
    if word is None:
        return None
    name = word[0].upper()
    if name in _WINDOWS and "_ELEMENTS" in accepted:
        return _WINDOWS[name], start
    if name in _TIMES and "WINDOW" in accepted:
        return f"{_TIMES[name]} is not supported: it is of a draft of RSP-QL", start
    if name in _WORDS:
        return f"{word[0]} is not supported: it is of {_WORDS[name]}", start
    if name in _FUNCTIONS and _CALL.match(text, word.end()):
        return f"{word[0]}() is not supported: it is of {_FUNCTIONS[name]}", start
    if name in ("EXISTS", "NOT") and "FILTER" in accepted:
        return "EXISTS is a condition; as a pattern it needs FILTER before it", start
    return None


def _is_sign(sign: str, text: str, begin: int) -> bool:
    """True if the characters are such a sign. Only `--` can mean something else, if it stands anywhere but
    behind a language tag."""
    return sign != "--" or re.search(r"@[A-Za-z0-9-]+\Z", text[max(0, begin - 80) : begin]) is not None
