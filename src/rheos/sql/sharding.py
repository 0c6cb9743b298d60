"""Shards in SQL: the condition that a term belongs to the current shard, and which elements a shard needs."""

from __future__ import annotations

from collections.abc import Sequence

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import Term
from rheos.sql.conditions import all_of, any_of
from rheos.sql.dialect import Dialect

# Variables of a DuckDB connection: the number of the current shard, from 0, and the number of all shards.
SHARD, SHARDS = "shard", "shards"


def in_shard(term: str) -> str:
    return f"hash({term}) % getvariable('{SHARDS}') = getvariable('{SHARD}')"


def set_shard(number: int, of: int) -> str:
    """The statements that choose a shard."""
    return f"SET VARIABLE {SHARD} = {number}::UBIGINT; SET VARIABLE {SHARDS} = {of}::UBIGINT"


def matters(wanted: Sequence[Sequence[tuple[str, Term]]], dialect: Dialect) -> str | None:
    """The condition that an element can match one of the patterns in a shard; None if every element can.

    `wanted` has for each pattern the places (s, p, o) that decide, each with a constant or the shard's
    variable.
    """
    tests = [
        all_of(
            f"{place} = {dialect.string(term.term)}" if isinstance(term, Constant) else in_shard(place)
            for place, term in decides
        )
        for decides in wanted
    ]
    return None if not all(wanted) else any_of(tests)
