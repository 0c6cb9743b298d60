"""The explanation of a one-shot query: what it becomes on its way, by titles."""

from __future__ import annotations

from rheos.algebra.entailment import told
from rheos.algebra.nodes import Query
from rheos.algebra.printer import show
from rheos.execute.base import Executor
from rheos.execute.plan import Plan
from rheos.optimize import optimize
from rheos.sql import macros
from rheos.store.graphs import StaticGraphs


def explain_one_shot(algebra: Query, executor: Executor, graphs: StaticGraphs) -> dict[str, str]:
    """The parts of the explanation: the algebra before and after the optimiser, where it runs, the SQL."""
    plan = Plan(optimize(algebra, graphs.statistics_for(algebra)))
    statement = plan.statement(executor.dialect)
    parts = {
        "language": "SPARQL 1.1",
        **told(algebra),
        "algebra": show(algebra),
        "optimised": show(plan.query),
        "runs": f"{executor.name} ({executor.where})",
    }
    index = graphs.indexed.current() if executor.name == "local" and plan.is_selective else None
    if index is not None:
        parts["after the index has matched what it can"] = show(plan.matched(index).query)
    for closure in statement.closures:
        parts[f"first, the view {closure.view}: what these edges reach"] = closure.edges
        if closure.seeds is not None:
            parts[f"starting from, in {closure.view}"] = closure.seeds
    parts[f"SQL ({executor.dialect.name})"] = statement.sql
    return parts | macros.used(statement.sql)
