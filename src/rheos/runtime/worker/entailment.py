"""Entailment of elements: adds to elements all the triples that they entail.

It is a join with a table of derivations. The driver makes this table from the schema, with only those
derivations that the query can match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rheos.runtime.operator import Times
from rheos.runtime.worker.database import Database
from rheos.sql.entailed import derived_sql

ENTAILING = "entailing"


@dataclass(frozen=True, slots=True)
class Entailed:
    """Triples (s, p, o): first those of the elements themselves, then those that they entail. `element` has,
    for each triple, the row number of its element. No triple of an element is there twice."""

    triples: pa.Table
    element: Times


# A function that takes elements (s, p, o) and adds the triples that they entail.
Entail = Callable[[pa.Table], Entailed]


def entail_with(derivations: str, ask: Callable[[pa.Table, str], pa.Table]) -> Entail:
    """The function that adds entailed triples, by a table of derivations. `ask` runs a statement on a table,
    which the statement calls `entailing`."""
    statement = derived_sql(ENTAILING, derivations, ("element",), distinct=True)

    def entail(elements: pa.Table) -> Entailed:
        own = np.arange(len(elements))
        given = elements.select(["s", "p", "o"])
        found = ask(given.append_column("element", pa.array(own)), statement)
        found = found.take(pa.array(np.argsort(found.column("element").to_numpy(), kind="stable")))
        triples = pa.concat_tables([given, found.select(["s", "p", "o"]).cast(given.schema)])
        return Entailed(triples, np.concatenate([own, found.column("element").to_numpy()]))

    return entail


def entail_in(database: Database, derivations: str) -> Entail:
    """The function that adds entailed triples, by a table of derivations in a database of this process."""

    def ask(elements: pa.Table, statement: str) -> pa.Table:
        database.put(ENTAILING, elements)
        return database.ask(statement)

    return entail_with(derivations, ask)
