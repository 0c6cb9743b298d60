"""The decoder of a stream with a CONSTRUCT or an RML mapping: messages come in, a chunk goes out.

Payloads become records, records become rows of fields, rows become solutions of the mapping's rules, and
solutions become elements. Each step handles all records at once, in a DuckDB of this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos import memory
from rheos.errors import RheosError
from rheos.execute.database import failed
from rheos.mapping.elements import Triples, chunk_of, instantiated, may_repeat
from rheos.mapping.items import field_of, item_fields, iterated
from rheos.mapping.json_fields import Fields, json_fields
from rheos.mapping.metadata import is_metadata, metadata
from rheos.mapping.records import DELIMITERS, Records, json_records, table_lines, table_records
from rheos.mapping.rules import ROW, Rule
from rheos.mapping.values import text_term
from rheos.sources.chunks import Chunk
from rheos.sources.clocks import Clock
from rheos.sources.decoding import Decoder, Messages, apart, numbers_of
from rheos.sources.times import Microseconds
from rheos.sql import macros
from rheos.sql.duckdb import DUCKDB

_local = threading.local()


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """The DuckDB of this thread. As a task has one core, its DuckDB has one thread, and the
    memory of one core."""
    if not hasattr(_local, "connection"):
        most = memory.of_task({}, True, os.cpu_count() or 1)
        _local.connection = duckdb.connect(
            config={"threads": 1, "memory_limit": f"{most}B", "temp_directory": str(memory.spill_folder())}
        )
        _local.connection.execute("SET TimeZone = 'UTC'")
        macros.define(_local.connection)
    try:
        yield _local.connection
    except duckdb.Error as error:
        raise failed(error) from error


@dataclass(frozen=True, slots=True)
class MappedDecoder(Decoder):
    """Applies rules to records of a format: `json`, `csv` or `tsv`."""

    rules: tuple[Rule, ...]
    clock: Clock
    format: str = "json"

    def decode(self, messages: Messages, blank_prefix: str, place: str = "", *, first: bool = False) -> Chunk:
        with database() as cursor:
            if self.format in DELIMITERS:
                records = table_records(messages, self.format)
            else:
                records = json_records(cursor, messages, spread=not self.is_rml)
            return self._mapped(cursor, records, blank_prefix, place, first=first)

    @property
    def is_rml(self) -> bool:
        return any(rule.items is not None for rule in self.rules)

    def reading(self, format: str) -> Decoder:
        chosen = "json" if format in ("ndjson", "jsonl") else format
        for rule in self.rules:
            if rule.items is not None and rule.items.is_table != (chosen in DELIMITERS):
                reads = "CSV" if rule.items.is_table else "JSON"
                raise RheosError(f"the mapping reads {reads}, and the records are {format}")
        return replace(self, format=chosen)

    def decode_lines(
        self, messages: Messages, head: bytes, blank_prefix: str, place: str = "", *, first: bool = False
    ) -> Chunk:
        with database() as cursor:
            return self._mapped(
                cursor, table_lines(messages, self.format, head), blank_prefix, place, first=first
            )

    def _mapped(
        self,
        cursor: duckdb.DuckDBPyConnection,
        records: Records,
        blank_prefix: str,
        place: str,
        *,
        first: bool,
    ) -> Chunk:
        records, rules = self._iterated(cursor, records, self._rules_for(place))
        made = [self._triples(cursor, rule, records, blank_prefix) for rule in rules]
        repeats = any(may_repeat(rule.template) for rule in rules)
        return chunk_of(_together(made), records, self.clock, place, first=first, repeats=repeats)

    def _rules_for(self, place: str) -> tuple[Rule, ...]:
        """The rules for the records of a file. An RML mapping for several files says which
        rules are for which."""
        name = PurePath(place).name.removesuffix(".gz")
        sources = [None if rule.items is None else rule.items.source for rule in self.rules]
        return tuple(
            rule
            for rule, source in zip(self.rules, sources, strict=True)
            if source is None or PurePath(source).name == name
        )

    def _iterated(
        self, cursor: duckdb.DuckDBPyConnection, records: Records, rules: tuple[Rule, ...]
    ) -> tuple[Records, tuple[Rule, ...]]:
        """The records and rules. If all rules are about the items of one iterator, the items
        become the records."""
        iterators = {rule.items.iterator for rule in rules if rule.items is not None}
        [iterator] = iterators if len(iterators) == 1 else [None]
        if iterator is None or records.columns is not None:
            return records, rules
        found = (replace(rule, items=replace(rule.items, iterator=None)) for rule in rules if rule.items)
        return iterated(cursor, records, iterator), tuple(found)

    def _triples(
        self, cursor: duckdb.DuckDBPyConnection, rule: Rule, records: Records, blank_prefix: str
    ) -> Triples:
        view, origin, refused = _view(cursor, rule, records)
        solutions = rule.solutions(cursor, view)
        rows = numbers_of(solutions[ROW].combine_chunks().cast(pa.int64()))
        if len(rows) > 1 and np.any(np.diff(rows) < 0):  # a join does not keep the order
            order = pa.array(np.argsort(rows, kind="stable"))
            solutions, rows = solutions.take(order), rows[order.to_numpy()]
        s, p, o, number = instantiated(rule.template, solutions, records, origin, blank_prefix)
        record = rows if origin is None else numbers_of(origin)[rows]
        if rule.items is None:  # in RML, a blank node with a label is the same in the whole stream
            lines = records.line[record][number]
            s, o = (_own_blanks(column, lines, blank_prefix) for column in (s, o))
        time = None
        if self.clock.kind == "field" and rule.items is not None:
            time = field_of(cursor, records, self.clock.name).take(pa.array(record))
        elif self.clock.kind == "field":
            name = self.clock.name
            time = solutions[name].combine_chunks() if name in solutions.column_names else None
            time = pa.nulls(len(rows), pa.string()) if time is None else time
        return Triples(s, p, o, number, record, time, refused)


def _own_blanks(column: pa.Array, lines: Microseconds, prefix: str) -> pa.Array:
    """Terms in which blank nodes that BNODE made are named by their message. Those of
    templates are so already."""
    made = pc.match_substring_regex(column, "^_:[lu][0-9a-f]{32}$")
    return column if not pc.any(made).as_py() else pc.if_else(made, apart(column, lines, prefix), column)


def _together(made: Sequence[Triples]) -> Triples:
    """The triples of several rules in the order of the records."""
    if len(made) == 1:
        return made[0]
    if not made:
        nothing = pa.array([], pa.string())
        return Triples(nothing, nothing, nothing, np.empty(0, np.int64), np.empty(0, np.int64), nothing)
    offsets = np.cumsum([0, *(len(part.record) for part in made)])
    rows = np.concatenate([part.row + start for part, start in zip(made, offsets, strict=False)])
    record = np.concatenate([part.record for part in made])
    order = np.argsort(record[rows], kind="stable")
    s, p, o = (pa.concat_arrays([part[at] for part in made]).take(pa.array(order)) for at in range(3))
    given = [part.time for part in made if part.time is not None]
    time = pa.concat_arrays(given) if given else None
    refused = tuple({number for part in made for number in part.refused})
    return Triples(s, p, o, rows[order], record, time, refused)


def _view(cursor: duckdb.DuckDBPyConnection, rule: Rule, records: Records) -> Fields:
    """The view that a rule reads: the columns c1, c2, … for the row and the fields."""
    fields = rule.fields
    if rule.items is not None:
        found = item_fields(cursor, records, rule.items)
        columns = [f"f{at} AS c{at + 1}" for at in range(1, len(fields) + 1)]
        return found._replace(
            sql=f"SELECT CAST(row AS VARCHAR) AS c1, {', '.join(columns)} FROM ({found.sql})"
        )
    own = [name for name in fields if not is_metadata(name)]
    if records.columns is None:
        found = json_fields(cursor, records.texts, own)
    else:
        found = Fields(_column_fields(cursor, records, own))
    origin = found.origin
    columns, source = ["CAST(found.row AS VARCHAR) AS c1"], f"({found.sql}) AS found"
    about = [name for name in fields if is_metadata(name)]
    if about:
        rows = np.arange(len(records)) if origin is None else numbers_of(origin)
        table = metadata(records.messages.take(records.origin), records.line, about).take(pa.array(rows))
        cursor.register("about", table.append_column("row", pa.array(np.arange(len(rows)))))
        source += " JOIN about USING (row)"
    for at, name in enumerate(fields, start=2):
        column = f"about.m{about.index(name) + 1}" if is_metadata(name) else f"found.f{own.index(name) + 1}"
        columns.append(f"{column} AS c{at}")
    return found._replace(sql=f"SELECT {', '.join(columns)} FROM {source}")


def _column_fields(cursor: duckdb.DuckDBPyConnection, records: Records, fields: Sequence[str]) -> str:
    known = records.columns or {}
    there = {name: known[name] for name in fields if name in known}
    rows = pa.array(np.arange(len(records)))
    cursor.register(
        "columns_of", pa.table([rows, *there.values()], ["row", *(f"t{at}" for at in range(len(there)))])
    )
    place = {name: at for at, name in enumerate(there)}
    columns = ["row"]
    for at, name in enumerate(fields, start=1):
        value = text_term(f"t{place[name]}") if name in place else DUCKDB.null
        columns.append(f"{value} AS f{at}")
    return f"SELECT {', '.join(columns)} FROM columns_of"
