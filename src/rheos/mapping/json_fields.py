"""Fields of JSON records: texts and the names of fields come in, rows of terms go out as SQL.

The name of a field is a key, or all keys on the way to a value, joined by `_`. Characters that a variable
cannot have are `_`, too. So `?room_name` is {"room_name": …} or else {"room": {"name": …}}. An array gives a
row for each of its items; several arrays give a row for each combination of items.

Without arrays, one expression extracts all values. With arrays, the work goes level by level: the values of a
key are extracted, and spread over rows if they are arrays; then come the keys inside these values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.execute.database import run
from rheos.mapping.values import json_term
from rheos.sql.duckdb import DUCKDB

TEXTS, SPREAD = "texts", "spread"
# The arrays of one record can have more combinations than any machine can hold.
MOST_ROWS = 100_000
TOO_MANY = f"the arrays of the record have more than {MOST_ROWS:,} combinations"
# If a chunk has keys with other characters or with escapes, its keys are looked for in the data.
_ODD_KEY = r'\\|"[^"]*[^A-Za-z0-9_"][^"]*"\s*:'
_STRING = r'"(?:[^"\\]|\\.)*"\s*:?'
_NOT_IN_NAMES = re.compile(r"\W")
# A name with more parts can be split into keys in too many ways: then, too, keys are looked for in the data.
_MOST_PARTS = 5


@dataclass
class _Level:
    """A value in the records: the levels of the keys under it, and the number of the column that holds it."""

    keys: dict[str, _Level] = field(default_factory=dict)
    number: int = 0

    def at(self, path: Sequence[str]) -> _Level:
        level = self
        for key in path:
            level = level.keys.setdefault(key, _Level())
        return level


def name_of(key: str) -> str:
    """A key, in the form that it has in the name of a variable."""
    return _NOT_IN_NAMES.sub("_", key)


class Fields(NamedTuple):
    """SQL that gives the columns row, f1, f2, …. `origin` is the number of the record of each row;
    None if each record is one row. `refused` are the numbers of the records that would have too many
    rows; they have none."""

    sql: str
    origin: pa.Array | None = None
    refused: tuple[int, ...] = ()


def json_fields(cursor: duckdb.DuckDBPyConnection, texts: pa.Array, fields: Sequence[str]) -> Fields:
    """The fields of JSON texts, which must be valid."""
    cursor.register(TEXTS, pa.table([pa.array(np.arange(len(texts))), texts], ["row", "text"]))
    keys = _keys(cursor, texts, fields)
    paths = {name: list(_paths(name, keys)) for name in fields}
    if not pc.any(pc.match_substring(texts, "[")).as_py():
        return Fields(_at_once(fields, paths))
    return _by_level(cursor, fields, paths)


def _keys(
    cursor: duckdb.DuckDBPyConnection, texts: pa.Array, fields: Iterable[str]
) -> Mapping[str, list[str]] | None:
    """The keys of the records, by the form that they have in names of variables. None if all keys are the
    same as this form, and need not be looked for."""
    many = any(name.count("_") >= _MOST_PARTS for name in fields)
    if not many and not pc.any(pc.match_substring_regex(texts, _ODD_KEY)).as_py():
        return None
    found: dict[str, list[str]] = {}
    # Every string is matched as a whole, so that no match begins inside a string. Strings before a colon are
    # keys.
    strings = (
        f"SELECT DISTINCT unnest(regexp_extract_all(text, {DUCKDB.string(_STRING)})) AS key FROM {TEXTS}"
    )
    rows = run(cursor, f"SELECT key FROM ({strings}) WHERE ends_with(key, ':')").fetchall()
    for key in sorted({json.loads(row[0][:-1]) for row in rows}):
        found.setdefault(name_of(key), []).append(key)
    return found


def _paths(name: str, keys: Mapping[str, list[str]] | None) -> Iterator[tuple[str, ...]]:
    """The sequences of keys that a name may stand for, the shortest first."""
    ways: list[list[tuple[tuple[str, ...], str]]] = [[((), name)]]
    found: list[tuple[str, ...]] = []
    while ways:
        following: list[tuple[tuple[str, ...], str]] = []
        for path, rest in ways.pop():
            found += [(*path, key) for key in _named(rest, keys)]
            for at in (match.start() for match in re.finditer("_", rest)):
                if 0 < at < len(rest) - 1:
                    following += [((*path, key), rest[at + 1 :]) for key in _named(rest[:at], keys)]
        if following:
            ways.append(following)
    yield from sorted(found, key=len)


def _named(name: str, keys: Mapping[str, list[str]] | None) -> list[str]:
    return [name] if keys is None else keys.get(name, [])


def _at_once(fields: Sequence[str], paths: Mapping[str, list[tuple[str, ...]]]) -> str:
    every = list(dict.fromkeys(path for name in fields for path in paths[name]))
    number = {path: at for at, path in enumerate(every, start=1)}
    columns, values = ["row"], ["row"]
    for at, name in enumerate(fields, start=1):
        values.append(f"{_first([f'found[{number[path]}]' for path in paths[name]])} AS v{at}")
        columns.append(f"{json_term(f'v{at}')} AS f{at}")
    wanted = ", ".join(_pointer(path) for path in every)
    extracted = f"CAST(json_extract(text, [{wanted}]) AS VARCHAR[])" if every else "CAST([] AS VARCHAR[])"
    source = f"SELECT {', '.join(values)} FROM (SELECT row, {extracted} AS found FROM {TEXTS})"
    return f"SELECT {', '.join(columns)} FROM ({source})"


def _by_level(
    cursor: duckdb.DuckDBPyConnection, fields: Sequence[str], paths: Mapping[str, list[tuple[str, ...]]]
) -> Fields:
    root, refused = _Level(), list[int]()
    ends = {name: [root.at(path) for path in paths[name]] for name in fields}
    table = run(cursor, f"SELECT row AS origin, text AS n0 FROM {TEXTS}").to_arrow_table()
    pending, count = [root], 0
    while pending:
        level = pending.pop(0)
        if not level.keys:
            continue
        following = list(level.keys.values())
        for below in following:
            count += 1
            below.number = count
        wanted = ", ".join(_pointer((key,)) for key in level.keys)
        names = ", ".join(f"found[{at}] AS n{below.number}" for at, below in enumerate(following, start=1))
        cursor.register(SPREAD, table)
        values = f"CAST(json_extract(n{level.number}, [{wanted}]) AS VARCHAR[])"
        table = run(
            cursor, f"SELECT * EXCLUDE found, {names} FROM (SELECT *, {values} AS found FROM {SPREAD})"
        ).to_arrow_table()
        table = _shortened(table, f"n{level.number}")
        for below in following:
            table = _spread(cursor, table, f"n{below.number}", refused)
            if not below.keys:
                table = _shortened(table, f"n{below.number}")
        pending += following
    cursor.register(SPREAD, table.append_column("row", pa.array(np.arange(table.num_rows))))
    columns = ["row"]
    for at, name in enumerate(fields, start=1):
        values = _first([f"n{level.number}" for level in ends[name]])
        columns.append(f"{json_term(values)} AS f{at}")
    origin = table["origin"].combine_chunks()
    return Fields(f"SELECT {', '.join(columns)} FROM {SPREAD}", origin, tuple(refused))


def _shortened(table: pa.Table, column: str) -> pa.Table:
    """The table with `{}` for objects whose keys are extracted already. Otherwise each row that is spread
    would have a copy of their texts."""
    values = table[column].combine_chunks()
    short = pc.if_else(pc.starts_with(values, "{"), "{}", values)
    return table.set_column(table.column_names.index(column), column, short)


def _spread(cursor: duckdb.DuckDBPyConnection, table: pa.Table, column: str, refused: list[int]) -> pa.Table:
    """The table with a row for each item of the arrays in a column, and of arrays in these. An empty array
    gives a row without a value. Records that would have too many rows go to `refused`."""
    while pc.any(pc.starts_with(table[column], "[")).as_py():
        cursor.register(SPREAD, table)
        length = f"CASE WHEN starts_with({column}, '[') THEN json_array_length({column}) ELSE 1 END"
        counted = f"SELECT origin FROM {SPREAD} GROUP BY origin HAVING sum({length}) > {MOST_ROWS}"
        beyond = [row[0] for row in run(cursor, counted).fetchall()]
        if beyond:
            refused += beyond
            table = table.filter(pc.invert(pc.is_in(table["origin"], pa.array(beyond))))
            cursor.register(SPREAD, table)
        items = (
            f"CASE WHEN {column} = '[]' THEN [NULL] WHEN starts_with({column}, '[')"
            f" THEN CAST(json_extract({column}, '$[*]') AS VARCHAR[]) ELSE [{column}] END"
        )
        table = run(cursor, f"SELECT * REPLACE (unnest({items}) AS {column}) FROM {SPREAD}").to_arrow_table()
    return table


def _first(values: Sequence[str]) -> str:
    """SQL for the first of some values that is not NULL."""
    if len(values) == 1:
        return values[0]
    return f"coalesce({', '.join(values)})" if values else DUCKDB.null


def _pointer(path: Sequence[str]) -> str:
    """Keys as a JSON pointer (RFC 6901)."""
    steps = ("/" + key.replace("~", "~0").replace("/", "~1") for key in path)
    return DUCKDB.string("".join(steps))
