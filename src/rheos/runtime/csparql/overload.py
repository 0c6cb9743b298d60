"""Overload: what a query of C-SPARQL may give up, and how its answers say so.

A query that is STRETCHED skips all but the last of the instants that a batch completes. For each skipped
instant it reports a row in which ?skipped is true. Answers on a SAMPLE say by how much they may be off: in 19
of 20 cases the error is not larger.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.sampling import MILLION
from rheos.algebra.streams import CSparqlQuery, Estimate
from rheos.runtime.operator import Answers
from rheos.syntax.sampling import ERROR
from rheos.syntax.windows import SKIPPED
from rheos.terms import XSD, literal

TRUE = literal("true", XSD + "boolean")
# A normally distributed value is within so many standard deviations of the mean in 95 of 100 cases.
DEVIATIONS = 1.96

Numbers = npt.NDArray[np.float64]


def gives_up(query: CSparqlQuery) -> str | None:
    """What a query gives up, in words; None if nothing."""
    found = []
    if query.stretched:
        found.append("instants: of those that are complete at once, all but the last are skipped")
    for window in query.windows:
        if window.sample is not None:
            percent = format(window.sample / (MILLION // 100), "g")
            found.append(f"triples: {percent} % of those of {window.stream} are looked at")
    return "; ".join(found) or None


def answer_columns(query: CSparqlQuery, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The variables of an answer, given the columns of the statement: the query's own, then those for errors,
    then the one for skipped instants."""
    own = columns[: len(columns) - sum(len(estimate.needs) for estimate in query.estimates)]
    errors = tuple(estimate.variable + ERROR for estimate in query.estimates)
    return (*own, *errors, *((SKIPPED,) if query.stretched else ()))


def answered(query: CSparqlQuery, found: Answers, skipped: pa.Table | None = None) -> Answers:
    """Answers as they are reported: with errors, and with a row for each of the `skipped`
    instants before them."""
    if query.estimates:
        found = found._replace(rows=with_errors(query, found.rows))
    if not query.stretched:
        return found
    rows = found.rows.append_column(SKIPPED, pa.nulls(len(found.rows), pa.string()))
    if skipped is None or not len(skipped):
        return found._replace(rows=rows)
    terms = [pa.nulls(len(skipped), field.type) for field in list(rows.schema)[2:-1]]
    said = pa.array([TRUE] * len(skipped), pa.string())
    times = [skipped.column(at).cast(rows.schema.field(at).type) for at in (0, 1)]
    before = pa.Table.from_arrays([*times, *terms, said], schema=rows.schema)
    instants = pa.concat_tables([skipped.select([0, 1]), found.instants])
    return Answers(instants, pa.concat_tables([before, rows]))


def with_errors(query: CSparqlQuery, rows: pa.Table) -> pa.Table:
    """Rows with a column for the error of each estimate, in the place of the columns from
    which it is computed."""
    [part] = [window.sample / MILLION for window in query.windows if window.sample is not None]
    needs = sum(len(estimate.needs) for estimate in query.estimates)
    place = rows.num_columns - needs
    answers = rows.select(list(range(place)))
    for estimate in query.estimates:
        numbers = [values(rows.column(place + at)) for at in range(len(estimate.needs))]
        place += len(estimate.needs)
        off = deviation(estimate, numbers, part) * DEVIATIONS
        terms = [None if np.isnan(x) else literal(format(x, ".6g"), XSD + "double") for x in off.tolist()]
        answers = answers.append_column(estimate.variable + ERROR, pa.array(terms, pa.string()))
    return answers


def deviation(estimate: Estimate, numbers: list[Numbers], part: float) -> Numbers:
    """The standard deviation of an estimate if each triple is in the sample with the probability `part` (a
    hash of the triple decides); NaN where it is not known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        match estimate.function:
            case "COUNT":
                [count] = numbers
                return np.sqrt(count * (1 - part)) / part
            case "SUM":
                [squares] = numbers
                return np.sqrt(squares * (1 - part)) / part
        count, total, squares = numbers
        variance = np.maximum(0, squares - total * total / count) / (count - 1)
        return np.where(count > 1, np.sqrt(variance / count * (1 - part)), np.nan)


def values(terms: pa.ChunkedArray) -> Numbers:
    """The values of numeric literals; NaN for unbound ones."""
    lexical = pc.list_element(pc.split_pattern(terms, '"', max_splits=2), 1)
    numbers: Numbers = lexical.cast(pa.float64()).to_numpy()
    return numbers
