"""SPARQL Update: applies operations to the static graphs, and counts removed and added triples."""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from rheos.algebra.nodes import Query
from rheos.algebra.update import Clear, Create, Drop, Load, Modify, Operation, Transfer
from rheos.errors import LoadError
from rheos.execute.templates import data, instantiate
from rheos.store.graphs import StaticGraphs
from rheos.store.revision import Revision


class Refusal(Exception):
    """An operation cannot be done; the message says why."""


@dataclass(frozen=True, slots=True)
class Updater:
    """Applies operations to a revision of the graphs; each operation sees the changes of those before it.

    `solutions` answers a WHERE from the revision. If `load_root` is given, LOAD reads only files below it.
    """

    graphs: StaticGraphs
    revision: Revision
    solutions: Callable[[Query], pa.Table]
    load_root: Path | None = None

    def apply(self, operation: Operation) -> int:
        """Apply an operation; returns how many triples were removed and added.

        If the operation cannot be done, nothing is changed, and there is a Refusal or a LoadError; a SILENT
        operation then returns 0.
        """
        try:
            match operation:
                case Modify():
                    return self._modify(operation)
                case Load():
                    return self._load(operation)
                case Clear() | Drop():
                    return self._empty(operation)
                case Create():
                    return self._create(operation)
                case Transfer():
                    return self._transfer(operation)
        except (Refusal, LoadError):
            if not operation.silent:
                raise
            return 0

    def _modify(self, modify: Modify) -> int:
        prefix = self.revision.blank_prefix()
        if modify.where is None:
            delete, insert = data(modify.delete, prefix), data(modify.insert, prefix)
        else:
            solutions = self.solutions(modify.where)
            delete = instantiate(modify.delete, solutions, prefix)
            insert = instantiate(modify.insert, solutions, prefix)
        return self.revision.change(delete=delete, insert=insert)

    def _load(self, load: Load) -> int:
        # The path is the path of one file, whatever characters it has: LOAD has no globs.
        path = glob.escape(str(self._file(load.source)))
        return self.revision.add(self.graphs.read(path, graph=load.graph, base=load.source))

    def _file(self, source: str) -> Path:
        """The path of the file that an IRI names."""
        parts = urlsplit(source)
        if parts.scheme != "file":
            raise LoadError("LOAD reads files only, by their file: IRIs; fetch it first", source)
        if parts.netloc not in ("", "localhost"):
            raise LoadError("LOAD reads files of this machine only", source)
        name = unquote(parts.path)
        if "\0" in name:
            raise LoadError("no such file", source)
        path = Path(name).absolute()
        if self.load_root is not None:
            path = path.resolve()
            if not path.is_relative_to(self.load_root.resolve()):
                raise LoadError("LOAD may not read it: it is not in the folder that is open to LOAD", source)
        return path

    def _empty(self, operation: Clear | Drop) -> int:
        revision, dropping = self.revision, isinstance(operation, Drop)
        match operation.graphs:
            case "ALL":
                return revision.drop_all() if dropping else revision.clear_named() + revision.clear(None)
            case "NAMED":
                return revision.drop_named() if dropping else revision.clear_named()
            case "DEFAULT":
                return revision.clear(None)
        self._must_exist(operation.graphs)
        return revision.drop(operation.graphs) if dropping else revision.clear(operation.graphs)

    def _create(self, create: Create) -> int:
        if self.revision.has(create.graph):
            raise Refusal(f"there is a graph {create.graph} already; CREATE SILENT would leave it at that")
        return self.revision.change(graph_names=[create.graph])

    def _transfer(self, transfer: Transfer) -> int:
        source, target = transfer.source, transfer.target
        self._must_exist(source)
        if source == target:
            return 0
        changed = self.revision.copy(source, target, replace=transfer.kind != "ADD")
        return changed + (self.revision.drop(source) if transfer.kind == "MOVE" else 0)

    def _must_exist(self, graph: str | None) -> None:
        if not self.revision.has(graph):
            raise Refusal(f"there is no graph {graph}; with SILENT that would not matter")
