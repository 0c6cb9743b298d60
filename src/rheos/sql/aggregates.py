"""Aggregates (18.5.1): a set function and its row come in, the SQL of its term over a group goes out.

What an aggregate needs of each row is shared as columns below the grouping. DISTINCT is by term, and
so is a column as well: the number of a row among the rows of its group with the same term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rheos.algebra.expressions import Aggregate
from rheos.sql import constants as c
from rheos.sql.computed import TextValue, integer
from rheos.sql.dialect import EXACT, FRACTION, Dialect
from rheos.sql.expressions import compiled
from rheos.sql.functions.numbers import quotient
from rheos.sql.lexical import number_term
from rheos.sql.ordering import of_value
from rheos.sql.scope import Scope
from rheos.sql.values import Value
from rheos.sql.views import NULL, Number, once

AND = " AND "

# Ten billion numbers below this have a sum that DECIMAL(38,18) can hold.
LARGE = 10**10


class Groups(Scope, Protocol):
    """The row of a group, above a grouping: what is shared there may use what is collected below it."""

    def collect(self, sql: str) -> str:
        """The column that holds an SQL aggregate, computed by the grouping."""


def aggregate(
    aggregate: Aggregate, scope: Scope, above: Groups, partition: Sequence[str], row: Sequence[str]
) -> str:
    """The SQL of an aggregate, to stand in a SELECT above the grouping by `partition`.

    `scope` is the row below the grouping; `row` has all its columns, which COUNT(DISTINCT *) compares.
    """
    if aggregate.argument is None:
        where = first_of_its_kind(scope, partition, row) if aggregate.distinct else None
        return integer(above, above.collect(f"count(*){_filter(where)}")).term
    value = compiled(aggregate.argument, scope)
    if aggregate.name in ("SUM", "AVG") and not aggregate.distinct:
        return number_term(total(value, above, scope, None, average=aggregate.name == "AVG"))
    term = once(scope, value.term)
    if aggregate.name == "COUNT":
        counted = f"count({'DISTINCT ' if aggregate.distinct else ''}{term})"
        return integer(above, above.collect(counted)).term
    where = f"{term} IS NOT NULL"
    if aggregate.distinct:
        where += f" AND {first_of_its_kind(scope, partition, [term])}"
    match aggregate.name:
        case "SUM" | "AVG" as name:
            return number_term(total(value, above, scope, where, average=name == "AVG"))
        case "MIN" | "MAX" as name:
            keys = [once(scope, key) for key in of_value(value)] or [term]
            chosen = above.collect(scope.dialect.first_by(term, [*keys, term], name == "MAX"))
            return f"CASE WHEN {no_errors(above, term)} THEN {chosen} END"
        case "SAMPLE":
            return above.collect(f"min({term})")
        case "GROUP_CONCAT":
            return joined(value, aggregate.separator, scope, above, where, term).term
    raise ValueError(f"no such aggregate: {aggregate.name}")


def no_errors(above: Groups, term: str) -> str:
    """Whether the argument was an error, or unbound, in no row of a group: one is enough to make an error of
    all aggregates but COUNT and SAMPLE, for ListEval (18.5.1) keeps errors and only those two drop them."""
    return f"{above.collect(f'count(*) FILTER (WHERE {term} IS NULL)')} = 0"


def _filter(where: str | None) -> str:
    return f" FILTER (WHERE {where})" if where else ""


def first_of_its_kind(scope: Scope, partition: Sequence[str], columns: Sequence[str]) -> str:
    """Whether a row is the first of its group with the same values in some columns."""
    by = ", ".join([*partition, *columns]) or "1"
    number = scope.share(f"row_number() OVER (PARTITION BY {by} ORDER BY {columns[0] if columns else '1'})")
    return f"{number} = 1"


def total(value: Value, above: Groups, scope: Scope, where: str | None, *, average: bool) -> Number:
    """SUM or AVG (18.5.1.3, 18.5.1.4): 0 for no rows; an error where one row is an error or no number."""
    number = value.number
    d = scope.dialect
    if number is None:
        # Whatever rows there are, they are errors.
        rows = above.collect("count(*)")
        return Number(above, c.RANK_INTEGER, lambda: f"CASE WHEN {rows} = 0 THEN CAST(0 AS {EXACT}) END")
    each = once(scope, number.exact or NULL)
    floating = once(scope, number.floating)
    # Of a number that is too long for DECIMAL no exact value is known: an error, as on overflow.
    missing = [f"{part} IS NULL" for part in (each, floating) if part != NULL]
    sound = f"{above.collect(f'count(*) FILTER (WHERE {AND.join(missing)})')} = 0"
    count = above.collect(f"count(*){_filter(where)}")

    def exact() -> str:
        result = exact_sum(scope.dialect, above, each, where) if each != NULL else f"CAST(0 AS {EXACT})"
        if average:
            result = quotient(above, result, f"CAST(greatest({count}, 1) AS {EXACT})")
        return f"CASE WHEN {sound} THEN {result} END"

    def approx() -> str:
        summed = f"COALESCE({above.collect(f'sum({floating}){_filter(where)}')}, 0)"
        if each != NULL:
            summed += f" + {d.to_double(exact_sum(d, above, each, where))}"
        return f"CASE WHEN {sound} THEN {f'({summed}) / greatest({count}, 1)' if average else summed} END"

    if number.rank_known == c.RANK_INTEGER and not average:
        return Number(above, c.RANK_INTEGER, exact)
    rank: int | str = number.rank if isinstance(number.rank, int) else once(scope, number.rank)
    widest = f"COALESCE({above.collect(f'bit_or({rank}){_filter(where)}')}, {c.RANK_INTEGER})"
    if average:
        widest = f"CASE WHEN {count} = 0 THEN {c.RANK_INTEGER} ELSE {widest} | {c.RANK_DECIMAL} END"
    return Number(above, lambda: once(above, widest), exact, approx, rounded=False)


def exact_sum(d: Dialect, above: Groups, each: str, where: str | None) -> str:
    """A sum that cannot overflow before its end: large numbers are added by whole parts and fractions."""
    whole = d.whole_part(each)
    sums = (
        f"CASE WHEN abs({each}) < {LARGE} THEN {each} END",
        f"CASE WHEN abs({each}) >= {LARGE} THEN {whole} END",
        f"CASE WHEN abs({each}) >= {LARGE} THEN CAST({each} - {whole} AS {FRACTION}) END",
    )
    small, wholes, parts = (
        d.try_cast(f"COALESCE({above.collect(f'sum({summed}){_filter(where)}')}, 0)", EXACT)
        for summed in sums
    )
    return d.add(small, d.add(wholes, parts))


def joined(value: Value, separator: str, scope: Scope, above: Groups, where: str, term: str) -> TextValue:
    """GROUP_CONCAT (18.5.1.7) of what STR gives, in the order of the terms: SPARQL leaves it free."""
    text = once(scope, value.string)
    found = above.collect(scope.dialect.join_texts(text, separator, term, where))
    return TextValue(above, f"CASE WHEN {no_errors(above, text)} THEN COALESCE({found}, '') END")
