"""Detection: tells the dialect of a query from its text, or where a text mixes two dialects.

The words of the text decide; the grammars are not tried one after the other. In SPARQL 1.1 a word outside of
strings, comments and names can only be a keyword or a built-in. So a word that only another language has
never stands in a SPARQL query. This way a text with a mistake gets the error of the language that it is
written in, and no text is parsed twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_OF_CSPARQL = ("AGGREGATE", "TIMESTAMP", "COMPUTED", "COMPUTE")
_OF_EPSPARQL = (
    "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "GETDURATION", "GETSTARTTIME", "GETENDTIME", "WITHIN",
    "CONSUMPTION", "BEFORE", "AFTER", "MEETS", "MET", "OVERLAPS", "OVERLAPPED", "STARTS", "STARTED", "DURING",
    "CONTAINS", "FINISHES", "FINISHED", "FIRST", "LAST",
)  # fmt: skip

# The stream operators of C-SPARQL and RSP-QL.
_OPERATORS = ("RSTREAM", "ISTREAM", "DSTREAM")

# The end of a group that is repeated, `{A}+` or `{A}{2,5}`: nothing else may follow a group like this.
_RUN = r"\}(?=\s*(?:\+|\{\s*\d+\s*(?:,\s*\d*\s*)?\}))"

# Nearly all texts of plain SPARQL end here.
_HINT = re.compile(
    "|".join(("REGISTER", "STREAM", "WINDOW", *_OF_CSPARQL, *_OF_EPSPARQL, _RUN)), re.IGNORECASE
)

# The tokens of a text: those to skip (strings, comments, IRIs, names), the longest first where two begin
# alike, and words. Beyond ASCII, every character may be part of a name. A hyphen belongs to the word before
# it, which may be the name of a registered query. A bracket after the name of a stream begins a window.
_TOKEN = r"""
      '{3}(?:[^'\\]|\\.|'(?!''))*'{3} | "{3}(?:[^"\\]|\\.|"(?!""))*"{3}
    | '(?:[^'\\\r\n]|\\.)*' | "(?:[^"\\\r\n]|\\.)*"
    | (?P<comment>\#[^\r\n]*)
    | <[^<>"{}|^`\\\x00-\x20]*>
    | [?$@][^\x00-,./:-@\[-^`{-\x7f]+
    | [^\x00-,/:-@\[-^`{-\x7f]*:(?:[^\x00-$&-,/;-@\[-^`{-\x7f]|\\.)*
    | (?P<word>[^\W\d][\w-]*|[\[{]|RUN_ENDS)
    | [\d.-]+ | [^\x00-\x7f]+
""".replace("RUN_ENDS", _RUN)
_CLAUSE = "FROM STREAM"
_WINDOW = "FROM STREAM ["
_PATTERN = "STREAM"
_NAMED_WINDOW = "WINDOW"
_RUN_ENDS = "}"
_SHOWING = {"REGISTER", _PATTERN, _NAMED_WINDOW, _RUN_ENDS, *_OPERATORS, *_OF_CSPARQL, *_OF_EPSPARQL}


def detect(text: str) -> str:
    """The dialect of a text, by the first rule that holds:

    `rspql` if it has the word WINDOW, or RSTREAM, ISTREAM or DSTREAM and no stream of another language;
    `cqels` if it has a STREAM pattern; `epsparql` if it has a word of EP-SPARQL, or FROM STREAM without a
    window; `csparql` if it has REGISTER, a window, AGGREGATE or timestamp(); else `sparql`.
    """
    found = {mark for mark, _ in _marks(text)}
    if _NAMED_WINDOW in found or (found & set(_OPERATORS) and not found & {_CLAUSE, _WINDOW, _PATTERN}):
        return "rspql"
    if _PATTERN in found:
        return "cqels"
    if found.intersection((*_OF_EPSPARQL, _RUN_ENDS)) or (
        _CLAUSE in found and not found & {_WINDOW, *_OF_CSPARQL}
    ):
        return "epsparql"
    return "csparql" if found else "sparql"


def mixture(text: str) -> tuple[str, int] | None:
    """If a text has patterns of two languages of streams: their names, and where the second one begins."""
    events = ""
    found: set[str] = set()
    for mark, index in _marks(text):
        if mark in _OF_EPSPARQL or mark == _RUN_ENDS:
            word = "{…}+" if mark == _RUN_ENDS else text[index : index + len(mark)]
            events = events or f"EP-SPARQL ({word})"
        elif mark in (_CLAUSE, _WINDOW, _PATTERN, _NAMED_WINDOW):
            found.add(mark)
        # Events may stand in the windows of RSP-QL.
        kinds = [events] if events and _NAMED_WINDOW not in found else []
        # Without a window, FROM STREAM may be of EP-SPARQL.
        if _WINDOW in found or {_CLAUSE, _PATTERN} <= found:
            kinds.append("C-SPARQL windows (FROM STREAM)")
        kinds += ["CQELS-QL patterns (STREAM in WHERE)"] if _PATTERN in found else []
        kinds += ["RSP-QL windows (WINDOW)"] if _NAMED_WINDOW in found else []
        if len(kinds) > 1:
            return " and ".join(sorted(kinds)), index
    return None


def _marks(text: str) -> Iterator[tuple[str, int]]:
    """The marks that show the language of a text: words that only one language has, each with its place."""
    if _HINT.search(text) is None:
        return
    words = [("", 0), *_words(text), ("", 0), ("", 0)]
    named = -1  # the index of the word that is the name of a registered query: it may be any word
    for at in range(1, len(words) - 2):
        word, index = words[at]
        if at in (named - 1, named):
            if at < named and word in _OPERATORS:
                yield word, index
            continue
        if word == "STREAM" and words[at - 1][0] == "ON":
            continue  # FROM NAMED WINDOW :w ON STREAM :s, as RSP-JS writes it
        if word == "STREAM" and words[at - 1][0] in ("FROM", "NAMED"):
            yield (_WINDOW if words[at + 2][0] == "[" else _CLAUSE), index
        elif word in _SHOWING and (word != "CONTAINS" or words[at + 1][0] == "{"):  # else it is a function
            yield word, index
        if word == "REGISTER":  # QUERY or STREAM and the name follow
            named = at + 2


def _words(text: str) -> Iterator[tuple[str, int]]:
    """The words in capitals; an empty one for each string, IRI, variable, language tag and prefixed name."""
    # The expression is compiled here, not at import; `re` caches it.
    tokens = re.finditer(_TOKEN, text, re.VERBOSE | re.DOTALL)
    return (((token["word"] or "").upper(), token.start()) for token in tokens if token["comment"] is None)
