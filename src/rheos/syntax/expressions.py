"""Builds the nodes of expressions and terms: the lower half of `Builder`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast, terms
from rheos.syntax.limits import MOST_OPERATORS
from rheos.syntax.terms import Fault, position

_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}


_ONE = (
    "ABS", "CEIL", "DATATYPE", "DAY", "ENCODE_FOR_URI", "FLOOR", "HOURS", "IRI", "ISBLANK", "ISIRI",
    "ISLITERAL", "ISNUMERIC", "ISURI", "LANG", "LCASE", "MD5", "MINUTES", "MONTH", "ROUND", "SECONDS",
    "SHA1", "SHA256", "SHA384", "SHA512", "STR", "STRLEN", "TIMEZONE", "TZ", "UCASE", "URI", "YEAR",
)  # fmt: skip
_TWO = (
    "ADJUST", "CONTAINS", "LANGMATCHES", "SAMETERM", "STRAFTER", "STRBEFORE", "STRDT", "STRENDS", "STRLANG",
    "STRSTARTS",
)  # fmt: skip
_ANY = 2**31


class ExpressionBuilder:
    """Builds expressions, and the terms that patterns share with them."""

    # The least and the most arguments of each built-in of rule 121; a dialect adds its own built-ins.
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

    _operator_count = 0  # operators in the text so far

    def _operation(self, where: Position, name: str, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        """A call of an operator or a built-in, which is counted; a Fault if there are too many."""
        self._count_operators(where, max(1, len(arguments) - 1))
        return ast.Call(where, name, arguments)

    def _count_operators(self, where: Position, more: int) -> None:
        self._operator_count += more
        if self._operator_count > MOST_OPERATORS:
            message = f"the text is too long: it has more than {MOST_OPERATORS} operators and arguments"
            raise Fault(message, where)

    # --- operators ---------------------------------------------------------------------------------

    def conditional_or_expression(self, first: ast.Expression, *rest: Any) -> ast.Call:
        return self._operation(first.position, "||", (first, *rest[1::2]))

    def conditional_and_expression(self, first: ast.Expression, *rest: Any) -> ast.Call:
        return self._operation(first.position, "&&", (first, *rest[1::2]))

    def binary(self, left: ast.Expression, operator: Token, right: ast.Expression) -> ast.Call:
        return self._operation(left.position, str(operator), (left, right))

    def unary(self, operator: Token, operand: ast.Expression) -> ast.Call:
        name = "!" if operator == "!" else f"unary{operator}"
        return self._operation(position(operator), name, (operand,))

    def add_signed(self, left: ast.Expression, product: ast.Expression) -> ast.Call:
        sign, right = _take_sign(product)
        return self._operation(left.position, sign, (left, right))

    def one_of(self, element: ast.Expression, options: tuple[ast.Expression, ...]) -> ast.Call:
        return self._listed(element, "IN", options)

    def none_of(self, element: ast.Expression, _: Token, options: tuple[ast.Expression, ...]) -> ast.Call:
        return self._listed(element, "NOT IN", options)

    def _listed(self, element: ast.Expression, name: str, options: tuple[ast.Expression, ...]) -> ast.Call:
        """A call of IN or NOT IN. Names and strings are not counted: they cost next to nothing, so a list of
        them may be long."""
        compared = sum(not _is_name_or_string(option) for option in options)
        self._count_operators(element.position, 1 + compared)
        return ast.Call(element.position, name, (element, *options))

    # --- calls -------------------------------------------------------------------------------------

    def call(self, name: Token, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        known = name.upper()
        least, most = self.ARITIES[known]
        if not least <= len(arguments) <= most:
            takes = "no arguments" if most == 0 else _enumerated(least, most)
            raise Fault(f"{known} takes {takes}, not {len(arguments)}", position(name))
        return self._operation(position(name), _SYNONYMS.get(known, known), arguments)

    def bound(self, name: Token, variable: ast.Var) -> ast.Call:
        return ast.Call(position(name), "BOUND", (variable,))

    def expression_list(self, *expressions: ast.Expression) -> tuple[ast.Expression, ...]:
        return expressions

    def function_call(
        self, function: ast.Name, arguments: tuple[bool, tuple[ast.Expression, ...]]
    ) -> ast.FunctionCall:
        distinct, expressions = arguments
        self._count_operators(function.position, 1 + len(expressions))
        return ast.FunctionCall(function.position, function, expressions, distinct)

    def arg_list(self, *parts: Any) -> tuple[bool, tuple[ast.Expression, ...]]:
        distinct = bool(parts) and isinstance(parts[0], Token)
        return distinct, parts[1:] if distinct else parts

    def exists(self, keyword: Token, pattern: ast.Group) -> ast.Exists:
        return ast.Exists(position(keyword), pattern, negated=False)

    def not_exists(self, keyword: Token, _: Token, pattern: ast.Group) -> ast.Exists:
        return ast.Exists(position(keyword), pattern, negated=True)

    def aggregate(self, name: Token, *parts: Any) -> ast.Aggregate:
        self._count_operators(position(name), 1)
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


def _is_name_or_string(option: ast.Expression) -> bool:
    if isinstance(option, ast.Literal):
        return option.datatype is None
    return isinstance(option, ast.Iri | ast.PrefixedName)


def _enumerated(least: int, most: int) -> str:
    numbers = str(least) if least == most else f"{least} or {most}"
    return f"{numbers} argument" if most == 1 else f"{numbers} arguments"


def _take_sign(product: ast.Expression) -> tuple[str, ast.Expression]:
    """Split `-1 * 2` into its sign and `1 * 2`. The sign is that of the number on the far left."""
    number, factors = product, []
    while isinstance(number, ast.Call):
        factors.append(number)
        number = number.arguments[0]
    assert isinstance(number, ast.Literal), product
    where = Position(number.position.line, number.position.column + 1)
    unsigned: ast.Expression = replace(number, position=where, lexical=number.lexical[1:])
    for factor in reversed(factors):
        unsigned = ast.Call(where, factor.name, (unsigned, factor.arguments[1]))
    return number.lexical[0], unsigned
