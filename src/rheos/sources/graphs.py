"""Streams of graphs: how the elements of a stream, which are triples, tell which graphs they came in.

The triples of a graph follow one another and have the same time. The column `graph` of the first is a plus
sign and the name of the graph, or nothing if it has none; that of the others is an equals sign and the same.
It is NULL for a triple that came alone: a triple stream, which is one of graphs with one triple each, has no
more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FIRST, OTHER = "+", "="


def marked(names: Sequence[str | None], numbers: npt.NDArray[np.int64]) -> pa.Array:
    """The column of triples whose graphs have these numbers, and these names by number."""
    first = np.ones(len(numbers), bool)
    first[1:] = numbers[1:] != numbers[:-1]
    marks = pc.if_else(pa.array(first), FIRST, OTHER)
    if all(name is None for name in names):
        return marks
    found = pa.array([name or "" for name in names], pa.string()).take(pa.array(numbers))
    return pc.binary_join_element_wise(marks, found, "")


def opening(graph: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_] | None:
    """Which triples are the first of their graph; None if all are."""
    if graph.null_count == len(graph):
        return None
    others = pc.fill_null(pc.starts_with(graph, OTHER), False)
    found: npt.NDArray[np.bool_] = ~others.to_numpy(zero_copy_only=False).astype(bool)
    return found


def names_of(graph: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names of the graphs; NULL where there is none."""
    names = pc.utf8_slice_codeunits(graph, 1)
    return pc.if_else(pc.equal(names, ""), pa.scalar(None, pa.string()), names)
