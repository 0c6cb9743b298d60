"""Sharding: how the work of a query in a micro-batch can be shared out over tasks.

By a variable: the hash of its term decides to which shard a solution belongs. Each shard looks only at
elements that can be part of its solutions, and the answers of the shards are then merged. By time: each shard
answers for a span of the batch, and reads what the windows of that span need. Otherwise one shard does all
the work. The answers are the same in all three ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

# How the work of a query is shared out in a micro-batch.
Way = Literal["one", "time", "variable"]


class Shard(NamedTuple):
    """The shard with a `number` (from 0) out of `of` shards."""

    number: int
    of: int


@dataclass(frozen=True, slots=True)
class Sharding:
    """How the work of a query can be shared out: by a `variable`, `by_time`, by both or not at all. `reason`
    says why there is no variable or, if neither is possible, why."""

    by_time: bool = False
    reason: str = ""
    variable: str | None = None
    merges: str = ""  # in words, what is left to do when all shards have answered

    def __str__(self) -> str:
        time = "by time: each shard answers for some of the instants of a batch"
        if self.variable is not None:
            own = f"by ?{self.variable}: each shard answers for some of its values{self.merges}"
            return f"{own}\nor {time}" if self.by_time else own
        if self.by_time:
            return f"{time}\nnot by a variable: {self.reason}" if self.reason else time
        return f"one shard: {self.reason}"


class UnmergedError(Exception):
    """Merging the answers of the shards would not give exactly the answers of one shard: the query has to be
    evaluated in another way."""


ONE = Sharding(reason="nothing is known of its parts")


# The sharding of a query that makes a stream, and of a rule.
MAKER = Sharding(reason="other queries may read what it makes in the same batch")
RULE = Sharding(
    reason="other queries may read what it makes in the same batch; "
    "rules that only one another read, and that are about one term, are sharded by that"
)


def by_variable(variable: str | None, merges: str = "", reason: str = "") -> Sharding:
    """Sharding by time, and also by a variable, if there is one."""
    if variable is None:
        return Sharding(True, reason or "no variable of the answer is bound wherever it is mentioned")
    return Sharding(True, "", variable, merges)
