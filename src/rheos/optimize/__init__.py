"""The optimiser: a query and the counts of the data come in, an equal and cheaper query goes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rheos.algebra.nodes import Query
from rheos.algebra.streams import Continuous
from rheos.optimize.broadcast import broadcast
from rheos.optimize.compare_resources import compare_resources
from rheos.optimize.empty_branches import empty_branches
from rheos.optimize.order_patterns import order_patterns
from rheos.optimize.prune_columns import prune_columns
from rheos.optimize.push_filters import push_filters
from rheos.optimize.seed_paths import seed_paths
from rheos.optimize.statistics import Statistics

Rule = Callable[[Query, Statistics], Query]

RULES: tuple[Rule, ...] = (
    empty_branches,
    compare_resources,
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


def optimize_continuous(query: Continuous) -> Continuous:
    """The rules that hold whatever the data are: what streams will bring cannot be counted beforehand."""
    plan, nothing = query.query, Statistics(0, {})
    for rule in (compare_resources, push_filters, prune_columns):
        plan = rule(plan, nothing)
    return replace(query, query=plan)
