"""Evaluation of single expressions: SPARQL texts come in, the terms that an engine computes go out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

import duckdb
import pyoxigraph as ox

from rheos.algebra import literals
from rheos.algebra.expressions import Call, Constant, Exists, Expression, Variable
from rheos.algebra.nodes import Extend, Project, Select
from rheos.algebra.translate import translate
from rheos.sql import expressions, macros
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DuckDB
from rheos.sql.functions import hashes
from rheos.sql.spark import Spark
from rheos.sql.values import Value
from rheos.syntax import parse
from rheos.terms import XSD, encode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIXES = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX : <http://ex/> "
INSTANT = "2024-02-29T12:30:45.5Z"

CHUNK = 40  # expressions in one statement: Spark takes long over more
STORE = ox.Store()


@cache
def expression(text: str) -> Expression:
    """The algebra of an expression in SPARQL."""
    query = translate(parse(f"{PREFIXES} SELECT ({text} AS ?result) {{}}"))
    form = query.form
    assert isinstance(form, Select)
    node = form.pattern
    while not isinstance(node, Extend):
        assert isinstance(node, Project)
        node = node.pattern
    return in_one_solution(node.expression)


def in_one_solution(node: Expression) -> Expression:
    """The variable that tells solutions apart for BNODE, made a constant."""
    match node:
        case Call("BNODE", (label, _)):
            return Call("BNODE", (in_one_solution(label), Constant('"solution"')))
        case Call(name, arguments):
            return Call(name, tuple(map(in_one_solution, arguments)))
    return node


@dataclass
class Row:
    """One row of terms as a scope; shared work stands in levels of SELECT above it."""

    dialect: Dialect
    source: str
    columns: frozenset[str]
    levels: list[dict[str, str]] = field(default_factory=list)
    shared: dict[str, tuple[str, int]] = field(default_factory=dict)
    sharing: bool = True
    interval: tuple[str, str] | None = None
    values: dict[str, Value] = field(default_factory=dict)

    def column(self, variable: str) -> str | None:
        return variable if variable in self.columns else None

    def is_number(self, variable: str) -> bool:
        return False

    def exact(self, variable: str) -> tuple[int, str] | None:
        return None

    def share(self, sql: str) -> str:
        if not self.sharing:
            return sql
        if sql not in self.shared:
            name = f"shared_{len(self.shared)}"
            used = set(re.findall(r"\bshared_\d+\b", sql))
            level = max((at + 1 for column, at in self.shared.values() if column in used), default=0)
            if level == len(self.levels):
                self.levels.append({})
            self.levels[level][name] = sql
            self.shared[sql] = name, level
        return self.shared[sql][0]

    def exists(self, exists: Exists) -> str:
        raise AssertionError("no EXISTS here")

    def row_id(self) -> str:
        return "1"

    def select(self, columns: Sequence[str], tail: str = "") -> str:
        source = self.source
        for at, level in enumerate(self.levels):
            listed = ", ".join(f"{sql} AS {name}" for name, sql in level.items())
            source = f"(SELECT *, {listed} FROM {source}) level_{at}"
        return f"SELECT {', '.join(columns)} FROM {source} {tail}"


class Columns:
    """Constants put into columns, so that nothing about them is known when an expression is compiled."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def unfolded(self, node: Expression) -> Expression:
        match node:
            case Constant(term):
                return Variable(self.names.setdefault(term, f"c{len(self.names)}"))
            case Call("IRI" | "URI" as name, (first, base)):
                return Call(name, (self.unfolded(first), base))
            case Call(name, arguments):
                return replace(node, arguments=tuple(map(self.unfolded, arguments)))
        return node

    def source(self, dialect: Dialect) -> str:
        terms = [dialect.string(term) for term in self.names] + ["1"]
        names = [*self.names.values(), "unit"]
        return f"(VALUES ({', '.join(terms)})) AS row_of_terms({', '.join(names)})"


@dataclass(frozen=True)
class Evaluator:
    """An engine that evaluates expressions, many in one statement."""

    dialect: Dialect
    run: Callable[[str], list[tuple[str | None, ...]]]

    @classmethod
    def in_duckdb(cls) -> Evaluator:
        connection = duckdb.connect()
        hashes.register(connection)
        macros.define(connection)
        return cls(DuckDB(instant=INSTANT), lambda sql: connection.execute(sql).fetchall())

    @classmethod
    def in_spark(cls, session: SparkSession) -> Evaluator:
        return cls(Spark(instant=INSTANT), lambda sql: [tuple(row) for row in session.sql(sql).collect()])

    def statement(self, nodes: Sequence[Expression], *, folded: bool = False, sharing: bool = True) -> str:
        """One SELECT with a column for each expression."""
        columns = Columns()
        if not folded:
            nodes = [columns.unfolded(node) for node in nodes]
        names = frozenset(columns.names.values())
        row = Row(self.dialect, columns.source(self.dialect), names, sharing=sharing)
        return row.select([expressions.term(node, row) for node in nodes])

    def evaluate(self, texts: Sequence[str], *, folded: bool = False) -> list[str | None]:
        """The term of each expression in SPARQL, or None."""
        return self.evaluate_nodes([expression(text) for text in texts], folded=folded)

    def evaluate_nodes(self, nodes: Sequence[Expression], *, folded: bool = False) -> list[str | None]:
        found: list[str | None] = []
        for start in range(0, len(nodes), CHUNK):
            [row] = self.run(self.statement(nodes[start : start + CHUNK], folded=folded))
            found += row
        return found


def by_pyoxigraph(text: str) -> str | None:
    [solution] = list(STORE.query(f"{PREFIXES} SELECT ({text} AS ?result) {{}}"))
    found = solution["result"]
    return None if found is None else encode(found)


def value(term: str) -> object:
    """What stands for a term when terms are compared by value: numbers have many lexical forms."""
    found = re.fullmatch(r'"(.*)"\^\^(?:xsd:|<http://www.w3.org/2001/XMLSchema#)(\w+)>?', term, re.DOTALL)
    if not found:
        return term
    number = literals.number(found[1], XSD + found[2])
    if number is None:
        return term
    return found[2], repr(number.approx) if number.exact is None else number.exact


def same_value(left: str, right: str) -> bool:
    return left == right or value(left) == value(right)
