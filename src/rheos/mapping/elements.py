"""Elements of mapped records: triples of rows and a clock come in, elements and dead letters go out.

An element has the time of its row, or else the time of its record. A record is a set of triples: several rows
of it may give the same triple, which then counts once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import Term, TriplePattern
from rheos.mapping import moments
from rheos.mapping.json_fields import TOO_MANY
from rheos.mapping.moments import NO_TIME
from rheos.mapping.records import Records
from rheos.mapping.rules import ITEM, ROW
from rheos.sources.chunks import BadLine, Chunk, elements, no_elements
from rheos.sources.clocks import GENERATED_AT, Clock
from rheos.sources.decoding import numbers_of, outside_times
from rheos.sources.graphs import marked
from rheos.sources.times import Microseconds, Times

NO_TRIPLE = "the mapping gives no triple for the record"
_Flags = npt.NDArray[np.bool_]


class Triples(NamedTuple):
    """Triples in the order of their rows: their terms, the row of each triple, and the record of
    each row. If the clock is a field, `time` has a term for each row. `refused` are the records that
    have too many rows."""

    s: pa.Array
    p: pa.Array
    o: pa.Array
    row: Microseconds
    record: Microseconds
    time: pa.Array | None = None
    refused: tuple[int, ...] = ()


def instantiated(
    template: Sequence[TriplePattern],
    solutions: pa.Table,
    records: Records,
    origin: pa.Array | None,
    prefix: str,
) -> tuple[pa.Array, pa.Array, pa.Array, Microseconds]:
    """The triples of all solutions in their order, and for each triple the number of its solution. A blank
    node of the template is a new one for each solution."""
    count = solutions.num_rows
    columns: list[tuple[pa.Array, ...]] = []
    formed: list[_Flags] = []
    lines: pa.Array | None = None
    for triple in template:
        terms = []
        for term in triple.terms:
            if isinstance(term, Variable) and term.is_blank and lines is None:
                lines = _labels(solutions, records, origin)
            terms.append(_column(term, solutions, lines, prefix))
        columns.append(tuple(terms))
        formed.append(_well_formed(triple, *terms))
    if not columns or not count:
        nothing = pa.array([], pa.string())
        return nothing, nothing, nothing, np.empty(0, np.int64)
    # In the columns, the n-th triple of the m-th solution is at n * count + m. In the result it is at m *
    # width + n.
    order = np.arange(len(template) * count).reshape(len(template), count).T.ravel()
    flags = np.stack(formed).T.ravel()
    if not flags.all():
        order = order[flags]
    taken = pa.array(order)
    s, p, o = (pa.concat_arrays([terms[at] for terms in columns]).take(taken) for at in range(3))
    return s, p, o, order % count


def _labels(solutions: pa.Table, records: Records, origin: pa.Array | None) -> pa.Array:
    """Labels that tell solutions apart: the line of the record, and the number of the solution among those of
    this line or, with items, the number of the item."""
    rows = numbers_of(solutions[ROW].combine_chunks().cast(pa.int64()))
    record = rows if origin is None else numbers_of(origin)[rows]
    line = pa.array(records.line[record]).cast(pa.string())
    if ITEM in solutions.column_names:
        number = solutions[ITEM].combine_chunks()
    else:
        lines = records.line[record]
        count = np.arange(len(lines))
        begins = np.append(True, lines[1:] != lines[:-1])[: len(lines)]
        turn = count - np.maximum.accumulate(np.where(begins, count, 0))
        number = pa.array(turn).cast(pa.string())
    return pc.binary_join_element_wise(line, number, "_")


def _column(term: Term, solutions: pa.Table, labels: pa.Array | None, prefix: str) -> pa.Array:
    if isinstance(term, Constant):
        return pa.repeat(pa.scalar(term.term), solutions.num_rows)
    if term.is_blank:
        # Labels of templates are like .b0; a mapping's own BNODEs have other names.
        return pc.binary_join_element_wise(f"_:{prefix}", labels, "t", term.name.replace(".", ""), "")
    if term.name not in solutions.column_names:
        return pa.nulls(solutions.num_rows, pa.string())
    return solutions[term.name].combine_chunks().cast(pa.string())


def _well_formed(triple: TriplePattern, s: pa.Array, p: pa.Array, o: pa.Array) -> _Flags:
    """Which triples are RDF: nothing is unbound, no literal is a subject, only IRIs are predicates (16.2)."""
    flags = np.ones(len(s), bool)
    for term, column, condition in zip(
        triple.terms, (s, p, o), (_no_literal, _iri, pc.is_valid), strict=True
    ):
        if isinstance(term, Variable) and not term.is_blank:
            found = pc.fill_null(condition(column), False)
            flags &= found.to_numpy(zero_copy_only=False)
    return flags


def _no_literal(column: pa.Array) -> pa.Array:
    return pc.invert(pc.starts_with(column, '"'))


def _iri(column: pa.Array) -> pa.Array:
    return pc.starts_with(column, "<")


# --- times -------------------------------------------------------------------------------------------------


def _graphs(record: Microseconds, moment: Microseconds) -> pa.Array | None:
    """The graph column of elements in which the triples of a record, at one time, are one graph. None if each
    such graph has only one triple."""
    goes_on = (record[1:] == record[:-1]) & (moment[1:] == moment[:-1])
    if not goes_on.any():
        return None
    return marked([None], np.cumsum(np.append(False, ~goes_on), dtype=np.int64))


def chunk_of(
    triples: Triples, records: Records, clock: Clock, place: str, *, first: bool, repeats: bool = False
) -> Chunk:
    """The chunk with the triples of records. Records that give no element are dead letters. `repeats` is True
    if one row can give the same triple twice."""
    rows = len(triples.record)
    faults = dict.fromkeys(triples.refused, TOO_MANY)  # by record
    times, timed, without_zone = _times(triples, records, clock, faults)
    kept = timed[triples.row] if rows else np.empty(0, bool)
    if triples.refused:
        kept &= ~np.isin(triples.record[triples.row], np.array(triples.refused))
    if clock.kind == "own":  # this triple gives the time, and is no element itself
        kept &= ~numbers_of(pc.equal(triples.p, f"<{GENERATED_AT}>")).astype(bool)
    for record in np.unique(triples.record[np.flatnonzero(~timed)]) if rows else ():
        faults.setdefault(int(record), NO_TIME + _hint(clock))
    index = np.flatnonzero(kept)
    record = triples.record[triples.row[index]] if rows else np.empty(0, np.int64)
    silent = np.ones(len(records), bool)
    silent[record] = False
    for row in np.flatnonzero(silent):
        faults.setdefault(int(row), NO_TRIPLE)
    bad = [BadLine(int(records.line[row]), records.text(row), reason) for row, reason in faults.items()]
    bad = sorted([*records.bad, *bad], key=lambda item: item.line)
    if not len(index):
        batch = no_elements()
    else:
        if repeats or np.any(np.bincount(triples.record) > 1):
            index = _distinct(triples, index, times)
            record = triples.record[triples.row[index]]
        chosen = pa.array(index)
        terms = triples[:3] if len(index) == len(triples.s) else [term.take(chosen) for term in triples[:3]]
        moment = times[triples.row[index]]
        batch = elements(terms, moment, moment, records.line[record], _graphs(record, moment))
    return Chunk(batch, place, len(records.messages), first, tuple(bad), without_zone)


def _hint(clock: Clock) -> str:
    told = {"field": f": it has no {clock.name}", "property": f": the mapping makes no <{clock.name}> of it"}
    told |= {"own": ": the mapping makes no prov:generatedAtTime of it"}
    return told.get(clock.kind, f": {clock.kind} is not known")


def _times(
    triples: Triples, records: Records, clock: Clock, faults: dict[int, str]
) -> tuple[Microseconds, _Flags, int]:
    """The time of each row, whether it has one, and how many times had no zone."""
    rows = len(triples.record)
    outside, missing = outside_times(records.messages, clock)
    if outside is not None:
        untimed = np.isin(records.origin, missing)
        return outside[records.origin][triples.record], ~untimed[triples.record], 0
    if clock.kind == "field":
        assert triples.time is not None
        found = moments.read(triples.time)
        return _told(found, np.arange(rows), rows, triples, faults)
    said = np.flatnonzero(numbers_of(pc.equal(triples.p, f"<{clock.name}>")).astype(bool))
    found = moments.read(triples.o.take(pa.array(said)))
    times, timed, without_zone = _told(found, triples.row[said], rows, triples, faults)
    other = np.flatnonzero(found.microseconds != times[triples.row[said]])
    for row in triples.row[said[other]]:
        if timed[row]:
            faults.setdefault(int(triples.record[row]), f"it has more than one time by <{clock.name}>")
            timed[row] = False
    if timed.all():
        return times, timed, without_zone
    # Rows without a time get the time of their record, if the record has only one.
    low = np.full(len(records), np.iinfo(np.int64).max)
    high = np.full(len(records), np.iinfo(np.int64).min)
    there = np.flatnonzero(timed)
    np.minimum.at(low, triples.record[there], times[there])
    np.maximum.at(high, triples.record[there], times[there])
    lent = ~timed & (low == high)[triples.record]
    times[lent] = low[triples.record[lent]]
    return times, timed | lent, without_zone


def _told(
    found: Times, rows: Microseconds, count: int, triples: Triples, faults: dict[int, str]
) -> tuple[Microseconds, _Flags, int]:
    """Times of all rows, from the times that were found for some. Wrong times go to the
    faults of their records."""
    times, timed = np.zeros(count, np.int64), np.zeros(count, bool)
    times[rows] = found.microseconds
    timed[rows] = True
    for number, reason in found.faults.items():
        row = int(rows[number])
        timed[row] = False
        if reason != NO_TIME:
            faults.setdefault(int(triples.record[row]), reason)
    return times, timed, found.without_zone


def may_repeat(template: Sequence[TriplePattern]) -> bool:
    """Whether one solution can give the same triple twice."""
    return any(
        all(map(_may_equal, one.terms, other.terms)) for one, other in itertools.combinations(template, 2)
    )


def _may_equal(one: Term, other: Term) -> bool:
    new = any(isinstance(term, Variable) and term.is_blank for term in (one, other))
    known = isinstance(one, Constant) and isinstance(other, Constant)
    return one == other if new or known else True


def _distinct(triples: Triples, index: Microseconds, times: Microseconds) -> Microseconds:
    """The triples without repetitions: of equal triples of a record at the same time, only the first."""
    chosen = pa.array(index)
    rows = triples.row[index]
    columns = [pa.array(triples.record[rows]), pa.array(times[rows])]
    columns += [*(term.take(chosen) for term in triples[:3]), chosen]
    names = ["record", "time", "s", "p", "o"]
    table = pa.table(columns, [*names, "at"])
    found = table.group_by(names, use_threads=False).aggregate([("at", "min")])["at_min"]
    return np.sort(numbers_of(found.combine_chunks()))
