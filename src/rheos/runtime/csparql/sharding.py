"""How the work of a query of C-SPARQL can be shared out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheos.runtime.sharding import Sharding

if TYPE_CHECKING:
    from rheos.runtime.csparql.operator import CSparqlOperator


def sharding_of(operator: CSparqlOperator) -> Sharding:
    if operator.view:
        return Sharding(reason="of the instants of a batch it shows only the last")
    return Sharding(by_time=True)
