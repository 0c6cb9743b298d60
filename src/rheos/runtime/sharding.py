"""Sharding: how the work of a query in a micro-batch can be shared out over tasks.

By a variable: the hash of its term says of which shard a solution is. Each shard looks only at elements that
can be part of its solutions, and what the shards find is then merged. By time: each shard answers for a span
of the batch, and reads what the windows of that span need. Otherwise one shard does all. Whatever is chosen,
the answers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

# How the work of a query is shared out in a micro-batch.
Way = Literal["one", "time", "variable"]


class Shard(NamedTuple):
    """One of so many shards, by its number from 0."""

    number: int
    of: int


@dataclass(frozen=True, slots=True)
class Sharding:
    """The variable by which solutions can be told apart, and whether spans of time can be answered apart.
    `reason` says why there is no variable or, if neither is possible, why not."""

    by_time: bool = False
    reason: str = ""
    variable: str | None = None
    merges: str = ""  # what is left to do when all shards have answered, in words

    def __str__(self) -> str:
        time = "by time: each shard answers for some of the instants of a batch"
        if self.variable is not None:
            own = f"by ?{self.variable}: each shard answers for some of its values{self.merges}"
            return f"{own}\nor {time}" if self.by_time else own
        if self.by_time:
            return f"{time}\nnot by a variable: {self.reason}" if self.reason else time
        return f"one shard: {self.reason}"


class UnmergedError(Exception):
    """What shards have found cannot be merged to the letter: the query has to be evaluated in another way."""


ONE = Sharding(reason="nothing is known of its parts")


# What is known when a query makes a stream.
MAKER = Sharding(reason="other queries may read what it makes in the same batch")
RULE = Sharding(
    reason="other queries may read what it makes in the same batch; "
    "rules that only one another read, and that are about one term, are sharded by that"
)


def by_variable(variable: str | None, merges: str = "", reason: str = "") -> Sharding:
    """By time, and also by a variable, if there is one."""
    if variable is None:
        return Sharding(True, reason or "no variable of the answer is bound wherever it is mentioned")
    return Sharding(True, "", variable, merges)
