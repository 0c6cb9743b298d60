"""What can be tested, behind one small interface: rheos in each execution, and pyoxigraph as the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyoxigraph as ox

from .answers import Answer, from_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheos import Engine

# With `indexed`, the execution is local and the default graph has an index from the first query on.
EXECUTIONS = ("local", "indexed", "catalyst")


class Subject(Protocol):
    """An engine under test."""

    name: str

    def clear(self) -> None: ...
    def load(self, path: Path, *, base: str, graph: str | None = None) -> None: ...
    def load_quads(self, text: str) -> None: ...
    def query(self, text: str, base: str | None = None) -> Answer: ...
    def query_csv(self, text: str, base: str | None = None) -> str: ...
    def accepts(self, text: str, base: str | None = None) -> bool: ...
    def close(self) -> None: ...


class Rheos:
    """`rheos.Engine` with a fixed execution."""

    def __init__(
        self, execution: str, spark: SparkSession | None = None, engine: Engine | None = None
    ) -> None:
        from rheos import Engine

        self.name = execution
        where = "local" if execution == "indexed" else execution
        self.engine = engine if engine is not None else Engine(execution=where, spark=spark)
        if execution == "indexed":
            self.engine.graphs.indexed.patience = 0

    def clear(self) -> None:
        self.engine.clear()

    def load(self, path: Path, *, base: str, graph: str | None = None) -> None:
        self.engine.load(path, graph=graph, base=base)

    def load_quads(self, text: str) -> None:
        self.engine.load(data=text, format="nquads")

    def query(self, text: str, base: str | None = None) -> Answer:
        result = self.engine.query(text, base=base)
        match result.kind:
            case "ask":
                return Answer("ask", boolean=result.boolean)
            case "select":
                return Answer("select", variables=result.variables, rows=result.rows)
        return Answer("construct", triples=list(result.triples))

    def query_csv(self, text: str, base: str | None = None) -> str:
        serialized: Any = self.engine.query(text, base=base).serialize("csv")
        return serialized.decode() if isinstance(serialized, bytes) else serialized

    def accepts(self, text: str, base: str | None = None) -> bool:
        import rheos

        try:
            rheos.parse(text, base=base)
        except rheos.QuerySyntaxError as error:
            if type(error) is not rheos.QuerySyntaxError:
                raise  # refused for what it asks, not for how it is written
            return False
        return True

    def close(self) -> None:
        self.engine.close()


class Oxigraph:
    """pyoxigraph's own store: shows what of a failure is the harness and what is the engine."""

    name = "pyoxigraph"

    def __init__(self) -> None:
        self.store = ox.Store()

    def clear(self) -> None:
        self.store = ox.Store()

    def load(self, path: Path, *, base: str, graph: str | None = None) -> None:
        format = ox.RdfFormat.from_extension(path.suffix[1:])
        target = ox.NamedNode(graph) if graph else None
        self.store.load(path.read_bytes(), format, base_iri=base, to_graph=target)

    def load_quads(self, text: str) -> None:
        self.store.load(text.encode(), ox.RdfFormat.N_QUADS)

    def query(self, text: str, base: str | None = None) -> Answer:
        results = self.store.query(text, base_iri=base)
        if isinstance(results, ox.QueryTriples):
            return Answer("construct", triples=list(results))
        return from_results(results)

    def query_csv(self, text: str, base: str | None = None) -> str:
        results = self.store.query(text, base_iri=base)
        return results.serialize(format=ox.QueryResultsFormat.CSV).decode()

    def accepts(self, text: str, base: str | None = None) -> bool:
        try:
            ox.Store().query(text, base_iri=base)
        except SyntaxError:
            return False
        except RuntimeError:  # an unknown function: wrong to run, right to write
            return True
        return True

    def close(self) -> None:
        self.clear()


def make_subject(name: str) -> Subject:
    return Oxigraph() if name == "pyoxigraph" else Rheos(name)
