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
    """An element for each pattern, each `apart` microseconds after the one before."""
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


def different(patterns: Iterable[TriplePattern]) -> list[TriplePattern]:
    """Of the patterns, one for each different made-up element. In a bag, copies of an element multiply: four
    copies that match sixteen patterns are 4^16 solutions."""
    shapes = {tuple(t.term if isinstance(t, Constant) else None for t in p.terms): p for p in patterns}
    return list(shapes.values())


def stand_ins(connection: duckdb.DuckDBPyConnection, parts: Iterable[Part]) -> dict[str, Size]:
    """Make tables with one made-up row each, in the place of the tables of static data; their sizes."""
    found = {}
    for part in parts:
        if isinstance(part, Derivations):
            continue  # without a table of derivations, nothing is entailed
        columns = ", ".join(f"'{_STAND_INS[0]}' AS c{at}" for at in range(1, len(part.variables) + 1))
        connection.execute(f"CREATE TABLE {part.table} AS SELECT {columns or '1 AS unit'}")
        found[part.table] = Size(1, dict.fromkeys(part.variables, 1.0))
    return found
