"""Shards in SQL: the condition that a term is of the shard at hand, and which elements matter there."""

from __future__ import annotations

from collections.abc import Sequence

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import Term
from rheos.sql.conditions import all_of, any_of
from rheos.sql.dialect import Dialect

# Variables of a DuckDB connection: the number of the shard, from 0, and of how many it is.
SHARD, SHARDS = "shard", "shards"


def in_shard(term: str) -> str:
    return f"hash({term}) % getvariable('{SHARDS}') = getvariable('{SHARD}')"


def set_shard(number: int, of: int) -> str:
    """The statements that choose a shard."""
    return f"SET VARIABLE {SHARD} = {number}::UBIGINT; SET VARIABLE {SHARDS} = {of}::UBIGINT"


def matters(wanted: Sequence[Sequence[tuple[str, Term]]], dialect: Dialect) -> str | None:
    """The condition on an element that one of these can match it; None if any element can."""
    tests = [
        all_of(
            f"{place} = {dialect.string(term.term)}" if isinstance(term, Constant) else in_shard(place)
            for place, term in decides
        )
        for decides in wanted
    ]
    return None if not all(wanted) else any_of(tests)
