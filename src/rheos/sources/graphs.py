"""Streams of graphs: the column `graph`, which tells which graph a triple of the stream came in.

The triples of a graph follow one another and have the same time. For the first triple of a graph the column
has a plus sign, for the others an equals sign. The name of the graph follows the sign, if the graph has one.
The column is NULL for a triple that came alone, so it is NULL in a whole stream of triples: there each triple
is a graph of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FIRST, OTHER = "+", "="


def marked(names: Sequence[str | None], numbers: npt.NDArray[np.int64]) -> pa.Array:
    """The column `graph` of triples. `numbers` has the number of each triple's graph, and `names` the name of
    the graph with that number."""
    first = np.ones(len(numbers), bool)
    first[1:] = numbers[1:] != numbers[:-1]
    marks = pc.if_else(pa.array(first), FIRST, OTHER)
    if all(name is None for name in names):
        return marks
    found = pa.array([name or "" for name in names], pa.string()).take(pa.array(numbers))
    return pc.binary_join_element_wise(marks, found, "")


def opening(graph: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_] | None:
    """Which triples are the first of their graph; None if all of them are."""
    if graph.null_count == len(graph):
        return None
    others = pc.fill_null(pc.starts_with(graph, OTHER), False)
    found: npt.NDArray[np.bool_] = ~others.to_numpy(zero_copy_only=False).astype(bool)
    return found


def some(batch: pa.RecordBatch, kept: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Some of the elements of a batch. What is left of a graph is still a graph of its own."""
    chosen = batch.filter(pa.array(kept))
    first = opening(batch.column("graph"))
    if first is None or not chosen.num_rows:
        return chosen
    number = np.cumsum(first)[kept]  # of the graph that each element came in
    opens = np.append(True, number[1:] != number[:-1])
    graph = chosen.column("graph")
    marks = pc.if_else(pa.array(opens), FIRST, OTHER)
    graph = pc.binary_join_element_wise(marks, pc.utf8_slice_codeunits(graph, 1), "")
    return chosen.set_column(batch.schema.get_field_index("graph"), batch.schema.field("graph"), graph)


def names_of(graph: pa.ChunkedArray) -> pa.ChunkedArray:
    """The name of each triple's graph; NULL where the graph has no name."""
    names = pc.utf8_slice_codeunits(graph, 1)
    return pc.if_else(pc.equal(names, ""), pa.scalar(None, pa.string()), names)
