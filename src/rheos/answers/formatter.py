"""Formatters: make the bytes that a batch appends to the output, from the answers of all queries of a run.

The lines of all queries are in the order of `at`, and at the same `at` in the order of the queries. A
formatter keeps nothing between batches, so its output depends only on the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from io import StringIO
from typing import Literal

import numpy as np
import pyarrow as pa

from rheos.answers import table as tables
from rheos.answers.cells import concatenated, csv_cells, joined, mapped
from rheos.answers.continuous import (
    Alike,
    QueryInfo,
    ndjson_lines,
    nquads_lines,
    time_text,
    trig_graph,
)
from rheos.answers.terms import csv_field
from rheos.errors import RheosError

Format = Literal["ndjson", "csv", "table", "nquads", "trig"]
FORMATS: tuple[Format, ...] = ("ndjson", "csv", "table", "nquads", "trig")
_WHOLE = ("table", "trig")  # an instant is one text
_ELEMENTS = ("nquads", "trig")  # can be read as a stream again
Answered = Sequence[tuple[QueryInfo, pa.Table]]
Write = Callable[[Alike], pa.Array]

PIECE = 1 << 15  # rows


class Formatter:
    """A form of output for the answers of some queries.

    CSV has one header, so all queries must have the same columns. N-Quads and TriG are elements of streams,
    so all queries must be CONSTRUCT or DESCRIBE; in TriG the triples of an instant are a graph. `width` is
    the width of the terminal for which tables are made, with colours; without it, tables are plain text.
    `once` are the answers of one-shot queries, which come first.
    """

    def __init__(
        self,
        format: Format,
        queries: Sequence[QueryInfo] = (),
        *,
        width: int | None = None,
        once: Answered = (),
    ) -> None:
        self.format = format
        self.queries = (*(query for query, _ in once), *queries)
        self.width = width
        self.once = once
        for query in self.queries:
            self.check(query)
        if format in _ELEMENTS and once:
            raise RheosError(f"{once[0][0].name} reads no stream, so its triples have no time; use ndjson")

    def check(self, query: QueryInfo) -> None:
        """Raise an error if this form of output cannot have the answers of a query."""
        if self.format in _ELEMENTS and not query.is_graph:
            raise RheosError(
                f"{query.name} is of the form {query.kind.upper()}, and {self.format} needs triples, as "
                "CONSTRUCT and DESCRIBE make them; use ndjson, csv or table"
            )
        if self.format == "trig" and query.occurs:
            raise RheosError(f"the answers of {query.name} have intervals, and a graph one time; use nquads")
        first = self.queries[0] if self.queries else query
        if self.format == "csv" and (query.columns, query.occurs) != (first.columns, first.occurs):
            raise RheosError(
                f"csv has one header, but {first.name} has the columns {', '.join(first.columns)} and "
                f"{query.name} has {', '.join(query.columns)}; use ndjson, or run the queries apart"
            )

    def header(self) -> bytes:
        """The start of the output: the header of CSV, and the answers of one-shot queries."""
        names = ""
        if self.format == "csv" and self.queries:
            first = self.queries[0]
            times = ("at", "start", "end") if first.occurs else ("at",)
            names = ",".join(map(csv_field, ("query", *times, *first.columns))) + "\r\n"
        return names.encode() + b"".join(self.batch([answered]) for answered in self.once)

    def batch(self, answers: Answered) -> bytes:
        """The output for the answers of all queries in a batch; each table is in order of instants."""
        write: dict[Format, Write] = {
            "ndjson": ndjson_lines,
            "csv": csv_lines,
            "table": self._tables,
            "nquads": nquads_lines,
            "trig": lambda alike: by_instant(alike, trig_graph),
        }
        return in_order(answers, write[self.format], whole=self.format in _WHOLE)

    def _tables(self, alike: Alike) -> pa.Array:
        return by_instant(alike, self._table)

    def _table(self, query: QueryInfo, answered: pa.Table) -> str:
        at = answered.column(1)[0].as_py()
        heading = query.name if at is None else f"{query.name}  {time_text(at)}"
        if query.occurs:
            start, end = (time_text(answered.column(place)[0].as_py()) for place in query.interval)
            heading = f"{query.name}  {start} to {end}"
        if query.kind == "ask":
            return f"{heading}  {_word(answered.column(query.times)[0].as_py())}\n\n"
        columns = answered.columns[query.times :]
        terms = pa.table(columns, names=list(query.columns)) if columns else answered.select([])
        return f"{heading}\n{self._grid(query, tables.printable(terms))}\n"

    def _grid(self, query: QueryInfo, terms: pa.Table) -> str:
        """Rows as a table for a terminal of the given width, or as plain text."""
        if self.width is None:
            return tables.plain(query.columns, terms, query.prefixes)
        from rich.console import Console

        text = StringIO()
        console = Console(file=text, force_terminal=True, width=self.width)
        tables.show(query.columns, terms, query.prefixes, console)
        return text.getvalue()


def by_instant(alike: Alike, write: Callable[[QueryInfo, pa.Table], str]) -> pa.Array:
    """A text for each instant, as that of its first row; its other rows have empty texts."""
    answered = alike.table
    texts = [""] * answered.num_rows
    instants = answered.column(0).fill_null(0).to_numpy()
    starts = np.flatnonzero(np.diff(instants, prepend=instants[0] - 1)).tolist()
    for start, end in zip(starts, [*starts[1:], len(texts)], strict=True):
        texts[start] = write(alike.query, answered.slice(start, end - start))
    return pa.array(texts, pa.large_string())


def csv_lines(alike: Alike) -> pa.Array:
    """Lines with the query, the time, and the values of terms as in SPARQL 1.1 CSV results."""
    query, answered = alike.query, alike.table
    times = [mapped(answered.column(at), time_text) for at in (1, *(query.interval if query.occurs else ()))]
    columns = answered.columns[query.times :]
    cells = [mapped(column, _word) for column in columns] if query.kind == "ask" else map(csv_cells, columns)
    return concatenated(concatenated(alike.names(csv_field), *times, *cells, between=","), "\r\n")


def in_order(answers: Answered, write: Write, *, whole: bool = False) -> bytes:
    """The lines of all tables, merged by time; if `whole`, each table is written by itself and as a whole."""
    filled = [(query, answered.combine_chunks()) for query, answered in answers if answered.num_rows]
    if len(filled) == 1 and not whole:
        # In pieces, so that the same memory is used again, which is in the processor's cache.
        [(query, answered)] = filled
        slices = (answered.slice(start, PIECE) for start in range(0, answered.num_rows, PIECE))
        return b"".join(joined(write(Alike((query,), piece))) for piece in slices)
    written, places, times = [], [], []
    for members in like_ones(filled, apart=whole):
        queries, found = zip(*(filled[place] for place in members), strict=True)
        sizes = [len(answered) for answered in found]
        owners = np.repeat(np.arange(len(members)), sizes) if len(members) > 1 else None
        # The columns have the same types but perhaps other names; they are read by position.
        names = list(map(str, range(found[0].num_columns)))
        alike = Alike(queries, pa.concat_tables(t.rename_columns(names) for t in found), owners)
        written.append(write(alike))
        places.append(np.repeat(members, sizes))
        times.append(alike.table.column(1).fill_null(0).to_numpy())
    if not written:
        return b""
    order = np.lexsort((np.concatenate(places), np.concatenate(times)))  # stable: rows stay in their order
    return joined(pa.concat_arrays(written).take(pa.array(order)))


def like_ones(answers: Answered, *, apart: bool) -> list[list[int]]:
    """Groups of the places of queries that differ only in their names; if `apart`, each query is a group."""
    found: dict[Hashable, list[int]] = {}
    for place, (query, answered) in enumerate(answers):
        key = place if apart else (query.kind, query.columns, tuple(answered.schema.types))
        found.setdefault(key, []).append(place)
    return list(found.values())


def _word(found: bool) -> str:
    return "true" if found else "false"
