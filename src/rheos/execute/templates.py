"""Templates: makes quads (g, s, p, o) of the templates of an update and a table of solutions.

This is done column by column: a template becomes four arrays as long as the solutions. Quads that are not RDF
are left out: those with an unbound variable, a literal as subject or graph, or a predicate that is not an IRI
(16.2 of the recommendation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import Term
from rheos.algebra.update import QuadTemplate, variables_of
from rheos.store.reader import SCHEMA
from rheos.terms import blank


def data(templates: Sequence[QuadTemplate], blank_prefix: str) -> pa.Table:
    """The quads of templates without variables; the labels of blank nodes begin with the prefix."""
    numbers = _numbers(templates)

    def text(term: Term | None) -> str | None:
        if isinstance(term, Variable):
            return blank(f"{blank_prefix}{numbers[term]}")
        return None if term is None else term.term

    columns = zip(*(map(text, quad.terms) for quad in templates), strict=True)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return _well_formed(pa.table(arrays, SCHEMA)) if templates else SCHEMA.empty_table()


def instantiate(templates: Sequence[QuadTemplate], solutions: pa.Table, blank_prefix: str) -> pa.Table:
    """The quads of all solutions; a blank node of the templates is a new node in each solution."""
    if not solutions.num_rows:
        return SCHEMA.empty_table()
    numbers = _numbers(templates)
    fixed: list[QuadTemplate] = []
    varying: list[QuadTemplate] = []
    for quad in templates:
        (varying if any(isinstance(term, Variable) for term in quad.terms) else fixed).append(quad)
    parts = [data(fixed, blank_prefix)]
    for quad in varying:
        columns = [_column(term, solutions, numbers, blank_prefix) for term in quad.terms]
        graph_varies = isinstance(quad.graph, Variable)
        parts.append(_well_formed(pa.table(columns, SCHEMA), graph_varies=graph_varies))
    return pa.concat_tables(parts)


def _numbers(templates: Sequence[QuadTemplate]) -> Mapping[Variable, int]:
    """A number for each blank node of the templates."""
    blanks = dict.fromkeys(variable for variable in variables_of(templates) if variable.is_blank)
    return {variable: number for number, variable in enumerate(blanks)}


def _column(
    term: Term | None, solutions: pa.Table, numbers: Mapping[Variable, int], blank_prefix: str
) -> Any:
    rows = solutions.num_rows
    if term is None:
        return pa.nulls(rows, pa.string())
    if not isinstance(term, Variable):
        return pa.repeat(pa.scalar(term.term), rows)
    if not term.is_blank:
        return solutions[term.name].cast(pa.string())
    solution = pa.array(np.arange(rows)).cast(pa.string())
    return pc.binary_join_element_wise(blank(f"{blank_prefix}{numbers[term]}"), solution, "_")


def _well_formed(quads: pa.Table, *, graph_varies: bool = False) -> pa.Table:
    """The quads that are RDF.

    A NULL graph is the default graph, but with `graph_varies` an unbound variable.
    """
    formed = pc.and_(
        pc.and_(pc.invert(pc.starts_with(quads["s"], '"')), pc.starts_with(quads["p"], "<")),
        pc.is_valid(quads["o"]),
    )
    if graph_varies:
        formed = pc.and_(formed, pc.invert(pc.starts_with(quads["g"], '"')))
    return quads.filter(formed)
