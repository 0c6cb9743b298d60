"""Rules: what a mapping comes down to. Rows of fields come in as a view in DuckDB, triples go out.

A rule is a statement over the view FIELDS, whose columns are c1, c2, … for the number of the row and the
fields in order, and a template for each solution. Every kind of mapping becomes rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import Kept, Node, Term, TriplePattern
from rheos.execute.database import run
from rheos.mapping.jsonpath import JsonPath
from rheos.sql.context import Context
from rheos.sql.duckdb import DUCKDB
from rheos.sql.functions import hashes
from rheos.sql.patterns import Compiler
from rheos.sql.statement import rows_of

FIELDS = "fields"
# The number of a row, as text: a variable that nobody can write.
ROW = "row number"
# The number of an item that an iterator has found, likewise.
ITEM = "item number"


@dataclass(frozen=True, slots=True)
class Items:
    """How RML finds fields: an iterator finds items in a record, and each path a field in an item. The paths
    of a table are the names of its columns. `source` is the name of the file that has the records, if it
    matters."""

    iterator: JsonPath | None
    paths: tuple[JsonPath, ...]
    is_table: bool = False
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement whose columns are the variables of `columns`, ROW first, and the triples of a solution."""

    fields: tuple[str, ...]
    sql: str
    columns: tuple[str, ...]
    template: tuple[TriplePattern, ...]
    items: Items | None = None

    def solutions(self, cursor: duckdb.DuckDBPyConnection, view: str) -> pa.Table:
        """The solutions over a view that is given as SQL."""
        run(cursor, f"CREATE OR REPLACE TEMP VIEW {FIELDS} AS {view}")
        if "rheos_sha" in self.sql:
            hashes.register(cursor)
        return run(cursor, self.sql).to_arrow_table().rename_columns(list(self.columns))


def record(fields: Sequence[str]) -> Kept:
    """The pattern whose solutions are the rows of fields."""
    return Kept(FIELDS, (ROW, *fields), frozenset({ROW}))


def rule(
    pattern: Node,
    template: Sequence[TriplePattern],
    fields: Sequence[str],
    more: Sequence[str] = (),
    items: Items | None = None,
) -> Rule:
    """The rule of a pattern over records. Of its solutions, what the template and `more` ask for is kept."""
    compiler = Compiler(DUCKDB)
    relation = compiler.node(pattern, Context(None))
    wanted = dict.fromkeys((ROW, *more, *variables(template)))
    columns = tuple(name for name in wanted if name in relation.variables)
    return Rule(tuple(fields), rows_of(relation, columns, compiler), columns, tuple(template), items)


def variables(template: Sequence[TriplePattern]) -> list[str]:
    """The variables of a template that are no blank nodes."""
    terms: list[Term] = [term for triple in template for term in triple.terms]
    return [term.name for term in terms if isinstance(term, Variable) and not term.is_blank]


def makes(rule: Rule, property: str) -> bool:
    """True if a rule can make triples with a property."""
    predicates = (triple.predicate for triple in rule.template)
    return any(isinstance(term, Variable) or term.term == f"<{property}>" for term in predicates)
