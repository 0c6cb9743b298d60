"""The answers of continuous queries: Arrow tables for batches of instants come in, Answers or lines go out.

The table of a batch has the columns `instant` and `at` (microseconds since 1970 UTC). For EP-SPARQL it also
has `start`; `at` is then the end, unless answers are late: then there is a column `end`. After these there is
one column of terms for each variable; `subject`, `predicate` and `object` for CONSTRUCT and DESCRIBE; the
boolean `found` for ASK. Columns are read by position, since a variable may be called `?at`, too. The answer
of a one-shot query is a batch whose times are NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from json.encoder import encode_basestring
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.algebra.nodes import Kind
from rheos.answers.cells import concatenated, joined, json_objects, mapped
from rheos.answers.result import TRIPLE_COLUMNS, Result
from rheos.terms import AnyTerm, split_literal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class QueryInfo:
    """What writers and sinks need to know of a query; it can be pickled."""

    name: str
    kind: Kind
    variables: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    occurs: bool = False  # whether answers have a start and an end
    late: bool = False  # whether answers are reported later than at their end
    errors: tuple[str, ...] = ()  # the variables that are estimates; each also has a column for its error
    skips: bool = False  # whether the last column says that the instant of a row was skipped

    @property
    def times(self) -> int:
        """The number of columns of times before the terms: instant, at, start, end.

        The end has a column of its own only if answers are late; otherwise `at` is the end.
        """
        return 2 + self.occurs + self.late

    @property
    def interval(self) -> tuple[int, int]:
        """The positions of the columns of the start and the end."""
        return 2, 3 if self.late else 1

    @property
    def is_graph(self) -> bool:
        return self.kind in ("construct", "describe")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns after the times in a table of answers."""
        if self.is_graph:
            return TRIPLE_COLUMNS
        return ("boolean",) if self.kind == "ask" else tuple(self.variables)


