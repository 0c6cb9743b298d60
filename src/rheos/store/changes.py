"""The changes of static graphs on disk, so that they survive the process.

Each step is a file, numbered in order, of rows (kind, g, s, p, o): quads that were removed or added, and
graphs that were created, emptied or dropped. To repeat all changes on the same loaded data gives the same
graphs. When the folder is opened, many files become one, in which only the last change of each quad counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["delete", "insert", "create", "clear", "drop", "clear named", "drop named"]

# If a folder has more files than this, they become one when it is opened.
MOST_FILES = 100

_QUAD = [(name, pa.string()) for name in ("g", "s", "p", "o")]
_SCHEMA = pa.schema([("kind", pa.string()), *_QUAD])


class Change(NamedTuple):
    """A change: its kind, and the quads or the graphs (in the column `g`) that it is about."""

    kind: Kind
    rows: pa.Table

    @classmethod
    def of_graphs(cls, kind: Kind, graphs: list[str | None]) -> Change:
        return cls(kind, pa.table({"g": pa.array(graphs, pa.string())}))


class Changes:
    """A folder of changes. `number` is the highest number in the labels of blank nodes in these changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob("*.partial"):
            unfinished.unlink()
        if len(self._files()) > MOST_FILES:
            self._make_one()
        files = self._files()
        self._last = int(files[-1].stem) if files else 0
        self.number = max((_number(file) for file in files), default=0)

    def read(self) -> Iterator[Change]:
        """All changes, in their order."""
        for file in self._files():
            yield from _changes(_read(file))

    def write(self, changes: list[Change], number: int) -> None:
        """Add the changes of one step. They are on the disk when this returns."""
        done = [_rows(change) for change in changes if change.rows.num_rows]
        if done:
            self._last += 1
            self._put(pa.concat_tables(done), self._last, number)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.arrow"))

    def _put(self, rows: pa.Table, name: int, number: int) -> None:
        path = self.folder / f"{name:012}.arrow"
        partial = path.with_suffix(".partial")
        schema = _SCHEMA.with_metadata({"number": str(number)})
        try:
            with partial.open("wb") as file:
                with pa.ipc.new_file(file, schema) as writer:
                    writer.write_table(rows.cast(_SCHEMA).replace_schema_metadata(schema.metadata))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            partial.unlink(missing_ok=True)  # the disk may be full, and this frees some of it
            raise
        partial.replace(path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _make_one(self) -> None:
        """Replace all files by one, which gets the name of the last file.

        A crash leaves either the old files, or the new one and some old files before it, whose changes it
        repeats.
        """
        files = self._files()
        rows = pa.concat_tables(map(_read, files))
        self._put(net(rows), int(files[-1].stem), max(map(_number, files)))
        for file in files[:-1]:
            file.unlink()


def net(rows: pa.Table) -> pa.Table:
    """Fewer changes with the same result: first those of whole graphs, then the last change of each quad."""
    with duckdb.connect(":memory:") as connection:
        connection.register("given", rows.append_column("n", pa.array(range(len(rows)), pa.int64())))
        # A named graph is emptied, or dropped, by its own name or together with all named graphs.
        connection.execute(
            """
            CREATE TABLE emptied AS
            SELECT *, kind LIKE 'drop%' AS dropped, kind LIKE '% named' AS named FROM given
            WHERE kind NOT IN ('delete', 'insert', 'create');
            CREATE TABLE quads AS
            SELECT g, s, p, o, arg_max(kind, n) AS kind, max(n) AS n FROM given AS q
            WHERE kind IN ('delete', 'insert') AND NOT EXISTS (
                SELECT 1 FROM emptied AS e WHERE e.n > q.n
                AND CASE WHEN e.named THEN q.g IS NOT NULL ELSE e.g IS NOT DISTINCT FROM q.g END)
            GROUP BY g, s, p, o;
            CREATE TABLE made AS
            SELECT DISTINCT g FROM given AS c
            WHERE kind IN ('create', 'insert') AND g IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM emptied AS e WHERE e.n > c.n AND e.dropped AND (e.named OR e.g = c.g));
            """
        )
        nothing = "CAST(NULL AS VARCHAR) AS s, CAST(NULL AS VARCHAR) AS p, CAST(NULL AS VARCHAR) AS o"
        statements = (
            f"SELECT kind, g, {nothing} FROM emptied ORDER BY n",
            "SELECT kind, g, s, p, o FROM quads WHERE kind = 'delete' ORDER BY n",
            "SELECT kind, g, s, p, o FROM quads WHERE kind = 'insert' ORDER BY n",
            f"SELECT 'create' AS kind, g, {nothing} FROM made ORDER BY g",
        )
        return pa.concat_tables(connection.execute(sql).to_arrow_table().cast(_SCHEMA) for sql in statements)


def _rows(change: Change) -> pa.Table:
    count = change.rows.num_rows
    names = change.rows.schema.names
    columns = [change.rows[name] if name in names else pa.nulls(count, kind) for name, kind in _QUAD]
    return pa.table([pa.array([change.kind] * count, pa.string()), *columns], names=_SCHEMA.names).cast(
        _SCHEMA
    )


def _changes(rows: pa.Table) -> Iterator[Change]:
    """Rows as changes: each run of rows of the same kind is one."""
    runs = pc.run_end_encode(pa.concat_arrays(rows["kind"].chunks))
    start = 0
    for end, kind in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        yield Change(kind, rows.slice(start, end - start).select([name for name, _ in _QUAD]))
        start = end


def _read(file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all().replace_schema_metadata(None)


def _number(file: Path) -> int:
    with pa.memory_map(str(file)) as source:
        return int(pa.ipc.open_file(source).schema.metadata[b"number"])
