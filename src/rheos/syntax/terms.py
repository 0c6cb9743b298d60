"""Reads tokens of names and literals as terms of the syntax tree, with their escapes decoded."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast
from rheos.terms import RDF, XSD


class Fault(Exception):
    """A mistake at a position in the text; `parse` adds the text and makes it a `QuerySyntaxError`."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def position(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


# PN_CHARS_BASE and PN_CHARS beyond ASCII (rules 164 and 167), as sorted bounds: between the first and the
# second bound characters are allowed, up to the third they are not, and so on.
_BASE = (
    (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D),
    (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD),
    (0x10000, 0xEFFFF),
)  # fmt: skip
_INNER = sorted([*_BASE, (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)])
_BASE_BOUNDS = tuple(chain.from_iterable((low, high + 1) for low, high in _BASE))
_INNER_BOUNDS = tuple(chain.from_iterable((low, high + 1) for low, high in _INNER))


def _check_name(name: str, token: Token, offset: int) -> None:
    """Refuse characters that no name may have: the terminals accept every character beyond ASCII."""
    if name.isascii():
        return
    for index, character in enumerate(name):
        bounds = _INNER_BOUNDS if index else _BASE_BOUNDS
        if not character.isascii() and bisect_right(bounds, ord(character)) % 2 == 0:
            line, column = token.line or 1, token.column or 1
            where = "in a name" if index else "at the start of a name"
            shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
            raise Fault(f"{shown} is not allowed {where}", Position(line, column + offset + index))


def variable(token: Token) -> ast.Var:
    name = token[1:]
    _check_name(name, token, 1)
    return ast.Var(position(token), name)


def iri(token: Token) -> ast.Iri:
    return ast.Iri(position(token), token[1:-1])


def prefix(token: Token) -> str:
    """The prefix of a token `prefix:`, without its colon."""
    name = token[:-1]
    _check_name(name, token, 0)
    return name


_LOCAL_ESCAPE = re.compile(r"\\(.)")


def prefixed_name(token: Token) -> ast.PrefixedName:
    name, _, local = token.partition(":")
    _check_name(name, token, 0)
    _check_name(local, token, len(name) + 1)
    if "\\" in local:
        local = _LOCAL_ESCAPE.sub(r"\1", local)
    return ast.PrefixedName(position(token), name, local)


def blank_node(token: Token) -> ast.BlankNode:
    label = token[2:]
    _check_name(label, token, 2)
    return ast.BlankNode(position(token), label)


_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def string(token: Token) -> str:
    """The text that a string in one or in three quotation marks stands for."""
    quotes = 3 if token.startswith(('"""', "'''")) else 1
    text = token[quotes:-quotes]
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
    return text


def typed(token: Token, datatype: str) -> ast.Literal:
    """A number or boolean of the short syntax; the keywords `true` and `false` come in any case."""
    where = position(token)
    lexical = token.lower() if datatype == "boolean" else str(token)
    return ast.Literal(where, lexical, ast.Iri(where, XSD + datatype))


def rdf(local: str, where: Position) -> ast.Iri:
    """A name of the RDF vocabulary, for which the text has an abbreviation."""
    return ast.Iri(where, RDF + local)
