"""Syntax errors in a user's words: what was found, and what was expected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from rheos.errors import Position
from rheos.syntax import later
from rheos.syntax.terms import Fault

_END = "$END"
_IRI = {"IRIREF", "PNAME_LN", "PNAME_NS"}
_UNSIGNED = {"INTEGER", "DECIMAL", "DOUBLE"}
_SIGNED = {f"{kind}_{sign}" for kind in _UNSIGNED for sign in ("POSITIVE", "NEGATIVE")}
_LITERAL = {"STRING_LITERAL", "TRUE", "FALSE"} | _UNSIGNED | _SIGNED
_CALL = {"FUNCTION", "AGGREGATE", "COUNT", "GROUP_CONCAT", "BOUND", "EXISTS", "NOT"}
_SIGN = {"BANG", "PLUS", "DASH"}
_OPERATOR = {"OR", "AND", "EQUAL", "COMPARISON", "PLUS", "DASH", "STAR", "SLASH", "_IN", "NOT"} | _SIGNED
_PATTERN = {"OPTIONAL", "MINUS", "GRAPH", "SERVICE", "FILTER", "BIND", "VALUES", "LBRACE"}
_TEMPORAL = {
    "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "BEFORE", "AFTER", "MEETS", "MET", "OVERLAPS",
    "OVERLAPPED", "STARTS", "STARTED", "DURING", "CONTAINS", "FINISHES", "FINISHED",
}  # fmt: skip
_OPERATION = {"WITH", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY"}

# Names for sets of terminals: the name, the terminals that must all be accepted, and further ones that belong
# to them. For each set that fits, from the first on, the name stands for all of its terminals, which are then
# removed.
_TOGETHER: tuple[tuple[str, set[str], set[str]], ...] = (
    ("a window, as in [NOW] or [RANGE 10s]", {"LSQB", "NOW"}, {"ALL", "LBRACE", "RANGE", "TRIPLES"}),
    ("an expression", _CALL | _IRI | {"STRING_LITERAL", "VAR", "LPAR"}, _SIGN | _LITERAL),
    ("a condition in brackets", _CALL | {"LPAR"}, _IRI),
    ("a function call", _CALL, _IRI),
    ("COUNT, SUM, AVG, MIN or MAX", {"COUNT", "AGGREGATE"}, set()),
    ("a variable or term", _IRI | _LITERAL | {"VAR", "BLANK_NODE_LABEL", "LSQB", "LPAR"}, set()),
    ("a predicate", _IRI | {"A"}, {"VAR", "CARET", "BANG", "LPAR"}),
    ("a value", _IRI | _LITERAL, {"UNDEF"}),
    ("an operator", {"AND", "OR"}, _OPERATOR),
    ("a path operator", {"SLASH", "VBAR"}, {"QUESTION", "STAR", "PLUS"}),
    ("a pattern (FILTER, OPTIONAL, ...)", _PATTERN, {"STREAM", "NOT", "WINDOW"}),
    (
        "SEQ or its like",
        {"SEQ", "_UNION"},
        _TEMPORAL | {"_UNION", "CONTAINING", "WITHIN", "PLUS", "REPEATED"},
    ),
    ("RANGE, ELEMENTS or FROM", {"_RANGE", "_ELEMENTS"}, {"FROM"}),
    ("a duration, as in PT10M or 10m", {"XSD_DURATION", "INTEGER"}, {"STRING_LITERAL"}),
    (
        "a modifier (ORDER BY, LIMIT, ...)",
        {"_ORDER", "_LIMIT"},
        {"_GROUP", "_HAVING", "_OFFSET", "VALUES", "WITHIN"},
    ),
    ("an IRI", _IRI, set()),
    ("a number", _UNSIGNED, _SIGNED),
    ("'{'", {"LBRACE", "NOT"}, set()),
    ("a variable", {"VAR"}, set()),
    ("an operation (INSERT, DELETE, ...)", {"INSERT", "DELETE", "LOAD"}, _OPERATION),
)
_WORDS = {
    "_AGGREGATE_CLAUSE": "AGGREGATE",
    "BLANK_NODE_LABEL": "a blank node",
    "COMPARISON": "a comparison",
    "INTEGER": "a whole number",
    "IRIREF": "an IRI in angle brackets",
    "COMPUTED": "COMPUTED EVERY",
    "FINE_UNIT": "a unit: ns, ms, s, m, h or d",
    "LANGTAG": "a language tag",
    "NAME": "a name",
    "PNAME_NS": "a prefix with its colon",
    "STREAM_OPERATOR": "RSTREAM, ISTREAM or DSTREAM",
    "STRING_LITERAL": "a string",
    "UNDER": "UNDER ENTAILMENT REGIME",
    "UNIT": "a unit: ms, s, m, h or d",
}
_CLOSING = {"DOT": ".", "SEMICOLON": ";", "COMMA": ",", "RPAR": ")", "RSQB": "]", "RBRACE": "}"}
_OPENING = {
    "LBRACE": "{", "LPAR": "(", "LSQB": "[", "OR": "||", "AND": "&&", "BANG": "!", "CARET": "^", "DASH": "-",
    "PLUS": "+", "QUESTION": "?", "SLASH": "/", "STAR": "*", "VBAR": "|", "EQUAL": "=", "DOUBLE_CARET": "^^",
    "PERCENT": "%",
}  # fmt: skip
_LONGEST_LIST = 7


def fault(problem: UnexpectedInput, text: str, what: str = "query") -> Fault:
    """Why a text cannot be parsed any further, and where. `what` is the word for the text in the message."""
    parser: Any = problem.interactive_parser
    accepted: set[str] = parser.accepts()
    expected = _listed([f"the end of the {what}" if name == _END else name for name in _names(accepted)])
    token = problem.token if isinstance(problem, UnexpectedToken) else None
    if token is not None and token.type == _END:
        where = locate(text, len(text.rstrip()))
        if not text.strip():
            return Fault(f"the {what} is empty; expected {expected}", where)
        return Fault(f"the {what} ends too early; expected {expected}", where)

    start = problem.pos_in_stream or 0
    if found := later.mistake(text, start, accepted):
        return Fault(found[0], locate(text, found[1]))
    word = _glued_word(text, start)
    if token is not None and token.type in _TEMPORAL and (message := _no_group_before(word, token, accepted)):
        return Fault(message, locate(text, start if word is None else word.start()))
    if word is not None:
        return Fault(f"there is no keyword or function {_shown(word[0])}", locate(text, word.start()))
    beginning = _WORD.match(text, start)
    assert beginning is not None
    if token is not None and (len(token) < len(beginning[0]) or token.type == "NAME"):
        token = None  # only the first letters of a word (the IN of INSERT), or a name, which can be any word
    message = _known_mistake(text, start, token, accepted)
    if message is None:
        shown = _shown(str(token or beginning[0]))
        message = f"expected {expected}, found {shown}"
    return Fault(message, locate(text, start))


def locate(text: str, index: int) -> Position:
    """The line and the column of an index in the text, counted as Lark counts them."""
    return Position(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


# --- what was expected -----------------------------------------------------------------------------


def _names(accepted: set[str]) -> Iterator[str]:
    rest = set(accepted)
    groups = []
    for name, needed, further in _TOGETHER:
        if needed <= rest:
            groups.append(name)
            rest -= needed | further
    yield from (f"'{sign}'" for terminal, sign in _CLOSING.items() if terminal in rest)
    yield from groups
    words = sorted(rest - _CLOSING.keys() - _OPENING.keys(), key=lambda terminal: terminal.lstrip("_"))
    yield from (_WORDS.get(terminal, terminal.lstrip("_")) for terminal in words)
    yield from (f"'{sign}'" for terminal, sign in _OPENING.items() if terminal in rest)


def _listed(names: list[str]) -> str:
    if len(names) > _LONGEST_LIST:
        return ", ".join(names[:_LONGEST_LIST]) + " or the like"
    *most, last = names or ["nothing more"]
    return f"{', '.join(most)} or {last}" if most else last


# --- what was found --------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d]\w*|.", re.DOTALL)


def _shown(found: str) -> str:
    if len(found) == 1 and not (found.isascii() and found.isprintable()):
        return f"U+{ord(found):04X} ({unicodedata.name(found, 'a control character')})"
    line = found.split("\n", 1)[0]
    return f"'{line}'" if len(line) <= 40 and line == found else f"'{line[:40]}...'"


def _glued_word(text: str, start: int) -> re.Match[str] | None:
    """The whole word, if only its beginning was read as a keyword, as in `FILTERS`; else None."""
    if not re.match(r"[A-Za-z_]{2}", text[start - 1 : start + 1]):
        return None
    while start and re.match(r"[A-Za-z_]", text[start - 1]):
        start -= 1
    # After one of these characters the letters are a name.
    return None if text[start - 1 : start] in ("?", "$", ":", "@") else _WORD.match(text, start)


def _no_group_before(word: re.Match[str] | None, token: Token, accepted: set[str]) -> str | None:
    """What is wrong with SEQ, or an operator like it, that has no group to its left; else None. In such a
    place the first half of OPTIONALSEQ is read as OPTIONAL."""
    operator = (token if word is None else word[0]).upper()
    if operator not in _TEMPORAL:
        return None
    if word is not None or "FILTER" in accepted:
        return f"{operator} needs a group in braces directly before it, as in {{ ... }} {operator} {{ ... }}"
    if "_ORDER" in accepted:
        return f"{operator} stands inside WHERE, as in WHERE {{ {{ ... }} {operator} {{ ... }} }}"
    return None


def _known_mistake(text: str, start: int, token: Token | None, accepted: set[str]) -> str | None:
    """The message for a known kind of mistake: a token that is unfinished or belongs elsewhere; else None."""
    rest = text[start:]
    kind = token.type if token is not None else None
    if accepted in ({"UNIT"}, {"FINE_UNIT"}) and _FRACTION.match(rest):
        return "a time is made of whole numbers, as in 1h30m"
    if rest.startswith(("(", ":")) and (variable := _HYPHENATED.search(text, 0, start)):
        return f"{variable[0]} reads as one variable here; to subtract, put a space after '-'"
    if rest.startswith("<") and "IRIREF" in accepted:
        return _malformed_iri(rest)
    if kind == "IRIREF" and "COMPARISON" in accepted:
        return f"{_shown(str(token))} reads as an IRI here; for a comparison, put a space after '<'"
    if kind in _CALL and {"VAR", "LPAR"} <= accepted and not accepted & _IRI:
        return f"an expression in SELECT needs brackets and a name, as in ({token}(...) AS ?name)"
    if kind == "_AS" and "_WHERE" in accepted:
        return "an expression needs brackets where another AS comes before it, as in (-?x AS ?y)"
    if kind == "STREAM" and "FILTER" in accepted:
        return "STREAM patterns belong to CQELS-QL; here FROM STREAM, before WHERE, names the streams"
    if kind == "LSQB" and "_WHERE" in accepted and _STREAM_CLAUSE.search(text, 0, start):
        return "windows belong to C-SPARQL; in EP-SPARQL, FILTER(getDURATION() < ...) bounds a pattern"
    if kind not in (None, "QUESTION"):
        return None
    if rest.startswith(("'", '"')):
        return _malformed_string(rest)
    call = re.match(r"([^\W\d]\w*)\s*\(", rest)
    if call and "FUNCTION" in accepted and call[1].upper() in _OF_INTERVALS:
        return f"{call[1]}() is of EP-SPARQL, where solutions have intervals"
    if call and "FUNCTION" in accepted:
        return f"there is no function {_shown(call[1])}"
    return next((message for sign, message in _UNFINISHED.items() if rest.startswith(sign)), None)


_UNFINISHED = {
    "?": "a variable needs a name after '?'",
    "$": "a variable needs a name after '$'",
    "_:": "a blank node needs a label after '_:'",
    "@": "a language tag needs letters after '@', as in \"chat\"@fr",
    "%": "in a name, '%' needs two hexadecimal digits after it",
    "\\": "in a name, a backslash can only stand before one of _~.-!$&'()*+,;=/?#@%",
}
_OF_INTERVALS = {"GETDURATION", "GETSTARTTIME", "GETENDTIME"}
_STREAM_CLAUSE = re.compile(r"\bSTREAM\s*(?:<[^<>]*>|[^\s<>]*:[^\s<>]*)\s*\Z", re.IGNORECASE)
_FRACTION = re.compile(r"\.\d")
_HYPHENATED = re.compile(r"[?$]\w+(?:-\w+)+\Z")
_STRING = re.compile(
    r"""(?P<quotes>'{3}|"{3}|'|")(?P<text>(?:\\.|(?!(?P=quotes))[^\\])*)(?P<end>(?P=quotes)?)""", re.DOTALL
)
_UNKNOWN_ESCAPE = re.compile(r"""(?:[^\\]|\\["'bfnrt\\])*?(\\[^"'bfnrt\\])""", re.DOTALL)
_FORBIDDEN_IN_IRI = re.compile(r'[\x00-\x20<"{}|^`\\]')


def _malformed_string(rest: str) -> str | None:
    match = _STRING.match(rest)
    assert match is not None
    escape = _UNKNOWN_ESCAPE.match(match["text"])
    if escape is not None:
        return f"the string has an unknown escape, {escape[1]}; a backslash itself is written \\\\"
    if len(match["quotes"]) == 3:
        return None if match["end"] else f"the string is not closed with {match['quotes']}"
    if not match["end"] or "\n" in match["text"] or "\r" in match["text"]:
        return "the string is not closed on its line; three quotation marks can hold several lines"
    return None


def _malformed_iri(rest: str) -> str | None:
    line = rest.split("\n", 1)[0]
    end = line.find(">")
    if end < 0:
        return "the IRI is not closed with '>'"
    bad = _FORBIDDEN_IN_IRI.search(line, 1, end)
    if bad is None:
        return None
    what = "a space" if bad[0] == " " else _shown(bad[0])
    return f"the IRI {_shown(line[: end + 1])} cannot contain {what}"
