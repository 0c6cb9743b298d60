"""Parquet: the answers of a query as files of typed columns, by day, exactly once.

    DIR/query=NAME/day=2026-01-01/RUN-BATCH.parquet

`day` is the day of `at` in UTC. A file is written as a whole, under a name that says which answers it has, so
a batch that comes again after a crash replaces its own files. All files of a query have columns of the same
types. When a value does not fit the type of its column, the existing files are written anew with a wider
type. That happens at most twice for a column.
"""

from __future__ import annotations

import json
import os
import posixpath
import uuid
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as fs
import pyarrow.parquet as pq

from rheos.answers.typed import TYPES, Columns
from rheos.errors import EnvironmentFault, RheosError
from rheos.filesystems import file_system, uri_of
from rheos.sinks.base import Batch, Notes, Sink, Taken, Unreachable

_TYPES = b"rheos.types"
_OBJECT_STORES = ("s3", "gcs", "abfs")  # they have no folders, and a file appears as a whole or not at all
PARTITIONS = ("query", "day")


class ParquetSink(Sink):
    """A folder of any file system, given by a path or a URI."""

    OPTIONS = ("terms",)

    def __init__(self, folder: str, options: Mapping[str, str]) -> None:
        self._uri = uri_of(folder)
        self._terms = options.get("terms") == "true"
        self._columns = Columns(terms=self._terms, taken=PARTITIONS)
        self._system: fs.FileSystem | None = None

    def open(self, run: str, query: str, notes: Notes) -> None:
        try:
            self._system, root = file_system(self._uri)
        except EnvironmentFault as error:
            raise Unreachable(str(error)) from None
        self._folder = f"{root}/query={quote(query, safe=' ')}"
        types: dict[str, str] = {}
        for path in self._files():
            types = known_types(self._schema(path))
            break
        self._columns.types = notes.get("types") or types
        self._notes = notes

    def take(self, batch: Batch, taken: Taken) -> None:
        before = dict(self._columns.types)
        table = self._columns.table(batch.query, batch.table)
        table = table.replace_schema_metadata({_TYPES: json.dumps(self._columns.types).encode()})
        if self._columns.types != before:
            self._widen(table.schema)
            self._notes.keep(types=dict(self._columns.types))
        days = table.column("at").cast(pa.date32())
        for day in pc.unique(days).to_pylist():
            path = f"{self._folder}/day={day.isoformat()}/{batch.run}-{batch.number:012}.parquet"
            self._write(path, table.filter(pc.equal(days, pa.scalar(day, pa.date32()))))

    def _files(self) -> Iterator[str]:
        assert self._system is not None
        selector = fs.FileSelector(self._folder, recursive=True, allow_not_found=True)
        for info in self._system.get_file_info(selector):
            if info.is_file and info.base_name.endswith(".parquet") and not info.base_name.startswith("_"):
                yield info.path

    def _schema(self, path: str) -> pa.Schema:
        return pq.read_schema(path, filesystem=self._system)

    def _widen(self, schema: pa.Schema) -> None:
        """Write files with narrower columns anew. If this is interrupted, the batch comes again and the rest
        is done then, because the new types are noted only afterwards."""
        for path in list(self._files()):
            if differ(self._schema(path), schema):
                found = pq.read_table(path, filesystem=self._system, partitioning=None)
                self._write(path, conformed(found, schema))

    def _write(self, path: str, table: pa.Table) -> None:
        """Write a file. Readers see either the whole new file, or the one before."""
        assert self._system is not None
        if self._system.type_name in _OBJECT_STORES:
            pq.write_table(table, path, filesystem=self._system)
            return
        folder, name = posixpath.split(path)
        self._system.create_dir(folder, recursive=True)
        partial = f"{folder}/_{uuid.uuid4().hex}-{name}"
        try:
            pq.write_table(table, partial, filesystem=self._system)
            if isinstance(self._system, fs.LocalFileSystem):
                sync(partial)
            self._system.move(partial, path)
            if isinstance(self._system, fs.LocalFileSystem):
                sync(folder)
        except BaseException:
            if self._system.get_file_info(partial).is_file:
                self._system.delete_file(partial)
            raise


def sync(path: str) -> None:
    """Sync a file, or the list of files of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def known_types(schema: pa.Schema) -> dict[str, str]:
    """The type of each variable so far, from the metadata of a file."""
    found: dict[str, str] = json.loads((schema.metadata or {}).get(_TYPES, b"{}"))
    return {name: kind for name, kind in found.items() if kind in TYPES}


def differ(one: pa.Schema, other: pa.Schema) -> bool:
    """True if a column that both schemas have differs in its type."""
    return any(item.name in other.names and other.field(item.name).type != item.type for item in one)


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with its columns cast to the types of a schema, as far as the schema has them."""
    columns = [
        as_type(table.column(name), schema.field(name).type) if name in schema.names else table.column(name)
        for name in table.column_names
    ]
    return pa.table(columns, names=table.column_names).replace_schema_metadata(schema.metadata)


def as_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type) and pa.types.is_string(wanted):
        return pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ").cast(wanted)
    try:
        return column.cast(wanted)
    except pa.ArrowException as error:
        raise RheosError(
            f"the files that are there have columns of another kind ({error}); use another folder"
        ) from None
