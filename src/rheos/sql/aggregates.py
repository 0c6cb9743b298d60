"""Aggregates (18.5.1): the SQL of a set function over a group.

What an aggregate reads of each row becomes shared columns below the grouping. DISTINCT compares terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rheos.algebra import literals as c
from rheos.algebra.expressions import Aggregate
from rheos.sql.collected import Collected, bits, count, double_total, exact_total, first_by, least, texts
from rheos.sql.computed import TextValue, integer
from rheos.sql.conditions import TRUE, all_of
from rheos.sql.dialect import EXACT, FRACTION, Dialect
from rheos.sql.expressions import compiled
from rheos.sql.functions.numbers import quotient
from rheos.sql.lexical import number_term
from rheos.sql.ordering import of_value
from rheos.sql.scope import Scope
from rheos.sql.values import ShortNumberValue, Value
from rheos.sql.views import NULL, Number, once

# Ten billion numbers below this have a sum that DECIMAL(38,18) can hold.
LARGE = 10**10


class Groups(Scope, Protocol):
    """The scope above a grouping: its rows are groups, and shared columns may read collected aggregates."""

    @property
    def never_empty(self) -> bool:
        """Whether every group has at least one row."""

    def collect(
        self, item: Collected, where: str | None = None, distinct: Sequence[str] | None = None
    ) -> str:
        """The column of an aggregate over the rows of a group for which `where` holds.

        Of rows with the same values in the columns `distinct`, only one counts.
        """


@dataclass(frozen=True)
class Choice:
    """The rows of a group that an aggregate is over: the arguments of `Groups.collect`."""

    above: Groups
    where: str | None = None
    distinct: Sequence[str] | None = None

    def collect(self, item: Collected) -> str:
        return self.above.collect(item, self.where, self.distinct)


def aggregate(aggregate: Aggregate, scope: Scope, above: Groups, variables: Sequence[str]) -> str:
    """The SQL of an aggregate, to stand in a SELECT above a grouping.

    `scope` is the row below the grouping; `variables` are all its variables, for COUNT(DISTINCT *).
    """
    if aggregate.argument is None:
        row = [column for name in variables if (column := scope.column(name)) is not None]
        return integer(above, above.collect(count(), None, row if aggregate.distinct else None)).term
    value = compiled(aggregate.argument, scope)
    if aggregate.name in ("SUM", "AVG") and not aggregate.distinct:
        return number_term(total(value, Choice(above), scope, average=aggregate.name == "AVG"))
    term = once(scope, value.term)
    if aggregate.name == "COUNT":
        return integer(above, above.collect(count(term), None, [term] if aggregate.distinct else None)).term
    if aggregate.name in ("FIRST", "LAST"):
        # These are aggregates of a run, in which no two solutions end together. An unbound value counts, too:
        # the empty string, which is no term, stands for it.
        assert scope.interval is not None
        ends = [once(scope, scope.interval[1])]
        found = above.collect(
            first_by(scope.dialect, f"COALESCE({term}, '')", ends, aggregate.name == "LAST")
        )
        return f"NULLIF({found}, '')"
    chosen = Choice(above, f"{term} IS NOT NULL", [term] if aggregate.distinct else None)
    match aggregate.name:
        case "SUM" | "AVG" as name:
            return number_term(total(value, chosen, scope, average=name == "AVG"))
        case "MIN" | "MAX" as name:
            keys = [once(scope, key) for key in of_value(value)] or [term]
            extreme = above.collect(first_by(scope.dialect, term, [*keys, term], name == "MAX"))
            return f"CASE WHEN {no_errors(above, term)} THEN {extreme} END"
        case "SAMPLE":
            return above.collect(least(term))
        case "GROUP_CONCAT":
            return joined(value, aggregate.separator, scope, chosen, term).term
    raise ValueError(f"no such aggregate: {aggregate.name}")


def no_errors(above: Groups, term: str) -> str:
    """The condition that the argument is an error, or unbound, in no row of a group.

    One such row makes every aggregate but COUNT and SAMPLE an error: ListEval (18.5.1) keeps errors, and only
    these two drop them.
    """
    return f"{above.collect(count(), f'{term} IS NULL')} = 0"


def total(value: Value, chosen: Choice, scope: Scope, *, average: bool) -> Number:
    """SUM or AVG (18.5.1.3, 18.5.1.4): 0 for no rows; an error if one row is an error or not a number."""
    number = value.number
    d, above = scope.dialect, chosen.above
    if number is None:
        # The argument is never a number, so every row is an error.
        rows = above.collect(count())
        return Number(above, c.RANK_INTEGER, lambda: f"CASE WHEN {rows} = 0 THEN CAST(0 AS {EXACT}) END")
    short = isinstance(value, ShortNumberValue)
    each = once(scope, number.exact or NULL)
    floating = once(scope, number.floating)
    # A number with too many digits for DECIMAL has no exact value: an error, as an overflow is.
    missing = [f"{part} IS NULL" for part in (each, floating) if part != NULL]
    sound = TRUE if short else f"{above.collect(count(), all_of(missing))} = 0"
    rows = chosen.collect(count())

    def exact() -> str:
        result = exact_sum(d, chosen, each, short=short) if each != NULL else f"CAST(0 AS {EXACT})"
        if average:
            result = quotient(above, result, f"CAST(greatest({rows}, 1) AS {EXACT})")
        return result if sound == TRUE else f"CASE WHEN {sound} THEN {result} END"

    def approx() -> str:
        summed = f"COALESCE({chosen.collect(double_total(d, floating))}, 0)"
        if each != NULL:
            summed += f" + {d.to_double(exact_sum(d, chosen, each, short=short))}"
        return f"CASE WHEN {sound} THEN {f'({summed}) / greatest({rows}, 1)' if average else summed} END"

    if number.rank_known == c.RANK_INTEGER and not average:
        return Number(above, c.RANK_INTEGER, exact)
    if short and number.rank_known is not None and above.never_empty:
        return Number(above, c.RANK_DECIMAL if average else number.rank_known, exact)
    rank = str(number.rank) if isinstance(number.rank, int) else once(scope, number.rank)
    widest = f"COALESCE({chosen.collect(bits(rank))}, {c.RANK_INTEGER})"
    if average:
        widest = f"CASE WHEN {rows} = 0 THEN {c.RANK_INTEGER} ELSE {widest} | {c.RANK_DECIMAL} END"
    return Number(above, lambda: once(above, widest), exact, approx, rounded=False)


def exact_sum(d: Dialect, chosen: Choice, each: str, *, short: bool) -> str:
    """A sum that cannot overflow on the way: whole parts and fractions of large numbers are added apart."""
    if short:
        return d.try_cast(f"COALESCE({chosen.collect(exact_total(each))}, 0)", EXACT)
    whole = d.whole_part(each)
    sums = (
        f"CASE WHEN abs({each}) < {LARGE} THEN {each} END",
        f"CASE WHEN abs({each}) >= {LARGE} THEN {whole} END",
        f"CASE WHEN abs({each}) >= {LARGE} THEN CAST({each} - {whole} AS {FRACTION}) END",
    )
    small, wholes, parts = (
        d.try_cast(f"COALESCE({chosen.collect(exact_total(summed))}, 0)", EXACT) for summed in sums
    )
    return d.add(small, d.add(wholes, parts))


def joined(value: Value, separator: str, scope: Scope, chosen: Choice, term: str) -> TextValue:
    """GROUP_CONCAT (18.5.1.7) of what STR gives, in the order of the terms (SPARQL leaves the order open)."""
    text = once(scope, value.string)
    found = chosen.collect(texts(scope.dialect, text, separator, term))
    return TextValue(
        chosen.above, f"CASE WHEN {no_errors(chosen.above, text)} THEN COALESCE({found}, '') END"
    )
