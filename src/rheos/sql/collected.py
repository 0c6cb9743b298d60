"""Aggregates of SQL in two forms: over rows, and over parts of groups.

Rows that hold for an interval can be in many windows. So that they are not repeated for each window, the rows
of a group with the same interval are first aggregated to a *part*. Then the parts that hold at an instant are
combined. The result must be that of the rows themselves. Counts, sums of exact numbers, bits, minima and
maxima do not depend on how rows are divided into parts. Sums of doubles and joined texts do: there, a part is
the list of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rheos.sql.conditions import all_of
from rheos.sql.dialect import Dialect


def filter_clause(*conditions: str | None) -> str:
    """The FILTER of an aggregate; empty for no conditions."""
    given = [condition for condition in conditions if condition]
    return f" FILTER (WHERE {all_of(given)})" if given else ""


@dataclass(frozen=True, slots=True)
class Collected:
    """An aggregate in all its forms, each without its FILTER.

    `whole` is the aggregate over rows. `part` is the aggregate over the rows of a part: NULL, or the count 0,
    if there are none. `combined` makes the value of `whole` from the column of the parts and a FILTER.
    `again` makes one part of several parts, from their column. `different` is `whole` over the distinct
    values of its argument, where SQL has a shorter form than a FILTER. `part_where` is a condition on the
    rows of a part.
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
    # In DuckDB, a sum of BIGINTs is a HUGEINT. In both engines, a sum of no rows is NULL.
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
    """The value whose keys come first, or last; a part has its value and the keys of this value."""
    extreme = "max" if descending else "min"
    fields = {f"key_{number}": key for number, key in enumerate(keys)} | {"chosen": value}
    return Collected(
        dialect.first_by(value, keys, descending),
        f"{extreme}({dialect.struct(fields)})",
        lambda part, only: f"({extreme}({part}){only}).chosen",
        lambda part: f"{extreme}({part})",
    )


def double_total(dialect: Dialect, what: str) -> Collected:
    """A sum of doubles. The doubles of all parts are added in the order of their values.

    So the sum depends neither on the division into parts nor on how a stream is cut into batches.
    """
    return Collected(
        f"sum({what})",
        dialect.gather(what),
        dialect.gathered_total,
        lambda part: dialect.gathered(part, ""),
        part_where=f"{what} IS NOT NULL",
    )


def texts(dialect: Dialect, text: str, separator: str, order: str) -> Collected:
    """The concatenation of texts in the order of their terms."""
    each = dialect.struct({"place": order, "text": text})
    return Collected(
        dialect.join_texts(text, separator, order),
        dialect.gather(each),
        lambda part, only: dialect.gathered_texts(part, only, "text", separator),
        lambda part: dialect.gathered(part, ""),
    )
