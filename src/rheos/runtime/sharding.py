"""Sharding: how the work of a query in a micro-batch can be shared out over tasks.

By time: each shard answers for a span of the batch, and reads what the windows of that span need. Otherwise
one shard does all. Whatever is chosen, the answers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sharding:
    """Whether spans of time can be answered apart, or the reason why not."""

    by_time: bool = False
    reason: str = ""

    def __str__(self) -> str:
        if self.by_time:
            return "by time: each shard answers for some of the instants of a batch"
        return f"one shard: {self.reason}"


ONE = Sharding(reason="nothing is known of its parts")
