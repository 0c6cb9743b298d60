"""The text of a query comes in, its syntax tree goes out, or a `QuerySyntaxError` that points into it."""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from rheos.errors import Position, QuerySyntaxError
from rheos.syntax import ast
from rheos.syntax.grammar import parser
from rheos.syntax.terms import Fault


def parse(text: str, dialect: str = "sparql") -> ast.Query:
    """The syntax tree of a query."""
    try:
        return parser(dialect).parse(text)
    except Fault as fault:
        raise QuerySyntaxError(fault.message, text, fault.position) from None
    except UnexpectedInput as problem:
        raise QuerySyntaxError(str(problem), text, Position(problem.line, problem.column)) from None
