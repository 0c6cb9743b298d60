"""Results: the answer of a query as rows, triples, a boolean or text, made from an Arrow table of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyoxigraph as ox

from rheos.algebra.nodes import Kind
from rheos.answers import table as tables
from rheos.answers.writers import WRITERS, write_boolean
from rheos.errors import RheosError
from rheos.terms import AnyTerm, decode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRIPLE_COLUMNS = ("subject", "predicate", "object")

SOLUTION_FORMATS = (*WRITERS, "table")
GRAPH_FORMATS: Mapping[str, ox.RdfFormat] = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "trig": ox.RdfFormat.TRIG,
    "nquads": ox.RdfFormat.N_QUADS,
}
# Up to this number of rows, it is quicker to decode each term than to look for equal terms.
_FEW = 64
_SHORT_NAMES = {"ttl": "turtle", "nt": "ntriples", "nq": "nquads", "rdf": "rdfxml"}


class Result:
    """The answer of a query; its `kind` decides whether it has rows, triples or a boolean."""

    def __init__(
        self,
        kind: Kind,
        variables: Sequence[str] = (),
        table: pa.Table | Callable[[], pa.Table] | None = None,
        *,
        boolean: bool | None = None,
        prefixes: Mapping[str, str] | None = None,
        dataframe: Callable[[pa.Table], DataFrame] | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.variables = list(TRIPLE_COLUMNS if kind in ("construct", "describe") else variables)
        self.prefixes = dict(prefixes or {})
        self._boolean = boolean
        self._table = table
        self._dataframe = dataframe

    @classmethod
    def select(
        cls,
        variables: Sequence[str],
        table: pa.Table | Callable[[], pa.Table],
        *,
        prefixes: Mapping[str, str] | None = None,
        dataframe: Callable[[pa.Table], DataFrame] | None = None,
    ) -> Result:
        """The result of a SELECT: a string column for each variable, NULL where it is unbound.

        The table may be given as a function, which is called when the rows are first needed.
        """
        return cls("select", variables, table, prefixes=prefixes, dataframe=dataframe)

    @classmethod
    def ask(cls, boolean: bool, *, dataframe: Callable[[pa.Table], DataFrame] | None = None) -> Result:
        return cls("ask", boolean=boolean, dataframe=dataframe)

    @classmethod
    def graph(
        cls,
        kind: Literal["construct", "describe"],
        table: pa.Table | Callable[[], pa.Table],
        *,
        prefixes: Mapping[str, str] | None = None,
        dataframe: Callable[[pa.Table], DataFrame] | None = None,
    ) -> Result:
        """The result of a CONSTRUCT or DESCRIBE: three string columns, whatever their names are."""
        return cls(kind, TRIPLE_COLUMNS, table, prefixes=prefixes, dataframe=dataframe)

    @property
    def boolean(self) -> bool:
        if self._boolean is None:
            raise RheosError(f"{self.kind.upper()} has no boolean; ASK has one")
        return self._boolean

    @cached_property
    def arrow(self) -> pa.Table:
        """The answer as an Arrow table: a string column for each variable, with terms as in `rheos.terms`."""
        if self.kind == "ask":
            return pa.table({"boolean": pa.array([self.boolean])})
        table = self._table() if callable(self._table) else self._table
        if table is None:
            raise RheosError("the result has no table")
        if self.kind != "select":
            return table.select([0, 1, 2]).rename_columns(list(TRIPLE_COLUMNS))
        return table.select(self.variables) if self.variables else table

    @property
    def dataframe(self) -> DataFrame:
        """The answer as a Spark DataFrame with the columns of `arrow`."""
        return self._frame(self.arrow)

    def typed_dataframe(self, *, terms: bool = False) -> DataFrame:
        """The answer as a Spark DataFrame with a typed column for each variable.

        Columns are of numbers, booleans, times and strings, as `rheos.answers.typed` says, or with `terms`
        structs of type, value, datatype and lang. A name that differs from another only in case gets a
        number.
        """
        from rheos.answers.continuous import QueryInfo
        from rheos.answers.typed import Columns, unlike

        query = QueryInfo("query", self.kind, () if self._is_graph else tuple(self.variables))
        columns = Columns(terms=terms).values(query, self.arrow.columns)
        return self._frame(pa.table(columns, names=unlike(self.arrow.column_names)))

    def _frame(self, table: pa.Table) -> DataFrame:
        if self._dataframe is None:
            raise RheosError("this result is not connected to Spark; use .arrow")
        return self._dataframe(table)

    @cached_property
    def rows(self) -> list[dict[str, AnyTerm]]:
        """The solutions in order; an unbound variable is not among the keys."""
        if self.kind != "select":
            raise RheosError(f"{self.kind.upper()} has no rows; SELECT has them")
        columns = [self._terms(name) for name in self.variables]
        if not columns:
            return [{} for _ in range(self.arrow.num_rows)]
        return [
            {name: term for name, term in zip(self.variables, row, strict=True) if term is not None}
            for row in zip(*columns, strict=True)
        ]

    @cached_property
    def triples(self) -> list[ox.Triple]:
        if not self._is_graph:
            raise RheosError(f"{self.kind.upper()} has no triples; CONSTRUCT and DESCRIBE have them")
        columns: Any = [self._terms(name) for name in TRIPLE_COLUMNS]
        return [ox.Triple(*row) for row in zip(*columns, strict=True)]

    def serialize(self, format: str) -> str:
        """The answer as text: json, xml, csv, tsv or table; a graph as turtle, ntriples, rdfxml, …"""
        plain = format.lower().replace("-", "").replace("/", "").replace(" ", "")
        name = _SHORT_NAMES.get(plain, plain)
        allowed = (*GRAPH_FORMATS, "table") if self._is_graph else SOLUTION_FORMATS
        if name not in allowed:
            known = ", ".join(allowed)
            raise RheosError(
                f"the answer of {self.kind.upper()} cannot be written as {format!r}; formats: {known}"
            )
        if self._is_graph and name != "table":
            return self._serialize_graph(name)
        if self._boolean is not None:
            return write_boolean(self._boolean, name)
        if name == "table":
            return tables.plain(self.variables, self.arrow, self.prefixes)
        return WRITERS[name](self.variables, self.arrow)

    def __len__(self) -> int:
        return 1 if self.kind == "ask" else int(self.arrow.num_rows)

    def __bool__(self) -> bool:
        return self._boolean if self._boolean is not None else len(self) > 0

    def __iter__(self) -> Iterator[Any]:
        """The rows of a SELECT, the triples of a graph."""
        return iter(self.triples if self._is_graph else self.rows)

    def __repr__(self) -> str:
        if self._boolean is not None:
            return f"<Result ask: {str(self._boolean).lower()}>"
        if callable(self._table) and "arrow" not in self.__dict__:
            return f"<Result {self.kind}: not computed yet>"
        what = "triples" if self._is_graph else f"rows of {', '.join('?' + name for name in self.variables)}"
        return f"<Result {self.kind}: {len(self)} {what}>"

    def _repr_html_(self) -> str:
        if self._boolean is not None:
            return f"<p>{str(self._boolean).lower()}</p>"
        return tables.html(self.variables, self.arrow, self.prefixes)

    @property
    def _is_graph(self) -> bool:
        return self.kind in ("construct", "describe")

    def _terms(self, name: str) -> list[AnyTerm | None]:
        """A column as pyoxigraph terms. If there are many rows, equal terms are one object."""
        if len(self.arrow) <= _FEW:
            return [None if term is None else decode(term) for term in self.arrow[name].to_pylist()]
        encoded = self.arrow[name].combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        known = [decode(term) for term in encoded.dictionary.to_pylist()]
        return [None if index is None else known[index] for index in encoded.indices.to_pylist()]

    def _serialize_graph(self, name: str) -> str:
        format = GRAPH_FORMATS[name]
        data: Any = self.triples
        if format.supports_datasets:
            data = [ox.Quad(*triple) for triple in self.triples]
        prefixes = {key: iri for key, iri in self.prefixes.items() if iri}
        try:
            return (ox.serialize(data, format=format, prefixes=prefixes) or b"").decode()
        except ValueError as error:
            raise RheosError(f"these triples cannot be written as {name}: {error}") from None
