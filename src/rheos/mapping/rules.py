"""Rules: the common form of mappings. Rows of fields come in as a view in DuckDB, triples go out.

A rule is a statement over the view FIELDS, and a template for the triples of each solution. The
columns of the view are c1, c2, …: the number of the row, then the fields in order. CONSTRUCT
queries and RML become rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import Node, TableScan, Term, TriplePattern
from rheos.execute.database import run
from rheos.mapping.jsonpath import JsonPath
from rheos.sql.context import Context
from rheos.sql.duckdb import DUCKDB
from rheos.sql.functions import hashes
from rheos.sql.patterns import Compiler
from rheos.sql.statement import rows_of

FIELDS = "fields"
# The variable for the number of a row, as text. No query can have a variable of this name.
ROW = "row number"
# The variable for the number of an item that an iterator has found, likewise.
ITEM = "item number"


@dataclass(frozen=True, slots=True)
class Items:
    """How RML finds fields: an iterator finds items in a record, and each path finds a field in an item. The
    paths of a table are the names of its columns. `source` is the file that the records must come from, if
    the mapping reads several."""

    iterator: JsonPath | None
    paths: tuple[JsonPath, ...]
    is_table: bool = False
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement that gives the variables in `columns`, ROW first; and the template for a
    solution's triples."""

    fields: tuple[str, ...]
    sql: str
    columns: tuple[str, ...]
    template: tuple[TriplePattern, ...]
    items: Items | None = None

    def solutions(self, cursor: duckdb.DuckDBPyConnection, view: str) -> pa.Table:
        """The solutions over a view, which is given as SQL."""
        run(cursor, f"CREATE OR REPLACE TEMP VIEW {FIELDS} AS {view}")
        if "rheos_sha" in self.sql:
            hashes.register(cursor)
        return run(cursor, self.sql).to_arrow_table().rename_columns(list(self.columns))


def record(fields: Sequence[str]) -> TableScan:
    """The pattern whose solutions are the rows of fields."""
    return TableScan(FIELDS, (ROW, *fields), frozenset({ROW}))


def rule(
    pattern: Node,
    template: Sequence[TriplePattern],
    fields: Sequence[str],
    more: Sequence[str] = (),
    items: Items | None = None,
) -> Rule:
    """The rule of a pattern over records. Its statement gives only the variables of the
    template and of `more`."""
    compiler = Compiler(DUCKDB)
    relation = compiler.node(pattern, Context(None))
    wanted = dict.fromkeys((ROW, *more, *variables(template)))
    columns = tuple(name for name in wanted if name in relation.variables)
    return Rule(tuple(fields), rows_of(relation, columns, compiler), columns, tuple(template), items)


def variables(template: Sequence[TriplePattern]) -> list[str]:
    """The variables of a template, without its blank nodes."""
    terms: list[Term] = [term for triple in template for term in triple.terms]
    return [term.name for term in terms if isinstance(term, Variable) and not term.is_blank]


def makes(rule: Rule, property: str) -> bool:
    """True if a rule can make triples with a property."""
    predicates = (triple.predicate for triple in rule.template)
    return any(isinstance(term, Variable) or term.term == f"<{property}>" for term in predicates)
