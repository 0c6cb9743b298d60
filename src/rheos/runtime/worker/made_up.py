"""Made-up elements: one for each pattern of a query, for its rehearsal."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import TriplePattern
from rheos.optimize.flows import Size
from rheos.optimize.static_parts import Derivations, Part
from rheos.sources.chunks import LIVE

_STAND_INS = ("<urn:rheos:s>", "<urn:rheos:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')


def made_up(patterns: Iterable[TriplePattern], apart: int = 1) -> pa.Table:
    """An element for each pattern, so many microseconds after the one before."""
    rows = [
        [
            term.term if isinstance(term, Constant) else other
            for term, other in zip(p.terms, _STAND_INS, strict=True)
        ]
        for p in patterns
    ]
    times = pa.array([at * apart for at in range(len(rows))], pa.int64())
    terms = {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate("spo")}
    columns = {**terms, "start": times, "time": times, "partition": pa.array([0] * len(rows), pa.int64())}
    return pa.table({**columns, "graph": pa.nulls(len(rows), pa.string())}, schema=LIVE)


def stand_ins(connection: duckdb.DuckDBPyConnection, parts: Iterable[Part]) -> dict[str, Size]:
    """Tables with one row in the place of those of static data; their sizes."""
    found = {}
    for part in parts:
        if isinstance(part, Derivations):
            continue  # what is not there entails nothing
        columns = ", ".join(f"'{_STAND_INS[0]}' AS c{at}" for at in range(1, len(part.variables) + 1))
        connection.execute(f"CREATE TABLE {part.table} AS SELECT {columns or '1 AS unit'}")
        found[part.table] = Size(1, dict.fromkeys(part.variables, 1.0))
    return found
