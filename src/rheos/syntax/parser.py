"""The text of a query comes in, its syntax tree goes out, or a `QuerySyntaxError` that points into it."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedInput

from rheos.errors import Position, QuerySyntaxError
from rheos.syntax import ast, explain, scope
from rheos.syntax.detect import detect, mixture
from rheos.syntax.grammar import parser
from rheos.syntax.terms import Fault


def parse(text: str, dialect: str = "sparql") -> ast.Query:
    """The syntax tree of a query; its `text`, to which all positions refer, has the \\u escapes decoded.

    The dialect `auto` is the one that the words of the text belong to.
    """
    try:
        text = _decode(text)
        _one_language(text)
        query = parser(detect(text) if dialect == "auto" else dialect).parse(text)
        scope.check(query)
    except Fault as fault:
        raise QuerySyntaxError(fault.message, text, fault.position) from None
    except UnexpectedInput as problem:
        found = explain.fault(problem, text)
        raise QuerySyntaxError(found.message, text, found.position) from None
    except RecursionError:
        raise QuerySyntaxError("the query is nested too deeply", text, Position(1, 1)) from None
    return query


def _one_language(text: str) -> None:
    """Each grammar would say no more than that it does not know the word of the other."""
    mixed = mixture(text)
    if mixed is not None:
        message = "this mixes C-SPARQL windows (FROM STREAM) and CQELS-QL patterns (STREAM in WHERE)"
        raise Fault(f"{message}; a query has one kind only", explain.locate(text, mixed))


# An escaped backslash goes first: the `u` in "\\u0041" is just a letter.
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def _decode(text: str) -> str:
    r"""The text without its `\u` and `\U` escapes, which may stand anywhere in it (19.2)."""

    def decoded(escape: re.Match[str]) -> str:
        digits = escape[1] or escape[2]
        if digits is None:
            return escape[0]
        code = int(digits, 16)
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            raise Fault(f"{escape[0]} is not a character", explain.locate(text, escape.start()))
        return chr(code)

    text = text.removeprefix("\ufeff")
    half = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    if half is not None:
        where = explain.locate(text, half.start())
        printable = text.encode(errors="replace").decode()
        raise QuerySyntaxError(f"U+{ord(half[0]):04X} is only half of a character", printable, where)
    return _CODEPOINT.sub(decoded, text) if "\\" in text else text
