"""Whether two engines gave the same answer to a random query; the reason, where they did not."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import pyoxigraph as ox

from tests.conformance.answers import Answer
from tests.conformance.matching import (
    DERIVED_INTEGERS,
    XSD,
    Cell,
    Row,
    Term,
    difference,
    exact,
    make_rows,
    same_rows,
)

from .queries import Trial

DIGITS = {XSD + "decimal": 12, XSD + "double": 11, XSD + "float": 5}


def loose(term: Term) -> Cell:
    """A term with numbers by value, to the digits that two engines can be expected to share.

    Derived integers count as integers, because pyoxigraph does not keep them apart.
    """
    if isinstance(term, ox.Literal):
        datatype = term.datatype.value
        try:
            if datatype == XSD + "integer" or datatype in DERIVED_INTEGERS:
                return (XSD + "integer", int(term.value))
            if datatype in DIGITS:
                return (datatype, rounded(term.value, DIGITS[datatype]))
        except (ValueError, InvalidOperation):
            pass
    return exact(term)


def rounded(text: str, digits: int) -> str:
    if text.lstrip("+-") in ("INF", "NaN"):
        return text.lstrip("+")
    value = Decimal(text)
    return "0" if value == 0 else f"{value:.{digits - 1}e}"


def rows_of(answer: Answer) -> list[Row]:
    if answer.kind == "construct":
        rows = [(loose(t.subject), loose(t.predicate), loose(t.object)) for t in answer.triples]
        return list(dict.fromkeys(rows))
    return make_rows(answer.rows, sorted(answer.variables), loose)


def complaint(trial: Trial, expected: Answer, actual: Answer) -> str | None:
    """What is wrong with `actual`, or None."""
    if expected.kind != actual.kind:
        return f"expected {expected.kind}, got {actual.kind}"
    if expected.kind == "ask":
        return None if expected.boolean == actual.boolean else f"expected {expected.boolean}"
    if set(expected.variables) != set(actual.variables):
        return f"expected the variables {sorted(expected.variables)}, got {sorted(actual.variables)}"
    left, right = rows_of(expected), rows_of(actual)
    if trial.count_only:
        return None if len(left) == len(right) else f"expected {len(left)} rows, got {len(right)}"
    if not same_rows(left, right, as_sets=trial.as_sets):
        return difference(left, right)
    return disorder(trial, actual)


# --- order -----------------------------------------------------------------------------------------


def disorder(trial: Trial, answer: Answer) -> str | None:
    """Two neighbours in the wrong order, as far as section 15.1 orders them."""
    for before, after in zip(answer.rows, answer.rows[1:], strict=False):
        for name, descending in trial.order:
            direction = compare(before.get(name), after.get(name))
            if direction == 0:
                continue
            if direction is not None and (direction > 0) != descending:
                return f"out of order by ?{name}: {before.get(name)} before {after.get(name)}"
            break
    return None


def compare(left: Term | None, right: Term | None) -> int | None:
    """-1, 0, 1 as `left` comes before, with or after `right`; None where that is left open."""
    ranks = rank(left), rank(right)
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    if isinstance(left, ox.NamedNode) and isinstance(right, ox.NamedNode):
        return sign(left.value, right.value)
    if isinstance(left, ox.Literal) and isinstance(right, ox.Literal):
        if left == right:
            return 0
        if left.datatype == right.datatype and left.datatype.value == XSD + "string":
            return sign(left.value, right.value)
        values = value(left), value(right)
        if values[0] is not None and values[1] is not None:
            return sign(*values)
        return None
    return 0 if left is None else None


def rank(term: Term | None) -> int:
    kinds = (type(None), ox.BlankNode, ox.NamedNode, ox.Literal)
    return kinds.index(type(term))


def sign(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


def value(literal: ox.Literal) -> Decimal | None:
    datatype = literal.datatype.value
    if datatype not in DIGITS and datatype != XSD + "integer" and datatype not in DERIVED_INTEGERS:
        return None
    try:
        number = Decimal(literal.value.replace("INF", "Infinity"))
    except InvalidOperation:
        return None
    return None if number.is_nan() else number
