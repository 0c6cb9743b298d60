"""Logic, choice and comparison (17.4.1).

The three-valued AND, OR and NOT of SQL are those of SPARQL (17.2), with NULL for an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheos.sql import comparisons
from rheos.sql.computed import BooleanValue, NumberValue, TextValue
from rheos.sql.conditions import all_of, any_of, negated
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ConstantValue, ErrorValue, TermValue, Value
from rheos.sql.views import exact_number, grouped


def either(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, any_of([left.effective, right.effective]))


def both(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, all_of([left.effective, right.effective]))


def opposite(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, negated(value.effective))


def equal(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, comparisons.equal(left, right))


def unequal(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, negated(comparisons.equal(left, right)))


def less(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, comparisons.compare("<", left, right))


def greater(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, comparisons.compare(">", left, right))


def at_most(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, comparisons.compare("<=", left, right))


def at_least(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, comparisons.compare(">=", left, right))


def within(scope: Scope, value: Value, *members: Value) -> Value:
    return BooleanValue(scope, comparisons.within(value, list(members)))


def not_within(scope: Scope, value: Value, *members: Value) -> Value:
    return BooleanValue(scope, negated(comparisons.within(value, list(members))))


def same_term(scope: Scope, left: Value, right: Value) -> Value:
    return BooleanValue(scope, f"{grouped(left.term)} = {grouped(right.term)}")


def bound(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, f"{grouped(value.term)} IS NOT NULL")


def choice(scope: Scope, condition: Value, yes: Value, no: Value) -> Value:
    """IF (17.4.1.2)."""
    chosen = grouped(condition.effective)

    def pick(first: str, second: str) -> str:
        return f"CASE {chosen} WHEN TRUE THEN {first} WHEN FALSE THEN {second} END"

    match alike((yes, no)):
        case "boolean":
            return BooleanValue(scope, pick(yes.truth or "NULL", no.truth or "NULL"))
        case "number":
            assert yes.number is not None
            assert no.number is not None
            exact = pick(yes.number.exact or "NULL", no.number.exact or "NULL")
            return NumberValue(scope, exact_number(scope, yes.number.rank_known or 0, exact))
        case "simple":
            return TextValue(scope, pick(yes.simple or "NULL", no.simple or "NULL"))
    return TermValue(scope, pick(yes.term, no.term))


def first_of(scope: Scope, *values: Value) -> Value:
    """COALESCE (17.4.1.3)."""
    known = [value for value in values if not isinstance(value, ErrorValue)]
    if not known:
        return ErrorValue(scope)
    if len(known) == 1:
        return known[0]

    def pick(views: Sequence[str | None]) -> str:
        return f"COALESCE({', '.join(view or 'NULL' for view in views)})"

    match alike(known):
        case "boolean":
            return BooleanValue(scope, pick([value.truth for value in known]))
        case "number":
            rank = known[0].number.rank_known if known[0].number else None
            exact = pick([value.number.exact if value.number else None for value in known])
            return NumberValue(scope, exact_number(scope, rank or 0, exact))
        case "simple":
            return TextValue(scope, pick([value.simple for value in known]))
    return TermValue(scope, pick([value.term for value in known]))


def alike(values: Sequence[Value]) -> str | None:
    """The kind that all values are known to have ("boolean", "number" or "simple"), or None.

    If there is one, a choice between the values need not be a term. A constant must be in canonical form for
    that, because a choice must keep its lexical form.
    """
    if any(value.constant is not None and not _canonical(value) for value in values):
        return None
    if all(isinstance(value, BooleanValue | ConstantValue) and value.truth for value in values):
        return "boolean"
    if all(isinstance(value, TextValue | ConstantValue) and _simple(value) for value in values):
        return "simple"
    ranks = {value.number.rank_known if value.number else None for value in values}
    computed = all(isinstance(value, NumberValue) for value in values)
    exact = all(value.number is not None and value.number.is_exact for value in values)
    return "number" if computed and exact and len(ranks) == 1 else None


def _simple(value: Value) -> bool:
    return value.text is not None and value.text.suffix is None


def _canonical(value: Value) -> bool:
    return _simple(value) or (value.constant or "").startswith(('"true"^^', '"false"^^'))


FUNCTIONS: dict[str, Function] = {
    "||": either,
    "&&": both,
    "!": opposite,
    "=": equal,
    "!=": unequal,
    "<": less,
    ">": greater,
    "<=": at_most,
    ">=": at_least,
    "IN": within,
    "NOT IN": not_within,
    "SAMETERM": same_term,
    "BOUND": bound,
    "IF": choice,
    "COALESCE": first_of,
}
