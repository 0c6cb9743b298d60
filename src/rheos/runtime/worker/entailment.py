"""What elements entail: adds to elements all the triples that they entail.

A join with a table of derivations that the driver has made of the schema, and that holds only what the query
can match. Where that is empty, nothing is done.
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
    """Triples (s, p, o) of elements: their own and, after all of these, what they entail; and for each the
    number of its element. Of the triples of an element none is there twice."""

    triples: pa.Table
    element: Times


# Elements (s, p, o) with what they entail.
Entail = Callable[[pa.Table], Entailed]


def entail_with(derivations: str, ask: Callable[[pa.Table, str], pa.Table]) -> Entail:
    """The same, by a table of derivations; `ask` answers a statement about a table that it is given, and that
    the statement calls `entailing`."""
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
    """By a table that a database in this process has."""

    def ask(elements: pa.Table, statement: str) -> pa.Table:
        database.put(ENTAILING, elements)
        return database.ask(statement)

    return entail_with(derivations, ask)
