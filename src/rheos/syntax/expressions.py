"""The reductions of expressions and terms come in, their nodes go out: the lower half of `Builder`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast, terms
from rheos.syntax.terms import Fault, position

_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}


_ONE = (
    "ABS", "CEIL", "DATATYPE", "DAY", "ENCODE_FOR_URI", "FLOOR", "HOURS", "IRI", "ISBLANK", "ISIRI",
    "ISLITERAL", "ISNUMERIC", "ISURI", "LANG", "LCASE", "MD5", "MINUTES", "MONTH", "ROUND", "SECONDS",
    "SHA1", "SHA256", "SHA384", "SHA512", "STR", "STRLEN", "TIMEZONE", "TZ", "UCASE", "URI", "YEAR",
)  # fmt: skip
_TWO = (
    "CONTAINS", "LANGMATCHES", "SAMETERM", "STRAFTER", "STRBEFORE", "STRDT", "STRENDS", "STRLANG",
    "STRSTARTS",
)  # fmt: skip
_ANY = 2**31


class ExpressionBuilder:
    """Expressions, and the terms that patterns share with them."""

    # The least and the most arguments of each built-in of rule 121; a dialect adds its own.
    ARITIES: ClassVar[dict[str, tuple[int, int]]] = {
        **dict.fromkeys(("NOW", "RAND", "STRUUID", "UUID"), (0, 0)),
        **dict.fromkeys(_ONE, (1, 1)),
        **dict.fromkeys(_TWO, (2, 2)),
        "BNODE": (0, 1),
        "COALESCE": (0, _ANY),
        "CONCAT": (0, _ANY),
        "IF": (3, 3),
        "REGEX": (2, 3),
        "REPLACE": (3, 4),
        "SUBSTR": (2, 3),
    }

    # --- operators ---------------------------------------------------------------------------------

    def binary(self, left: ast.Expression, operator: Token, right: ast.Expression) -> ast.Call:
        return ast.Call(left.position, str(operator), (left, right))

    def unary(self, operator: Token, operand: ast.Expression) -> ast.Call:
        name = "!" if operator == "!" else f"unary{operator}"
        return ast.Call(position(operator), name, (operand,))

    def add_signed(self, left: ast.Expression, product: ast.Expression) -> ast.Call:
        sign, right = _take_sign(product)
        return ast.Call(left.position, sign, (left, right))

    def one_of(self, element: ast.Expression, options: tuple[ast.Expression, ...]) -> ast.Call:
        return ast.Call(element.position, "IN", (element, *options))

    def none_of(self, element: ast.Expression, _: Token, options: tuple[ast.Expression, ...]) -> ast.Call:
        return ast.Call(element.position, "NOT IN", (element, *options))

    # --- calls -------------------------------------------------------------------------------------

    def call(self, name: Token, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        known = name.upper()
        least, most = self.ARITIES[known]
        if not least <= len(arguments) <= most:
            takes = "no arguments" if most == 0 else _enumerated(least, most)
            raise Fault(f"{known} takes {takes}, not {len(arguments)}", position(name))
        return ast.Call(position(name), _SYNONYMS.get(known, known), arguments)

    def bound(self, name: Token, variable: ast.Var) -> ast.Call:
        return ast.Call(position(name), "BOUND", (variable,))

    def expression_list(self, *expressions: ast.Expression) -> tuple[ast.Expression, ...]:
        return expressions

    def function_call(
        self, function: ast.Name, arguments: tuple[bool, tuple[ast.Expression, ...]]
    ) -> ast.FunctionCall:
        distinct, expressions = arguments
        return ast.FunctionCall(function.position, function, expressions, distinct)

    def arg_list(self, *parts: Any) -> tuple[bool, tuple[ast.Expression, ...]]:
        distinct = bool(parts) and isinstance(parts[0], Token)
        return distinct, parts[1:] if distinct else parts

    def exists(self, keyword: Token, pattern: ast.Group) -> ast.Exists:
        return ast.Exists(position(keyword), pattern, negated=False)

    def not_exists(self, keyword: Token, _: Token, pattern: ast.Group) -> ast.Exists:
        return ast.Exists(position(keyword), pattern, negated=True)

    def aggregate(self, name: Token, *parts: Any) -> ast.Aggregate:
        *distinct, argument = parts
        star = isinstance(argument, Token)
        return ast.Aggregate(position(name), name.upper(), None if star else argument, bool(distinct))

    def group_concat(self, name: Token, *parts: Any) -> ast.Aggregate:
        distinct = isinstance(parts[0], Token)
        argument, *separator = parts[1:] if distinct else parts
        return ast.Aggregate(
            position(name), name.upper(), argument, distinct, separator[0] if separator else None
        )

    # --- terms -------------------------------------------------------------------------------------

    def var(self, token: Token) -> ast.Var:
        return terms.variable(token)

    def iriref(self, token: Token) -> ast.Iri:
        return terms.iri(token)

    def prefixed_name(self, token: Token) -> ast.PrefixedName:
        return terms.prefixed_name(token)

    def plain_literal(self, token: Token) -> ast.Literal:
        return ast.Literal(position(token), terms.string(token))

    def language_literal(self, token: Token, language: Token) -> ast.Literal:
        return ast.Literal(position(token), terms.string(token), language=language[1:])

    def typed_literal(self, token: Token, datatype: ast.Name) -> ast.Literal:
        return ast.Literal(position(token), terms.string(token), datatype)

    def string(self, token: Token) -> str:
        return terms.string(token)

    def integer(self, token: Token) -> ast.Literal:
        return terms.typed(token, "integer")

    def decimal(self, token: Token) -> ast.Literal:
        return terms.typed(token, "decimal")

    def double(self, token: Token) -> ast.Literal:
        return terms.typed(token, "double")

    def boolean_literal(self, token: Token) -> ast.Literal:
        return terms.typed(token, "boolean")


def _enumerated(least: int, most: int) -> str:
    numbers = str(least) if least == most else f"{least} or {most}"
    return f"{numbers} argument" if most == 1 else f"{numbers} arguments"


def _take_sign(product: ast.Expression) -> tuple[str, ast.Expression]:
    """`-1 * 2` as its sign and `1 * 2`: the sign is that of the number on the far left."""
    match product:
        case ast.Literal(where, lexical):
            moved = Position(where.line, where.column + 1)
            return lexical[0], replace(product, position=moved, lexical=lexical[1:])
        case ast.Call(_, name, (left, right)):
            sign, unsigned = _take_sign(left)
            return sign, ast.Call(unsigned.position, name, (unsigned, right))
    raise AssertionError(f"no number at the left of {product}")
