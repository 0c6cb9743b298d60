"""Expressions: compiles expressions of the algebra to SQL over the row around them.

The compiler of patterns calls `term` and `condition`. Both use `compiled`, which makes a typed value of an
expression by the functions; what is asked of the value decides which SQL is printed.
"""

from __future__ import annotations

from rheos.algebra.expressions import Call, Constant, Exists, Expression, Variable
from rheos.sql import comparisons
from rheos.sql.computed import BooleanValue
from rheos.sql.conditions import all_of, any_of
from rheos.sql.functions import FUNCTIONS
from rheos.sql.scope import Scope
from rheos.sql.values import ConstantValue, ErrorValue, NumberTermValue, ShortNumberValue, TermValue, Value
from rheos.sql.views import NULL


def term(expression: Expression, scope: Scope) -> str:
    """The SQL of the term that an expression gives; NULL for an unbound variable and for an error."""
    return compiled(expression, scope).term


def condition(expression: Expression, scope: Scope, *, strict: bool = True) -> str:
    """The SQL of the effective boolean value (17.2.2) of an expression; NULL for an error.

    Without `strict`, FALSE and NULL may stand for one another: enough for a FILTER or HAVING, which
    drop both, and shorter (`?x = "abc"` is one comparison of strings).
    """
    sql = _effective(expression, scope, strict)
    # Spark refuses a NULL without a type as a condition.
    return "CAST(NULL AS BOOLEAN)" if sql == NULL else sql


def _effective(expression: Expression, scope: Scope, strict: bool) -> str:
    if not strict:
        match expression:
            case Call("&&" | "||" as name, (left, right)):
                sides = [condition(side, scope, strict=False) for side in (left, right)]
                return all_of(sides) if name == "&&" else any_of(sides)
            case Call("=", (left, right)):
                return comparisons.equal(compiled(left, scope), compiled(right, scope), strict=False)
            case Call("<" | ">" | "<=" | ">=" as name, (left, right)):
                return comparisons.compare(name, compiled(left, scope), compiled(right, scope), strict=False)
            case Call("IN", (value, *members)):
                values = [compiled(member, scope) for member in members]
                return comparisons.within(compiled(value, scope), values, strict=False)
    return compiled(expression, scope).effective


def compiled(expression: Expression, scope: Scope) -> Value:
    match expression:
        case Variable(name):
            if name not in scope.values:
                scope.values[name] = _variable(name, scope)
            return scope.values[name]
        case Constant(value):
            return ConstantValue(scope, value)
        case Exists():
            return BooleanValue(scope, scope.exists(expression))
        case Call(name, arguments):
            values = [compiled(argument, scope) for argument in arguments]
            return FUNCTIONS[name](scope, *values)
    raise TypeError(f"not an expression: {expression!r}")


def _variable(name: str, scope: Scope) -> Value:
    column = scope.column(name)
    if column is None:
        return ErrorValue(scope)
    exact = scope.exact(name)
    if exact is not None:
        return ShortNumberValue(scope, column, *exact)
    return NumberTermValue(scope, column) if scope.is_number(name) else TermValue(scope, column)
