"""Property paths as relations (sections 9 and 18.4).

A path is a relation of edges (a, b), one for each way to go from a to b. A repetition is the transitive
closure of such a relation. DuckDB computes it in the statement itself. Spark has no recursion that ends on
cycles, so there a closure is a view, which a task makes before the statement runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    Node,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    Term,
    ZeroOrMore,
    ZeroOrOne,
)
from rheos.algebra.variables import certain
from rheos.sql.conditions import all_of, same
from rheos.sql.context import Context
from rheos.sql.relation import INSTANT, Key, Relation, nested, select
from rheos.sql.scans import scan
from rheos.sql.validity import FROM, UNTIL, at_every_instant

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler


@dataclass(frozen=True, slots=True)
class Closure:
    """A transitive closure: all pairs (a, b) where b is reached from a by one or more `edges`.

    `edges` is SQL with the columns `keys`, a and b. `seeds` is SQL with the columns `keys` and a; with it,
    only pairs that start at a seed are wanted. `view` is the name of the view, if the dialect needs one.
    """

    view: str
    edges: str
    keys: tuple[str, ...] = ()
    seeds: str | None = None


def path_relation(node: PathPattern, context: Context, compiler: Compiler) -> Relation:
    """The solutions of a path pattern. Its only keys are the instant and those of the active graph."""
    return PathCompiler(context, compiler).pattern(node)


@dataclass(frozen=True, slots=True)
class Seeds:
    """An end of a path whose possible values are known: SQL with the columns of the keys and a."""

    sql: str


End = Term | Seeds | None


@dataclass
class PathCompiler:
    context: Context
    compiler: Compiler

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of a step: the instant and the graph.

        Other keys of the context are joined later (`keyed`).
        """
        columns = set(self.context.scanned.values())
        graph = tuple(key for key in self.context.keys if key.column in columns)
        return (INSTANT, *graph) if scan(self.context, "t", self.compiler).valid else graph

    @property
    def key_columns(self) -> list[str]:
        return [key.column for key in self.keys]

    def pattern(self, node: PathPattern) -> Relation:
        start: End = node.subject
        if node.seeds is not None and isinstance(node.subject, Variable):
            start = self.seeds(node.subject.name, node.seeds)
        edges = self.edges(node.path, start, node.object)
        alias = self.compiler.fresh("path")
        conditions = []
        columns = [f"{alias}.{key}" for key in self.key_columns]
        names = []
        for column, end in ((f"{alias}.a", node.subject), (f"{alias}.b", node.object)):
            match end:
                case Constant(value):
                    conditions.append(f"{column} = {self.compiler.dialect.string(value)}")
                case Variable(name) if name in names:
                    conditions.append(f"{alias}.a = {alias}.b")
                case Variable(name):
                    names.append(name)
                    columns.append(f"{column} AS {self.compiler.column(name)}")
        sql = select(columns, nested(edges, alias), conditions)
        return Relation(sql, tuple(names), certain(node), self.keys)

    def seeds(self, variable: str, node: Node) -> Seeds:
        """The values that a variable has in the solutions of a pattern."""
        relation = self.compiler.node(node, self.context)
        if INSTANT in self.keys:
            relation = at_every_instant(relation, self.compiler)
        alias = self.compiler.fresh("s")
        columns = [*self.of(alias), f"{alias}.{self.compiler.column(variable)} AS a"]
        return Seeds(select(columns, nested(relation.sql, alias), distinct=True))

    def edges(self, path: Path, start: End = None, end: End = None) -> str:
        """The edges of a path. Where an end is known, a repetition starts from it."""
        match path:
            case Link(predicate):
                return self.step(lambda alias: f"{alias}.p = {self.compiler.dialect.string(predicate)}")
            case NegatedSet(predicates):
                listed = ", ".join(map(self.compiler.dialect.string, sorted(predicates)))
                return self.step(lambda alias: f"{alias}.p NOT IN ({listed})" if listed else "TRUE")
            case Inverse(inner):
                alias = self.compiler.fresh("i")
                columns = [*self.of(alias), f"{alias}.b AS a", f"{alias}.a AS b"]
                return select(columns, nested(self.edges(inner, end, start), alias))
            case Sequence(first, second):
                left, right = self.compiler.fresh("i"), self.compiler.fresh("i")
                conditions = [f"{left}.b = {right}.a", same(left, right, self.key_columns)]
                columns = [*self.of(left), f"{left}.a", f"{right}.b"]
                source = f"{nested(self.edges(first), left)} JOIN {nested(self.edges(second), right)}"
                return select(columns, f"{source}\nON {all_of(conditions)}")
            case Alternative(first, second):
                return f"{self.edges(first)}\nUNION ALL\n{self.edges(second)}"
            case ZeroOrOne(inner):
                return f"{self.edges(inner, start, end)}\nUNION\n{self.here(start, end)}"
            case OneOrMore(inner):
                return self.closure(inner, start, end)
            case ZeroOrMore(inner):
                return f"{self.closure(inner, start, end)}\nUNION\n{self.here(start, end)}"

    def of(self, alias: str) -> list[str]:
        return [f"{alias}.{key}" for key in self.key_columns]

    def step(self, test: Callable[[str], str]) -> str:
        """The triples of the active graph whose predicate passes the test, as edges."""
        return self.triples(lambda alias: [f"{alias}.s AS a", f"{alias}.o AS b"], test)

    def triples(self, columns: Callable[[str], list[str]], test: Callable[[str], str] | None = None) -> str:
        alias = self.compiler.fresh("t")
        graph = scan(self.context, alias, self.compiler)
        of_scan = {key: column for column, key in self.context.scanned.items()}
        keys = [column for column in self.key_columns if column != INSTANT.column]
        chosen = [f"{alias}.{of_scan[key]} AS {key}" for key in keys] + columns(alias)
        conditions = graph.conditions + ([test(alias)] if test else [])
        if not graph.valid:
            return select(chosen, graph.item, conditions)
        # A repetition must follow edges of the same instant, so edges are spread over the instants.
        instants = self.compiler.fresh("i")
        instant = f"{instants}.{INSTANT.column}"
        during = f"{instant} >= {alias}.{FROM} AND {instant} < {alias}.{UNTIL}"
        return select([instant, *chosen], f"{graph.item} JOIN instants AS {instants} ON {during}", conditions)

    def here(self, start: End, end: End) -> str:
        """The paths of length zero: a node of the graph to itself, or a constant end to itself."""
        constants = [found.term for found in (start, end) if isinstance(found, Constant)]
        if constants:
            value = self.compiler.dialect.string(constants[0])
            return self.each_key([f"{value} AS a", f"{value} AS b"])
        subjects = self.triples(lambda alias: [f"{alias}.s AS node"])
        objects = self.triples(lambda alias: [f"{alias}.o AS node"])
        alias = self.compiler.fresh("n")
        source = nested(f"{subjects}\nUNION\n{objects}", alias)
        for found in (start, end):
            if isinstance(found, Seeds):
                known = self.compiler.fresh("s")
                met = [f"{alias}.node = {known}.a", same(alias, known, self.key_columns)]
                source += f" JOIN {nested(found.sql, known)} ON {all_of(met)}"
        return select([*self.of(alias), f"{alias}.node AS a", f"{alias}.node AS b"], source)

    def each_key(self, columns: list[str]) -> str:
        """A row of constants, repeated for every instant and graph of the context."""
        if not self.keys:
            return f"SELECT {', '.join(columns)}"
        graphs = [source for source in self.context.sources if set(source.keys) <= set(self.keys)]
        sources = [nested(source.sql, self.compiler.fresh("k")) for source in graphs]
        sources += [f"instants AS {self.compiler.fresh('i')}"] if INSTANT in self.keys else []
        there = [f"{INSTANT.column} >= {FROM} AND {INSTANT.column} < {UNTIL}"]
        where = there if any(source.valid for source in graphs) else []
        return select([*self.key_columns, *columns], " CROSS JOIN ".join(sources), where)

    def closure(self, path: Path, start: End, end: End) -> str:
        """One or more steps. They are followed from the end that is known, if one is."""
        if isinstance(end, Constant | Seeds) and not isinstance(start, Constant | Seeds):
            alias = self.compiler.fresh("i")
            columns = [*self.of(alias), f"{alias}.b AS a", f"{alias}.a AS b"]
            return select(columns, nested(self.closure(Inverse(path), end, start), alias))
        seeds = None
        if isinstance(start, Constant):
            seeds = self.each_key([f"{self.compiler.dialect.string(start.term)} AS a"])
        elif isinstance(start, Seeds):
            seeds = start.sql
        closure = Closure(self.compiler.fresh("closure"), self.edges(path), tuple(self.key_columns), seeds)
        return self.compiler.closure(closure)
