"""Matching outside of SQL: the solutions of patterns that match little, from the index of the default graph.

A solution is a row of the numbers that terms have in the index; the solutions of a pattern are columns.
Solutions are joined with one triple pattern after the other, by a look-up in the index for each solution.
Patterns with too many solutions, or with operators that are not supported here, are left to SQL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from rheos.algebra.expressions import Constant, Exists, Variable
from rheos.algebra.nodes import (
    BGP,
    Broadcast,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Node,
    PathPattern,
    Project,
    Query,
    Reduced,
    Select,
    TableScan,
    Term,
    TriplePattern,
)
from rheos.algebra.rewrite import in_query, operands
from rheos.algebra.variables import certain, in_scope
from rheos.deadline import check
from rheos.execute.paths import Paths, TooMany
from rheos.sql.duckdb import DUCKDB
from rheos.sql.statement import Statement, compile_query
from rheos.store.index import ABSENT, Ids, Known, TripleIndex, spread

# The greatest number of rows: from about this number on, DuckDB is as fast.
MOST = 100_000
# How many solutions are looked at, to estimate how many solutions a pattern makes of each.
LOOKED_AT = 64
# The number of nodes that a path is assumed to reach from each node.
REACHED = 50.0

Part = TriplePattern | Node


class NotHere(Exception):
    """The pattern cannot be matched here, and is left to SQL."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """`size` rows, as a column of numbers for each variable. All but the `optional` variables are bound."""

    size: int
    columns: Mapping[str, Ids] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def take(self, rows: Ids) -> Solutions:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, size=len(rows), columns=columns)


@dataclass(frozen=True)
class Matched:
    """A query with tables in place of patterns that an index matches; `parts` has these by table name."""

    query: Query
    parts: Mapping[str, Node]

    @property
    def is_whole(self) -> bool:
        """Whether the index answers the whole query, so that no statement needs to run."""
        return isinstance(self.query.form, Select) and isinstance(self.query.form.pattern, TableScan)

    def answer(self, matcher: Matcher) -> pa.Table:
        """The answer of a query that the index answers as a whole."""
        [node], form = self.parts.values(), self.query.form
        assert isinstance(form, Select)
        solutions = matcher.solutions(node)
        return pa.table([matcher.column(solutions, name) for name in form.variables], list(form.variables))

    @cached_property
    def statement(self) -> Statement:
        """The statement for the rest of the query, in DuckDB."""
        return compile_query(self.query, DUCKDB)


def matched(query: Query, index: TripleIndex) -> Matched:
    """The query with a table in place of each pattern that matches little."""
    parts: dict[str, Node] = {}
    matcher = Matcher(index)

    def rewrite(node: Node) -> Node:
        if isinstance(node, Graph):  # the index has only the default graph
            return node
        try:
            matcher.solutions(node)
        except NotHere:
            return operands(node, rewrite)
        name = f"matched_{len(parts) + 1}"
        parts[name] = node
        return TableScan(name, variables_of(node), certain(node))

    return Matched(in_query(query, rewrite) if is_about_default_graph(query) else query, parts)


def is_about_default_graph(query: Query) -> bool:
    return query.dataset is None or (query.dataset.keeps_default and query.dataset.entailed is None)


def variables_of(node: Node) -> tuple[str, ...]:
    return tuple(sorted(in_scope(node)))


class Matcher:
    """Matches patterns in one index. NotHere if a pattern is not supported here, or matches too much."""

    def __init__(self, index: TripleIndex) -> None:
        self.index = index
        self.paths = Paths(index, MOST)

    def table(self, node: Node) -> pa.Table:
        """The solutions of a pattern as a table for a TableScan, with columns c1, c2, … for its variables."""
        solutions = self.solutions(node)
        columns = [self.column(solutions, name) for name in variables_of(node)]
        return pa.table(columns, [f"c{number}" for number in range(1, len(columns) + 1)])

    def column(self, solutions: Solutions, name: str) -> pa.Array:
        ids = solutions.columns.get(name)
        return pa.nulls(solutions.size, pa.string()) if ids is None else self.index.column(ids)

    def solutions(self, node: Node) -> Solutions:
        if not in_scope(node):  # a table needs a column
            raise NotHere
        return self.extended(Solutions(1), node)

    def extended(self, given: Solutions, node: Node) -> Solutions:
        """The join of the given solutions with the solutions of a pattern."""
        check()
        match node:
            case BGP() | PathPattern() | Join():
                return self.joined(given, parts_of(node))
            case LeftJoin(left, right, None) if sees_no_more(in_scope(right), given, left):
                return self.optional(self.extended(given, left), right)
            case Filter(Exists(BGP() as pattern, negated), inner) if sees_no_more(
                in_scope(pattern), given, inner
            ):
                return self.existing(self.extended(given, inner), pattern, negated)
            case Broadcast(pattern) | Reduced(pattern):
                return self.extended(given, pattern)
            case Project(pattern, variables) if not given.columns:
                found = self.extended(given, pattern)
                names = {variable.name for variable in variables}
                columns = {name: column for name, column in found.columns.items() if name in names}
                return replace(found, columns=columns, optional=found.optional & names)
        raise NotHere

    def joined(self, given: Solutions, parts: list[Part]) -> Solutions:
        """The join of the given solutions with all parts; the part with the fewest new solutions is next."""
        parts = list(parts)
        while parts:
            best = min(parts, key=lambda part: self.growth(given, part)) if len(parts) > 1 else parts[0]
            parts.remove(best)
            if isinstance(best, TriplePattern):
                given = self.triple(given, best)
            elif isinstance(best, PathPattern):
                given = self.path(given, best)
            else:
                given = self.extended(given, best)
        return given

    def growth(self, given: Solutions, part: Part) -> float:
        """An estimate, from some solutions, of how many solutions a part makes of each."""
        if not isinstance(part, TriplePattern | PathPattern):
            return math.inf
        some = given.take(np.arange(min(given.size, LOOKED_AT)))
        if isinstance(part, PathPattern):
            ends = self.known(some, part.subject), self.known(some, part.object)
            return REACHED if any(end is not None for end in ends) else math.inf
        known = [self.known(some, term) for term in part.terms]
        if any(isinstance(value, int) and value == ABSENT for value in known):
            return 0
        ranges = self.index.ranges(*known)
        return ranges.size / max(1, len(ranges.low))

    def known(self, given: Solutions, term: Term) -> Known:
        """What the solutions say of a term. NotHere for a variable that some of them leave unbound."""
        if isinstance(term, Constant):
            return self.index.id_of(term.term)
        if term.name in given.optional:
            raise NotHere
        return given.columns.get(term.name)

    def triple(self, given: Solutions, pattern: TriplePattern) -> Solutions:
        known = [self.known(given, term) for term in pattern.terms]
        if any(isinstance(value, int) and value == ABSENT for value in known):
            rows = triples = np.empty(0, np.int64)
        else:
            ranges = self.index.ranges(*known)
            low, high = ranges.low, ranges.high
            if len(low) != given.size:  # all solutions have the same range
                low, high = np.broadcast_to(low, given.size), np.broadcast_to(high, given.size)
            self.bounded(int((high - low).sum()))
            rows, places = spread(low, high)
            triples = ranges.order.triples[places]
        given = given.take(rows)
        columns, fits = dict(given.columns), None
        # The ranges match one term, or two if one of them is the predicate. A third known term must be
        # compared.
        told = known[0] is None or known[2] is None
        for term, value, column in zip(pattern.terms, known, self.index.columns, strict=True):
            if isinstance(term, Variable) and term.name not in columns:
                columns[term.name] = column[triples]
            elif value is None or not told:  # a variable that is twice in the pattern, or a third known term
                other = value if isinstance(value, int) else columns[term.name]  # type: ignore[union-attr]
                same = column[triples] == other
                fits = same if fits is None else fits & same
        grown = replace(given, columns=columns)
        return grown if fits is None or fits.all() else grown.take(np.flatnonzero(fits))

    def path(self, given: Solutions, node: PathPattern) -> Solutions:
        """The join with a path, which is followed from an end that is known to the other end."""
        forward = True
        start, end = self.known(given, node.subject), self.known(given, node.object)
        ends: tuple[Term, Term] = node.subject, node.object
        if start is None or (isinstance(end, int) and not isinstance(start, int)):
            forward, start, end, ends = False, end, start, (node.object, node.subject)
        if start is None or (isinstance(start, int) and start == ABSENT):
            raise NotHere
        fixed = [value for value in (start, end) if isinstance(value, int)]
        starts, rows = np.unique(np.broadcast_to(np.asarray(start), given.size), return_inverse=True)
        try:
            found, reached = self.paths.from_each(node.path, starts, fixed, forward=forward)
            self.bounded(len(found))
            order = np.argsort(found, kind="stable")
            found, reached = found[order], reached[order]
            low, high = np.searchsorted(found, rows), np.searchsorted(found, rows, "right")
            self.bounded(int((high - low).sum()))
        except TooMany:
            raise NotHere from None
        rows, places = spread(low, high)
        given, reached = given.take(rows), reached[places]
        if end is None and isinstance(ends[1], Variable):
            return replace(given, columns={**given.columns, ends[1].name: reached})
        wanted = end if isinstance(end, int) else given.columns[ends[1].name]  # type: ignore[union-attr]
        return given.take(np.flatnonzero(reached == wanted))

    def optional(self, given: Solutions, node: Node) -> Solutions:
        """OPTIONAL: each solution joined with the pattern, or as it is if the pattern has no match for it."""
        joined, rows = self.numbered(given, node)
        alone = given.take(np.setdiff1d(np.arange(given.size), rows))
        columns = {}
        for name, column in joined.columns.items():
            rest = alone.columns.get(name, np.full(alone.size, ABSENT))
            columns[name] = np.concatenate([column, rest])
        optional = given.optional | joined.optional | (joined.columns.keys() - given.columns.keys())
        return Solutions(joined.size + alone.size, columns, frozenset(optional))

    def existing(self, given: Solutions, node: Node, negated: bool) -> Solutions:
        """EXISTS: the solutions for which a pattern has a match or, if `negated`, has none."""
        _, rows = self.numbered(given, node)
        if negated:
            return given.take(np.setdiff1d(np.arange(given.size), rows))
        return given.take(np.unique(rows))

    def numbered(self, given: Solutions, node: Node) -> tuple[Solutions, Ids]:
        """The join of the solutions with a pattern, and for each row the number of its solution."""
        number = f"#{len(given.columns)}"  # a name that no variable has
        columns = {**given.columns, number: np.arange(given.size)}
        found = self.extended(replace(given, columns=columns), node)
        rest = {name: column for name, column in found.columns.items() if name != number}
        return replace(found, columns=rest), found.columns[number]

    def bounded(self, rows: int) -> None:
        if rows > MOST:
            raise NotHere


def parts_of(node: Node) -> list[Part]:
    """The operands of nested joins; their order does not matter."""
    match node:
        case BGP(patterns) if not node.parts:
            return list(patterns)
        case Join(left, right):
            return [*parts_of(left), *parts_of(right)]
        case Broadcast(pattern):
            return parts_of(pattern)
    return [node]


def sees_no_more(names: Set[str], given: Solutions, left: Node) -> bool:
    """Whether the variables that a pattern beside `left` shares with the given solutions are all in `left`.

    In SPARQL, OPTIONAL and EXISTS see only the solutions of `left`, and not others that these are joined
    with.
    """
    return not (names & given.columns.keys()) - in_scope(left)
