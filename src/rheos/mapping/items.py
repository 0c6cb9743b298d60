"""Items of RML: records, an iterator and paths come in, rows of terms go out as SQL.

An iterator finds items in a record, and the paths of references find values in an item. A path that finds
several values gives a row for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.execute.database import run
from rheos.mapping.json_fields import MOST_ROWS, Fields, json_fields, name_of
from rheos.mapping.jsonpath import JsonPath
from rheos.mapping.records import Records
from rheos.mapping.rules import Items
from rheos.mapping.values import json_term, text_term
from rheos.sources.chunks import BadLine
from rheos.sources.decoding import numbers_of
from rheos.sql.duckdb import DUCKDB

_RECORDS, _ITEMS = "whole_records", "items"


def iterated(cursor: duckdb.DuckDBPyConnection, records: Records, iterator: JsonPath) -> Records:
    """The items of an iterator as records of their own."""
    found = _found(cursor, records, iterator)
    origin = numbers_of(found["origin"].combine_chunks())
    empty = np.setdiff1d(np.arange(len(records)), origin)
    reason = f"the iterator {iterator.text} finds nothing in the record"
    bad = [BadLine(int(records.line[row]), records.text(int(row)), reason) for row in empty]
    return replace(
        records,
        origin=records.origin[origin],
        line=records.line[origin],
        texts=found["item"].combine_chunks(),
        bad=[*records.bad, *bad],
    )


def _found(cursor: duckdb.DuckDBPyConnection, records: Records, iterator: JsonPath | None) -> pa.Table:
    """The items of each record in their order: `origin` is the record's number."""
    table = pa.table([pa.array(np.arange(len(records))), records.texts], ["origin", "item"])
    if iterator is None or iterator.sql == "$":
        return table
    cursor.register(_RECORDS, table)
    path = DUCKDB.string(iterator.sql)
    value = f"unnest(CAST(json_extract(item, {path}) AS VARCHAR[]))"
    if not iterator.many:
        value = f"CAST(json_extract(item, {path}) AS VARCHAR)"
    sql = f"SELECT origin, {value} AS item FROM {_RECORDS}"
    return run(cursor, f"SELECT * FROM ({sql}) WHERE item IS NOT NULL").to_arrow_table()


def item_fields(cursor: duckdb.DuckDBPyConnection, records: Records, items: Items) -> Fields:
    """The fields of items: the number of the item, and the value that each path finds in it."""
    if records.columns is not None:
        return Fields(_columns(cursor, records, items))
    found = _found(cursor, records, items.iterator)
    origin = found["origin"].combine_chunks()
    single = [path for path in items.paths if not path.many]
    many = [path for path in items.paths if path.many]
    cursor.register(_ITEMS, found.append_column("number", pa.array(np.arange(found.num_rows))))
    refused = _beyond(cursor, many)
    if refused:
        kept = pc.invert(pc.is_in(origin, pa.array(refused)))
        numbered = found.append_column("number", pa.array(np.arange(found.num_rows)))
        cursor.register(_ITEMS, numbered.filter(kept))
    paths = ", ".join(DUCKDB.string(path.sql) for path in single)
    extracted = f"CAST(json_extract(item, [{paths}]) AS VARCHAR[])" if single else "CAST([] AS VARCHAR[])"
    sql = f"SELECT number, item, {extracted} AS found FROM {_ITEMS}"
    for at, path in enumerate(many):
        values = f"CAST(json_extract(item, {DUCKDB.string(path.sql)}) AS VARCHAR[])"
        # A path that finds nothing leaves one row without a value.
        several = f"CASE WHEN len({values}) > 0 THEN {values} ELSE [NULL] END"
        sql = f"SELECT *, unnest({several}) AS m{at} FROM ({sql})"
    row, result = "number", origin if items.iterator is not None else None
    if many:
        table = run(cursor, f"SELECT * EXCLUDE item FROM ({sql})").to_arrow_table()
        result = origin.take(table["number"].combine_chunks())
        cursor.register(_ITEMS, table.append_column("row", pa.array(np.arange(table.num_rows))))
        row, sql = "row", f"SELECT * FROM {_ITEMS}"
    columns = [f"{row} AS row", "CAST(number AS VARCHAR) AS f1"]
    for at, path in enumerate(items.paths, start=2):
        value = f"m{many.index(path)}" if path.many else f"found[{single.index(path) + 1}]"
        columns.append(f"{json_term(value)} AS f{at}")
    return Fields(f"SELECT {', '.join(columns)} FROM ({sql})", result, refused)


def _beyond(cursor: duckdb.DuckDBPyConnection, many: Sequence[JsonPath]) -> tuple[int, ...]:
    """The records whose items would have too many rows."""
    if not many:
        return ()
    lengths = (f"greatest(1, len(json_extract(item, {DUCKDB.string(path.sql)})))" for path in many)
    rows = f"SELECT origin FROM {_ITEMS} GROUP BY origin HAVING sum({' * '.join(lengths)}) > {MOST_ROWS}"
    return tuple(row[0] for row in run(cursor, rows).fetchall())


def _columns(cursor: duckdb.DuckDBPyConnection, records: Records, items: Items) -> str:
    known = records.columns or {}
    names = [name_of(path.text) for path in items.paths]
    there = [name for name in dict.fromkeys(names) if name in known]
    table = pa.table([known[name] for name in there], [f"t{at}" for at in range(len(there))])
    cursor.register(_ITEMS, table.append_column("row", pa.array(np.arange(len(records)))))
    columns = ["row", "CAST(row AS VARCHAR) AS f1"]
    for at, name in enumerate(names, start=2):
        value = text_term(f"t{there.index(name)}") if name in there else DUCKDB.null
        columns.append(f"{value} AS f{at}")
    return f"SELECT {', '.join(columns)} FROM {_ITEMS}"


def field_of(cursor: duckdb.DuckDBPyConnection, records: Records, name: str) -> pa.Array:
    """The term of a field of each record. If a record is an item that lacks the field, the field
    of the whole message."""
    if records.columns is not None:
        column = records.columns.get(name)
        if column is None:
            return pa.nulls(len(records), pa.string())
        cursor.register(_ITEMS, pa.table([column], ["t0"]))
        return _terms(cursor, f"SELECT {text_term('t0')} AS f1 FROM {_ITEMS}")
    own = _field(cursor, records.texts, name)
    if not own.null_count:
        return own
    whole = records.messages.payload.take(
        pa.array(records.origin[own.is_null().to_numpy(zero_copy_only=False)])
    )
    found = _field(cursor, whole.cast(pa.string()), name)
    values = own.to_numpy(zero_copy_only=False).copy()
    values[own.is_null().to_numpy(zero_copy_only=False)] = found.to_numpy(zero_copy_only=False)
    return pa.array(values, pa.string(), from_pandas=True)


def _field(cursor: duckdb.DuckDBPyConnection, texts: pa.Array, name: str) -> pa.Array:
    fields = json_fields(cursor, texts, [name])
    found = _terms(cursor, fields.sql)
    if fields.origin is None:
        return found
    # Of several values, the first.
    records, first = np.unique(numbers_of(fields.origin), return_index=True)
    values = np.full(len(texts), -1)
    values[records] = first
    return found.take(pa.array(values, mask=values < 0))


def _terms(cursor: duckdb.DuckDBPyConnection, sql: str) -> pa.Array:
    return run(cursor, f"SELECT f1 FROM ({sql})").to_arrow_table()["f1"].combine_chunks().cast(pa.string())
