"""Rehearsals: a query is evaluated once on made-up elements before it is registered.

A statement that DuckDB refuses, or cannot plan in time, is found then, and not when it runs beside others.
There is one element for each pattern of the query, so that no part of its statement is left out.

A large statement is rehearsed in a process of its own: DuckDB does not listen while it plans, but a process
can be ended.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace

import duckdb
import pyarrow as pa

from rheos import deadline
from rheos.algebra.entailment import asked_of, schema_of
from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import TriplePattern
from rheos.errors import EvaluationError
from rheos.execute.database import LARGE, finished, many_joins
from rheos.execute.limits import limited_cursor
from rheos.optimize.flows import Size
from rheos.optimize.static_parts import Derivations, Part
from rheos.runtime import consuming
from rheos.runtime.arriving import Arrival, ArrivingBatch, Prepared
from rheos.runtime.buffers import LIVE, Buffer
from rheos.runtime.detecting import DetectingBatch, Detection
from rheos.runtime.evaluation import Batch, DuckPlace, Evaluation
from rheos.sql.entailed import entailed_names
from rheos.store.tables import NAMES, filled

_STAND_INS = ("<urn:rheos:s>", "<urn:rheos:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')

# A statement of EP-SPARQL grows with the number of patterns that something matches. So many are enough.
_FEW = 2


def rehearse(evaluation: Evaluation | Arrival | Detection, text: str) -> None:
    """Evaluate a query, whose text is given, on made-up elements: whatever goes wrong is raised."""
    if deadline.current() is not None and is_large(evaluation, text):
        _elsewhere(evaluation)
    else:
        _here(evaluation)


def is_large(evaluation: Evaluation | Arrival | Detection, text: str) -> bool:
    if isinstance(evaluation, Evaluation):
        return many_joins(evaluation.statement.sql) or len(evaluation.statement.sql) > LARGE
    return len(text) > LARGE // 20  # the statements of the other languages are made when they are evaluated


def _here(evaluation: Evaluation | Arrival | Detection) -> None:
    with filled({}) as connection, connection.cursor() as cursor, limited_cursor(cursor):
        connection.execute("SET threads = 1")
        schema = schema_of(evaluation.query.query)
        if schema is not None:
            for name, plain in zip(entailed_names(schema), NAMES, strict=False):
                connection.execute(f"CREATE TABLE {name} AS FROM {plain}")
        place = DuckPlace(cursor)
        match evaluation:
            case Evaluation():
                # All at one time, at which there is an instant of every window.
                place.put("elements", made_up(asked_of(evaluation.query.query), apart=0))
                Batch(place, dict.fromkeys(evaluation.streams, "elements")).answers(evaluation, -1, 0)
            case Arrival():
                prepared = Prepared.of(evaluation.query)
                patterns = [p for clause in evaluation.query.windows for p in clause.patterns]
                elements = dict.fromkeys(evaluation.streams, made_up(patterns))
                sizes = stand_ins(connection, prepared.parts)
                ArrivingBatch(place, elements, sizes).novelty(prepared, -1, len(patterns))
            case Detection():
                alone = replace(evaluation, streams=frozenset({""}))
                kept = frozenset(stand_ins(connection, evaluation.parts))
                batch = DetectingBatch(place, {"": made_up(evaluation.patterns[:_FEW])}, kept)
                if evaluation.stages:
                    state = dict.fromkeys(evaluation.states, LIVE.empty_table())
                    consuming.answers(batch, place, alone, (-1, _FEW), {}, state)
                else:
                    batch.answers(alone, -1, _FEW, {})


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
    return Buffer(pa.table(columns, schema=LIVE)).placed


def stand_ins(connection: duckdb.DuckDBPyConnection, parts: Iterable[Part]) -> dict[str, Size]:
    """Tables with one row in the place of those that are kept of static data; their sizes."""
    found = {}
    for part in parts:
        if isinstance(part, Derivations):
            continue  # what is not there entails nothing
        columns = ", ".join(f"'{_STAND_INS[0]}' AS c{at}" for at in range(1, len(part.variables) + 1))
        connection.execute(f"CREATE TABLE {part.table} AS SELECT {columns or '1 AS unit'}")
        found[part.table] = Size(1, dict.fromkeys(part.variables, 1.0))
    return found


def _elsewhere(evaluation: Evaluation | Arrival | Detection) -> None:
    with tempfile.TemporaryFile() as given:
        pickle.dump(evaluation, given)
        given.seek(0)
        code, said = finished([sys.executable, "-c", f"from {__name__} import main; main()"], given)
    if code:
        raise EvaluationError(said or "it is too large: DuckDB falls over when it plans it")


def main() -> None:
    """Rehearse the query on standard input; what is wrong with it goes to standard output."""
    try:
        _here(pickle.load(sys.stdin.buffer))
    except Exception as error:
        print((str(error).splitlines() or [type(error).__name__])[0])
        sys.exit(1)
