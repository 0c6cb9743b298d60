"""The optimiser: a query and the counts of the data come in, an equal and cheaper query goes out."""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra.nodes import Query
from rheos.optimize.broadcast import broadcast
from rheos.optimize.empty_branches import empty_branches
from rheos.optimize.order_patterns import order_patterns
from rheos.optimize.prune_columns import prune_columns
from rheos.optimize.push_filters import push_filters
from rheos.optimize.seed_paths import seed_paths
from rheos.optimize.statistics import Statistics

Rule = Callable[[Query, Statistics], Query]

RULES: tuple[Rule, ...] = (
    empty_branches,
    push_filters,
    order_patterns,
    seed_paths,
    broadcast,
    prune_columns,
)


def optimize(query: Query, statistics: Statistics) -> Query:
    for rule in RULES:
        query = rule(query, statistics)
    return query