@dataclass(frozen=True)
class Answer:
    """What a query reports at one instant; terms are decoded when they are first needed."""

    kind: Kind
    variables: tuple[str, ...]
    at: datetime
    table: pa.Table = field(repr=False)
    start: datetime | None = None
    end: datetime | None = None
    late: bool = False  # whether it is reported later than at its end
    skips: bool = False  # whether the last column says that the instant was skipped

    @classmethod
    def of(
        cls, query: QueryInfo, at: int, table: pa.Table, start: int | None = None, end: int | None = None
    ) -> Answer:
        """The answer at one instant; `table` is a slice of a batch's table, with times before the terms."""
        terms = table.select(list(range(query.times, table.num_columns)))
        when = moment(at)
        if start is None:
            return cls(query.kind, tuple(query.variables), when, terms, skips=query.skips)
        ended = when if end is None else moment(end)
        return cls(query.kind, tuple(query.variables), when, terms, moment(start), ended, query.late)

    @cached_property
    def rows(self) -> list[dict[str, AnyTerm]] | None:
        """The solutions of a SELECT; an unbound variable is not among the keys."""
        if self.kind != "select":
            return None
        table = self.table.rename_columns(list(self.variables))
        if not self.skips:
            return Result.select(self.variables, table).rows
        own = self.variables[:-1]
        return Result.select(own, table.slice(0, 0 if self.skipped else None).select(list(own))).rows

    @property
    def skipped(self) -> bool:
        """Whether the query skipped this instant, which a query that is stretched may do."""
        return self.skips and len(self) > 0 and self.table.column(-1)[0].is_valid

    @cached_property
    def triples(self) -> list[ox.Triple] | None:
        """The graph of a CONSTRUCT or DESCRIBE."""
        if self.kind == "construct" or self.kind == "describe":
            return Result.graph(self.kind, self.table).triples
        return None

    @property
    def boolean(self) -> bool | None:
        """The answer of an ASK."""
        if self.kind != "ask":
            return None
        return self.table.num_rows > 0 and bool(self.table.column(0)[0].as_py())

    def batch(self) -> pa.Table:
        """The answer as the table of a batch, with the times before the terms."""
        times = [self.at] if self.start is None else [self.at, self.start]
        if self.late and self.end is not None:
            times.append(self.end)
        numbers = [1, *((time - EPOCH) // timedelta(microseconds=1) for time in times)]
        columns = [pa.array([number] * len(self), pa.int64()) for number in numbers]
        names = ["instant", "at", "start", "end"][: len(columns)]
        return pa.table([*columns, *self.table.columns], names=[*names, *self.table.column_names])

    def __len__(self) -> int:
        return int(self.table.num_rows)


def answers(query: QueryInfo, instants: pa.Table, rows: pa.Table) -> Iterator[Answer]:
    """One Answer for each of the reported `instants` (a table of times), even if it has no rows.

    Both tables are in the order of instants.
    """
    numbers = instants.column(0).to_numpy()
    reported = rows.column(0).to_numpy()
    starts = np.searchsorted(reported, numbers, side="left").tolist()
    ends = np.searchsorted(reported, numbers, side="right").tolist()
    times = (column.to_pylist() for column in instants.columns[1 : query.times])
    for first, last, at, *begun in zip(starts, ends, *times, strict=True):
        yield Answer.of(query, at, rows.slice(first, last - first), *begun)


def untimed(query: QueryInfo, result: Result) -> pa.Table:
    """The answer of a one-shot query as a batch."""
    nothing = pa.nulls(result.arrow.num_rows, pa.int64())
    return pa.table([nothing, nothing, *result.arrow.columns], names=["instant", "at", *query.columns])


def moment(microseconds: int) -> datetime:
    """A time of the engine as an aware datetime."""
    return EPOCH + timedelta(microseconds=microseconds)


def time_text(microseconds: int) -> str:
    """A time of the engine as xsd:dateTime in UTC, in its shortest form: `2026-01-01T00:01:00.25Z`."""
    seconds, rest = divmod(microseconds, 1_000_000)
    text = second_text(seconds)
    return f"{text}.{rest:06}".rstrip("0") + "Z" if rest else f"{text}Z"


@lru_cache(maxsize=1 << 14)
def second_text(seconds: int) -> str:
    """The text of a second. It is cached, because times come in order and many are in the same second."""
    return moment(seconds * 1_000_000).replace(tzinfo=None).isoformat()


def ntriples_term(term: str) -> str:
    """A term in the form of N-Triples, with the escapes that the engine's own form does not have."""
    if term[0] != '"':
        return term
    lexical, suffix = split_literal(term)
    return f'"{lexical.translate(_ESCAPES)}"{suffix}'


def answer_lines(kind: Kind, name: str, variables: Sequence[str], table: pa.Table) -> bytes:
    """The answers of one query in a batch as NDJSON, with a line for each row, triple or boolean."""
    return joined(ndjson_lines(Alike((QueryInfo(name, kind, tuple(variables)),), table)))


@dataclass(frozen=True, slots=True)
class Alike:
    """The answers in a batch of queries that differ only in their names.

    `owners` has for each row the place of its query; it is None if there is only one query.
    """

    queries: tuple[QueryInfo, ...]
    table: pa.Table
    owners: npt.NDArray[np.int64] | None = None

    @property
    def query(self) -> QueryInfo:
        return self.queries[0]

    def names(self, text: Callable[[str], str]) -> pa.Array | str:
        """The text of the query's name for each row; a single text if there is only one query."""
        if self.owners is None:
            return text(self.query.name)
        return pa.array([text(query.name) for query in self.queries], pa.large_string()).take(
            pa.array(self.owners)
        )


def ndjson_lines(alike: Alike) -> pa.Array:
    """A batch as NDJSON: for each row a line with its line feed."""
    query, table = alike.query, alike.table
    names = alike.names(lambda name: f'{{"query":{encode_basestring(name)},')
    times = [mapped(table.column(1), lambda at: f'"at":"{time_text(at)}",')]
    if query.occurs:
        start, end = query.interval
        times.append(mapped(table.column(start), lambda at: f'"start":"{time_text(at)}",'))
        times.append(mapped(table.column(end), lambda at: f'"end":"{time_text(at)}",'))
    heads = concatenated(names, *times)
    columns = table.columns[query.times :]
    if query.errors or query.skips:
        return noted_lines(query, heads, columns)
    if query.kind == "ask":
        words = mapped(columns[0], lambda found: f'"boolean":{"true" if found else "false"}}}\n')
        return concatenated(heads, words)
    if query.is_graph:
        cells = [mapped(column, _quotable) for column in columns]
        return concatenated(heads, '"triple":"', concatenated(*cells, between=" "), ' ."}\n')
    return concatenated(heads, '"row":', *json_objects(query.variables, columns), "}\n")


def noted_lines(query: QueryInfo, heads: pa.Array, columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """The lines of a SELECT that has estimates, with their errors, or that says which instants it skipped."""
    own = len(query.variables) - len(query.errors) - query.skips
    rows = json_objects(query.variables[:own], columns[:own])
    ends: list[pa.Array | str] = []
    if query.errors:
        found = [mapped(columns[own + at], _error(name)) for at, name in enumerate(query.errors)]
        ends += [',"error":{', pc.utf8_slice_codeunits(concatenated(*found), 1), "}"]
    lines = concatenated(heads, '"row":', *rows, *ends, "}\n")
    if not query.skips:
        return lines
    skipped = columns[-1].combine_chunks().is_valid()
    return pc.if_else(skipped, concatenated(heads, '"skipped":true}\n'), lines)


def nquads_lines(alike: Alike) -> pa.Array:
    """Triples with their time or interval as elements of a stream, in the form that `--stream` reads."""
    query, table = alike.query, alike.table
    cells = [mapped(column, ntriples_term) for column in table.columns[query.times :]]
    times = [mapped(column, _literal) for column in reversed(table.columns[1 : query.times])]
    return concatenated(concatenated(*cells, *times, between=" "), " .\n")


def trig_graph(query: QueryInfo, answered: pa.Table) -> str:
    """The triples of one instant as a named graph that says its time, in the form that `--stream` reads."""
    cells = [mapped(column, ntriples_term) for column in answered.columns[query.times :]]
    triples = joined(concatenated(concatenated(*cells, between=" "), " .\n")).decode()
    at = answered.column(1)[0].as_py()
    name = f"<urn:rheos:{quote(query.name, safe='')}:{time_text(at)}>"
    said = f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {_literal(at)} ."
    return f"GRAPH {name} {{\n{triples}}}\n{said}\n"


def _literal(at: int) -> str:
    return f'"{time_text(at)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def _error(name: str) -> Callable[[str], str]:
    key = encode_basestring(name)
    return lambda term: f",{key}:{split_literal(term)[0]}"


def _quotable(term: str) -> str:
    """A term of N-Triples, escaped for a string of JSON."""
    return encode_basestring(ntriples_term(term))[1:-1]
