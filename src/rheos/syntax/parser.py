"""Parses the text of a query or update, or raises a `QuerySyntaxError` that points into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedInput

from rheos.errors import Position, QuerySyntaxError
from rheos.syntax import ast, explain, kind, scope
from rheos.syntax.detect import detect, mixture
from rheos.syntax.grammar import parser
from rheos.syntax.terms import Fault

if TYPE_CHECKING:
    from rheos.syntax.update_tree import Update


def parse(text: str, dialect: str = "sparql") -> ast.Query:
    """The syntax tree of a query; its `text`, to which all positions refer, has the \\u escapes decoded.

    The dialect `auto` is the one that the words of the text belong to.
    """
    text = _decode(text)
    with _pointing_into(text, "query"):
        _one_language(text)
        query = parser(detect(text) if dialect == "auto" else dialect).parse(text)
        assert isinstance(query, ast.Query)
        scope.check(query)
    return query


def translated(text: str) -> str:
    """The text of a C-SPARQL query, translated to RSP-QL."""
    from rheos.syntax.translation import to_rspql
    from rheos.syntax.unparse import unparse

    query = parse(text, "csparql")
    with _pointing_into(query.text, "query"):
        return unparse(to_rspql(query))


def parse_update(text: str) -> Update:
    """The syntax tree of a SPARQL update, in the same way."""
    from rheos.syntax.update_tree import Modify, Update

    text = _decode(text)
    with _pointing_into(text, "update"):
        update = parser("update").parse(text)
        assert isinstance(update, Update)
        for step in update.steps:
            if isinstance(step.operation, Modify):
                scope.check_pattern(step.operation.where)
    return update


@contextmanager
def _pointing_into(text: str, expected: str) -> Iterator[None]:
    """A block in which every fault of the text becomes a `QuerySyntaxError`."""
    try:
        yield
    except Fault as fault:
        raise QuerySyntaxError(fault.message, text, fault.position) from None
    except UnexpectedInput as problem:
        found = kind.mistaken(text, expected) or explain.fault(problem, text, expected)
        raise QuerySyntaxError(found.message, text, found.position) from None
    except RecursionError:
        raise QuerySyntaxError(f"the {expected} is nested too deeply", text, Position(1, 1)) from None


def _one_language(text: str) -> None:
    """Refuse a text that mixes languages of streams. The grammar of one language would only say that it does
    not know the words of the other."""
    mixed = mixture(text)
    if mixed is not None:
        kinds, index = mixed
        raise Fault(f"this mixes {kinds}; a query has one kind only", explain.locate(text, index))


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
            where = explain.locate(text, escape.start())
            raise QuerySyntaxError(f"{escape[0]} is not a character", text, where)
        return chr(code)

    text = text.removeprefix("\ufeff")
    half = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    if half is not None:
        where = explain.locate(text, half.start())
        printable = text.encode(errors="replace").decode()
        raise QuerySyntaxError(f"U+{ord(half[0]):04X} is only half of a character", printable, where)
    return _CODEPOINT.sub(decoded, text) if "\\" in text else text
