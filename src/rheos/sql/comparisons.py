"""Comparison of values (17.3, 17.4.1.7) as SQL that is a boolean.

Each kind of value has its own comparison, which is NULL unless both sides are of that kind; COALESCE takes
the first that is not NULL. Kinds that are impossible when the query is compiled are not printed.

`=` of literals of different known kinds (`"abc" = 5`) is false. SPARQL allows that instead of the type error
(17.3.1), and the W3C tests demand it of `"abc"@en = 5` (open-eq-10). `=` is an error if the value of a
literal is not known (another datatype, or ill-formed) and the other side is a different literal.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rheos.sql import decode
from rheos.sql import durations as of_durations
from rheos.sql.computed import BooleanValue, NumberValue, TextValue
from rheos.sql.conditions import FALSE, TRUE, all_of, any_of, negated
from rheos.sql.temporal import DurationValue
from rheos.sql.values import ConstantValue, TermValue, Value
from rheos.sql.views import NULL, Bare, Moment, TermNumber, once

FOURTEEN_HOURS = 14 * 3600 * 1_000_000


def coalesce(branches: list[str]) -> str:
    if len(branches) == 1:
        return branches[0]
    return f"COALESCE({', '.join(branches)})" if branches else NULL


def compare(operator: str, left: Value, right: Value, *, strict: bool = True) -> str:
    """`<`, `>`, `<=` or `>=`. Without `strict`, NULL may stand for FALSE."""
    branches = numbers(operator, left, right)
    if left.simple is not None and right.simple is not None:
        branches.append(f"{left.simple} {operator} {right.simple}")
    branches += truths(operator, left, right)
    branches += moments(operator, left, right, strict=strict)
    branches += durations(operator, left, right, strict=strict)
    return coalesce(branches)


def equal(left: Value, right: Value, *, strict: bool = True) -> str:
    """`=`. Without `strict`, NULL may stand for FALSE: enough for a filter, and much shorter SQL."""
    if left.constant is not None and right.constant is None:
        left, right = right, left
    if left.is_constant is not None and right.constant is not None and _by_term(right):
        alike = isinstance(left, TextValue) == (right.constant[0] == '"') and right.constant[-1] in '">'
        if alike:
            return left.is_constant(right.constant[1:-1])
    if isinstance(left, TermValue) and right.literal is False:
        return f"{left.term} = {right.term}"
    both_simple = left.text and right.text and left.text.suffix is None and right.text.suffix is None
    if both_simple:
        return f"{left.simple} = {right.simple}"
    branches = numbers("=", left, right) + truths("=", left, right)
    branches += moments("=", left, right, strict=strict) + durations("=", left, right, strict=strict)
    for value, other in ((left, right), (right, left)):
        if isinstance(value, NumberValue | BooleanValue | DurationValue):
            return coalesce(branches + unlike(value, other, strict=strict))
    if strict or not _by_value(right):
        branches.append(same_term(left, right, strict=strict))
    return coalesce(branches)


def unlike(value: NumberValue | BooleanValue | DurationValue, other: Value, *, strict: bool) -> list[str]:
    """`=` of a computed number, boolean or duration and a value of another kind.

    That is false, or an error if the other value is opaque.
    """
    if not strict or isinstance(other, type(value)):
        return []
    if isinstance(value, DurationValue):
        defined = f"{value.duration.micros} IS NOT NULL"
    else:
        defined = value.number.present if value.number else f"({value.truth}) IS NOT NULL"
    known = all_of([negated(other.opaque), defined, f"{other.term} IS NOT NULL"])
    return [f"CASE WHEN {known} THEN FALSE END"]


def same_term(left: Value, right: Value, *, strict: bool) -> str:
    """RDFterm-equal (17.4.1.7), for terms that the comparisons by value have not decided."""
    same = f"{left.term} = {right.term}"
    if not strict:
        return same
    errors = []
    for value, other in ((left, right), (right, left)):
        plain = plain_literal(other)
        if value.opaque != FALSE and plain != FALSE:
            errors.append(all_of([brief(value.opaque, left, right), brief(plain, left, right)]))
    if left.moment and right.moment and left.moment.kind != right.moment.kind:
        kinds = (brief(str(moment.kind), left, right) for moment in (left.moment, right.moment))
        errors.append(" = ".join(kinds))
    elif left.moment and right.moment:
        errors.append(TRUE)
    if isinstance(left, TermValue) and _by_value(right):
        # Equal terms would have equal values, and then the comparison by value would have been true.
        failing = f"WHEN {any_of(errors)} THEN NULL " if errors else ""
        return once(left.scope, f"CASE {failing}WHEN {left.term} IS NOT NULL THEN FALSE END")
    if not errors:
        return same
    return f"CASE WHEN {any_of(errors)} THEN NULLIF({same}, FALSE) ELSE {same} END"


def plain_literal(value: Value) -> str:
    """The condition that a value is a literal without a language tag."""
    if isinstance(value, TermValue):
        d = value.dialect
        term = once(value.scope, value.term)
        return any_of([decode.is_simple(d, term), decode.is_typed(d, term)])
    if value.literal is False or value.tagged == TRUE:
        return FALSE
    return negated(value.tagged)


def brief(sql: str, left: Value, right: Value) -> str:
    """SQL about one side of a comparison, as a shared column if both sides are variables.

    A comparison of two variables may be of any kind. So it is long, and a join evaluates it for each pair of
    rows.
    """
    both = isinstance(left, TermValue) and isinstance(right, TermValue)
    return once(left.scope, sql) if both and sql not in (TRUE, FALSE) else sql


# --- by kind -------------------------------------------------------------------------------------


def numbers(operator: str, left: Value, right: Value) -> list[str]:
    a, b = left.number, right.number
    if a is None or b is None:
        return []
    branches = []
    if a.exact is not None and b.exact is not None:
        branches.append(f"{a.exact} {operator} {b.exact}")
    if a.is_exact and b.is_exact and not _too_long(left) and not _too_long(right):
        return branches
    # If one side is always exact, the doubles are compared only in rows in which the other side is not exact.
    x = a.inexact if isinstance(a, TermNumber) and b.is_exact and not _too_long(right) else a.observed
    y = b.inexact if isinstance(b, TermNumber) and a.is_exact and not _too_long(left) else b.observed
    return [*branches, _doubles(operator, left, right, x, y)]


def truths(operator: str, left: Value, right: Value) -> list[str]:
    if left.truth is None or right.truth is None:
        return []
    return [f"{brief(left.truth, left, right)} {operator} {brief(right.truth, left, right)}"]


def _doubles(operator: str, left: Value, right: Value, x: str, y: str) -> str:
    """A comparison of doubles in which no comparison with NaN is true.

    Both engines say that NaN equals NaN and is greater than all other numbers.
    """
    if operator in ("<", "<="):
        operator, left, right, x, y = {"<": ">", "<=": ">="}[operator], right, left, y, x
    if _never_nan(left) or (operator == "=" and _never_nan(right)):
        return f"{x} {operator} {y}"
    if isinstance(right, ConstantValue) and right.approx is not None and not right.is_nan:
        # BETWEEN excludes NaN, which is above infinity, and the left side is printed and computed only once.
        least = right.approx if operator == ">=" else math.nextafter(right.approx, math.inf)
        d = left.dialect
        return f"{x} BETWEEN {d.double(least)} AND {d.double(math.inf)}"
    x = once(left.scope, x)
    return f"({x} {operator} {y} AND NOT isnan({x}))"


def _never_nan(value: Value) -> bool:
    if isinstance(value, ConstantValue):
        return not value.is_nan
    return value.number is not None and value.number.is_exact


def _too_long(value: Value) -> bool:
    """A constant with more digits than DECIMAL(37,18) has."""
    return isinstance(value, ConstantValue) and value.number is not None and value.number.exact is None


def moments(operator: str, left: Value, right: Value, *, strict: bool = True) -> list[str]:
    if not (left.may_be_moment and right.may_be_moment):
        return []
    a, b = _moment_beside(left, right), _moment_beside(right, left)
    if a is None or b is None:
        return []
    if isinstance(a.kind, int) and isinstance(b.kind, int) and a.kind != b.kind:
        return []
    a, b = (_brief_moment(side, left, right) for side in (a, b))
    if strict or not (a.bare or b.bare):
        return [_of_one_kind(operator, a, b)]
    plain = (replace(side, micros=side.bare.sql) if side.bare else side for side in (a, b))
    return [_beside(_of_one_kind(operator, *plain), a.bare, b.bare)]


def _brief_moment(moment: Moment, left: Value, right: Value) -> Moment:
    kind = moment.kind if isinstance(moment.kind, int) else brief(moment.kind, left, right)
    zoned = moment.zoned if isinstance(moment.zoned, bool) else brief(moment.zoned, left, right)
    return replace(moment, kind=kind, zoned=zoned)


def _of_one_kind(operator: str, a: Moment, b: Moment) -> str:
    test = _moment(operator, a, b)
    known = isinstance(a.kind, int) and isinstance(b.kind, int)
    return test if known else f"CASE WHEN {a.kind} = {b.kind} THEN {test} END"


def _beside(test: str, *bare: Bare | None) -> str:
    """A test of values AND the conditions under which these values are meaningful: enough for a filter."""
    return all_of(dict.fromkeys((test, *(side.where for side in bare if side))))


def _moment_beside(value: Value, other: Value) -> Moment | None:
    """The moment of a value. If the kind of the other side is known, only this kind is looked for."""
    if isinstance(value, TermValue) and not isinstance(other, TermValue):
        known = other.moment
        if known is None or isinstance(known.kind, int):
            return known and value.moment_of(int(known.kind))
    return value.moment


def _moment(operator: str, a: Moment, b: Moment) -> str:
    """The comparison of two moments of the same kind.

    XSD 1.1, 3.3.7: a moment with a zone and one without cannot be compared if they are less than fourteen
    hours apart.
    """
    same = f"{a.micros} {operator} {b.micros}"
    if isinstance(a.zoned, bool) and isinstance(b.zoned, bool):
        zones = TRUE if a.zoned == b.zoned else FALSE
    elif isinstance(b.zoned, bool):
        zones = str(a.zoned) if b.zoned else negated(str(a.zoned))
    elif isinstance(a.zoned, bool):
        zones = b.zoned if a.zoned else negated(b.zoned)
    else:
        zones = f"{a.zoned} = {b.zoned}"
    if zones == TRUE:
        return same
    before, after = str(operator[0] == "<").upper(), str(operator[0] == ">").upper()
    return (
        f"CASE WHEN {zones} THEN {same}"
        f" WHEN {a.micros} < {b.micros} - {FOURTEEN_HOURS} THEN {before}"
        f" WHEN {a.micros} > {b.micros} + {FOURTEEN_HOURS} THEN {after} END"
    )


def durations(operator: str, left: Value, right: Value, *, strict: bool = True) -> list[str]:
    if not (left.may_be_duration and right.may_be_duration):
        return []
    a, b = left.duration, right.duration
    if a is None or b is None:
        return []
    bare = () if strict else (a.bare, b.bare)
    if any(bare):
        a, b = (replace(side, micros=side.bare.sql) if side.bare else side for side in (a, b))
    if operator == "=":
        test = of_durations.equal(a, b)
    else:
        test = of_durations.compare(left.scope, operator, a, b, strict=strict)
    return [_beside(test, *bare) if any(bare) else test]


def within(value: Value, members: list[Value], *, strict: bool = True) -> str:
    """IN (17.4.1.9): `=` with each member; each of these may be an error."""
    if not members:
        return FALSE
    alike = [member for member in members if member.constant is not None and _by_term(member)]
    tests = [equal(value, member, strict=strict) for member in members if member not in alike]
    if alike and isinstance(value, TermValue):
        listed = ", ".join(member.term for member in alike)
        test = f"{value.term} IN ({listed})"
        if strict and any(member.literal and member.tagged == FALSE for member in alike):
            test = f"CASE WHEN {value.opaque} THEN NULL ELSE {test} END"
        tests.append(test)
    else:
        tests += [equal(value, member, strict=strict) for member in alike]
    return any_of(tests)


def _by_value(value: Value) -> bool:
    """Whether a value is a constant of a kind that is compared by value: it can be equal to other terms."""
    known = value.number or value.truth or value.moment or value.duration
    return value.constant is not None and known is not None


def _by_term(member: Value) -> bool:
    """Whether a constant is equal only to the same term: it is an IRI or a string."""
    return not member.literal or member.text is not None
