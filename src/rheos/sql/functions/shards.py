"""Shards: the function that tells whether a term belongs to the current shard. Only the optimiser uses it."""

from __future__ import annotations

from rheos.sql.computed import BooleanValue
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.sharding import in_shard
from rheos.sql.values import Value


def is_in_shard(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, in_shard(value.term))


FUNCTIONS: dict[str, Function] = {"IN SHARD": is_in_shard}
