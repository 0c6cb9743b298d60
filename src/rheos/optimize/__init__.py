"""The optimiser: rewrites a query into an equivalent and cheaper one, by the counts of the loaded data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import Construct, Query
from rheos.algebra.streams import CSparqlQuery, EPSparqlQuery
from rheos.deadline import check
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
        check()
        query = rule(query, statistics)
    return query


Windowed = TypeVar("Windowed", bound=CSparqlQuery)


def optimize_csparql(query: Windowed) -> Windowed:
    """Optimise a query of C-SPARQL by the rules that need no counts, since elements of streams cannot be
    counted beforehand.

    If a solution makes the same blank nodes at all instants, none of its variables may be pruned.
    """
    plan, nothing = query.query, Statistics(0, {})
    for rule in (compare_resources, push_filters, prune_columns):
        if rule is not prune_columns or not (query.keeps_nodes and makes_nodes(plan)):
            plan = rule(plan, nothing)
    return replace(query, query=plan)


def optimize_epsparql(query: EPSparqlQuery) -> EPSparqlQuery:
    """Optimise a query of EP-SPARQL. Its solutions are a set of mappings, each with its interval.

    With a policy of consumption, the solutions of every part decide which events are used up, so nothing may
    be moved.
    """
    nothing = Statistics(0, {})
    plan = compare_resources(query.query, nothing)
    if query.consumption == "unrestricted":
        plan = push_filters(plan, nothing)
    return replace(query, query=plan)


def makes_nodes(query: Query) -> bool:
    """Whether a template makes new blank nodes for each solution."""
    if not isinstance(query.form, Construct):
        return False
    terms = (term for triple in query.form.template for term in triple.terms)
    return any(isinstance(term, Variable) and term.is_blank for term in terms)
