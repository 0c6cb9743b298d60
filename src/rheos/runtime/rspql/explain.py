"""A query of RSP-QL in words: what its windows hold, when it reports what, and how it is answered."""

from __future__ import annotations

from rheos.algebra.streams import RspqlQuery
from rheos.runtime.csparql.explain import explained
from rheos.runtime.rspql.operator import RspqlOperator


def explain_rspql(query: RspqlQuery) -> dict[str, str]:
    """The parts of the explanation, by their titles."""
    return explained(query, RspqlOperator)
