"""Aggregates of SQL in two forms: over rows, and over parts of them.

Rows that hold for a while are in many windows. So that they are not repeated for each, the rows of a group
with the same interval are first collected to a *part*, and the parts that hold at an instant are put together
then. That must give what the rows themselves would: counts, sums of exact numbers, bits and extremes are the
same however their rows are parted. Sums of doubles and joined texts are not: a part keeps these one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rheos.sql.conditions import all_of
from rheos.sql.dialect import Dialect


def filter_clause(*conditions: str | None) -> str:
    """The FILTER of an aggregate; nothing for no conditions."""
    given = [condition for condition in conditions if condition]
    return f" FILTER (WHERE {all_of(given)})" if given else ""


@dataclass(frozen=True, slots=True)
class Collected:
    """An aggregate, each of its forms without its FILTER.

    `whole` is over rows, `part` over those of a part (NULL for none of them, or what a count has for none),
    and `combined` makes from the column of the parts, and a FILTER, what `whole` would be. `different` is
    `whole` over the different values of its argument, where SQL says that shorter than with a FILTER.
    `part_where` is a condition on the rows of a part. `again` makes one part of several, from their column.
    """

    whole: str
    part: str
    combined: Callable[[str, str], str]
    again: Callable[[str], str]
    different: str | None = None
    part_where: str | None = None


def count(what: str = "*") -> Collected:
    sql = f"count({what})"
    different = None if what == "*" else f"count(DISTINCT {what})"
    # DuckDB adds BIGINTs to a HUGEINT, and both engines nothing to NULL.
    return Collected(
        sql,
        sql,
        lambda part, only: f"CAST(COALESCE(sum({part}){only}, 0) AS BIGINT)",
        lambda part: f"CAST(sum({part}) AS BIGINT)",
        different,
    )


def _same_again(function: str, what: str) -> Collected:
    sql = f"{function}({what})"
    return Collected(
        sql, sql, lambda part, only: f"{function}({part}){only}", lambda part: f"{function}({part})"
    )


def exact_total(what: str) -> Collected:
    return _same_again("sum", what)


def bits(what: str) -> Collected:
    return _same_again("bit_or", what)


def least(what: str) -> Collected:
    return _same_again("min", what)


def greatest(what: str) -> Collected:
    return _same_again("max", what)


def first_by(dialect: Dialect, value: str, keys: Sequence[str], descending: bool) -> Collected:
    """The value whose keys come first, or last; a part keeps the keys of its own as well."""
    extreme = "max" if descending else "min"
    fields = {f"key_{number}": key for number, key in enumerate(keys)} | {"chosen": value}
    return Collected(
        dialect.first_by(value, keys, descending),
        f"{extreme}({dialect.struct(fields)})",
        lambda part, only: f"({extreme}({part}){only}).chosen",
        lambda part: f"{extreme}({part})",
    )


def double_total(dialect: Dialect, what: str) -> Collected:
    """A sum of doubles: those of all parts are added in the order of their values, so that it depends neither
    on how they were parted nor on how a stream was cut into batches."""
    return Collected(
        f"sum({what})",
        dialect.gather(what),
        dialect.gathered_total,
        lambda part: dialect.gathered(part, ""),
        part_where=f"{what} IS NOT NULL",
    )


def texts(dialect: Dialect, text: str, separator: str, order: str) -> Collected:
    """Texts in the order of their terms, one after the other."""
    each = dialect.struct({"place": order, "text": text})
    return Collected(
        dialect.join_texts(text, separator, order),
        dialect.gather(each),
        lambda part, only: dialect.gathered_texts(part, only, "text", separator),
        lambda part: dialect.gathered(part, ""),
    )
