"""A query and the windows and static data of a moment come in; a bag of solutions goes out.

The operators of SPARQL as section 18 of the recommendation defines them, on lists of mappings. Static parts
are asked of a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import groupby

import pyoxigraph as ox

from rheos.terms import encode
from tests.continuous.arrival_query import (
    PREFIX,
    Aggregate,
    Bind,
    Element,
    Exists,
    Filter,
    Group,
    Minus,
    Optional,
    Pattern,
    Query,
    Static,
    Stream,
    Union,
    Values,
)
from tests.continuous.expressions import (
    Binding,
    Compare,
    Evaluator,
    Expression,
    Failed,
    cut,
    integer,
    number,
    numeric,
)

Triple = tuple[str, str, str]
# A triple, and the name of its graph, which is empty for the default graph.
Quad = tuple[str, str, str, str]
# The elements in a window, by their number among the arrivals: the triples that each is or entails.
Content = Mapping[int, frozenset[Triple]]
Windows = Mapping[Stream, Content]


@dataclass(frozen=True)
class Solution:
    """A mapping, and the elements that it was made of: clauses, and numbers in their windows."""

    binding: Binding
    elements: frozenset[tuple[Stream, int]] = frozenset()

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.binding.items())


@dataclass(frozen=True)
class Snapshot(Evaluator):
    """The windows and the static data of a moment, and the query whose FROM clauses choose among these."""

    windows: Windows
    data: tuple[Quad, ...]
    query: Query

    def solutions(self, query: Query) -> list[Solution]:
        """Of a query or a sub-select, section 18.2.4 and 18.2.5."""
        found = self.group(query.where)
        if query.aggregates or query.group_by:
            found = self.grouped(query, found)
        if query.order_by:
            found.sort(key=lambda solution: [rank(solution.binding.get(name)) for name in query.order_by])
        if query.select:
            names = {item.name if isinstance(item, Aggregate) else item for item in query.select}
            found = [
                Solution({k: v for k, v in solution.binding.items() if k in names}, solution.elements)
                for solution in found
            ]
        if query.distinct:
            found = list({solution.key: solution for solution in reversed(found)}.values())[::-1]
        return found[: query.limit]

    def group(self, group: Group) -> list[Solution]:
        """Filters hold for the whole group, wherever they stand."""
        found = self.unfiltered(group)
        return [solution for solution in found if self.passes(filters(group), solution.binding)]

    def unfiltered(self, group: Group) -> list[Solution]:
        found = [Solution({})]
        for element in group.elements:
            found = self.extended(found, element)
        return found

    def extended(self, found: list[Solution], element: Element) -> list[Solution]:
        """What a group is with one more of its elements, section 18.2.2.6."""
        match element:
            case Filter():
                return found
            case Optional(group):
                return self.left_join(found, group)
            case Minus(group):
                removing = [solution.binding for solution in self.group(group)]
                return [
                    solution
                    for solution in found
                    if not any(
                        compatible(solution.binding, other) and solution.binding.keys() & other.keys()
                        for other in removing
                    )
                ]
            case Bind(expression, variable):
                return [self.bound(solution, expression, variable) for solution in found]
            case _:
                return list(join(found, self.element(element)))

    def element(self, element: Element) -> list[Solution]:
        match element:
            case Stream():
                found = [Solution({})]
                for pattern in element.patterns:
                    found = list(join(found, self.matches(element, pattern)))
                return found
            case Static(text):
                return [Solution(binding) for binding in self.static(text)]
            case Values(variable, terms):
                return [Solution({variable: term}) for term in terms]
            case Group():
                return self.group(element)
            case Union(branches):
                return [solution for branch in branches for solution in self.group(branch)]
            case Query():
                return self.solutions(element)
        raise AssertionError(element)

    def matches(self, clause: Stream, pattern: Pattern) -> list[Solution]:
        """One for each element, or each triple that it entails: a window is a bag."""
        return [
            Solution(binding, frozenset([(clause, number)]))
            for number, triples in self.windows[clause].items()
            for triple in sorted(triples)
            if (binding := matched(pattern, triple)) is not None
        ]

    def static(self, text: str) -> list[Binding]:
        return asked(self.data, f"{PREFIX} SELECT * WHERE {{ {text} }}", self.query.default, self.query.named)

    def left_join(self, found: list[Solution], group: Group) -> list[Solution]:
        """The filters of the optional group see the variables of both sides."""
        options = self.unfiltered(group)
        result = []
        for solution in found:
            joined = [both for both in join([solution], options) if self.passes(filters(group), both.binding)]
            result += joined or [solution]
        return result

    def bound(self, solution: Solution, expression: Expression, variable: str) -> Solution:
        assert variable not in solution.binding
        try:
            value = self.value(expression, solution.binding)
        except Failed:
            return solution
        return Solution({**solution.binding, variable: value}, solution.elements)

    def grouped(self, query: Query, found: list[Solution]) -> list[Solution]:
        def key(solution: Solution) -> list[str]:
            return [solution.binding.get(name, "") for name in query.group_by]

        groups = [list(members) for _, members in groupby(sorted(found, key=key), key)]
        if not query.group_by and not groups:
            groups = [[]]  # an aggregate over nothing is one row
        result = []
        for members in groups:
            binding = {
                name: members[0].binding[name] for name in query.group_by if name in members[0].binding
            }
            for aggregate in query.aggregates:
                if (value := aggregated(aggregate, members)) is not None:
                    binding[aggregate.name] = value
            result.append(Solution(binding))
        if query.having is None:
            return result
        least = Compare(query.aggregates[0].name, ">=", integer(query.having))
        return [solution for solution in result if self.passes([least], solution.binding)]

    # --- expressions ----------------------------------------------------------------------------------

    def truth(self, expression: Expression, binding: Binding) -> bool:
        if isinstance(expression, Exists):
            return self.exists(expression.group, binding) is not expression.negated
        return super().truth(expression, binding)

    def exists(self, group: Group, binding: Binding) -> bool:
        assert all(isinstance(element, Stream | Static | Filter) for element in group.elements)
        both = join([Solution(binding)], self.unfiltered(group))
        return any(self.passes(filters(group), solution.binding) for solution in both)


def filters(group: Group) -> list[Expression]:
    return [element.expression for element in group.elements if isinstance(element, Filter)]


def join(left: Iterable[Solution], right: Iterable[Solution]) -> Iterator[Solution]:
    others = list(right)
    for one in left:
        for other in others:
            if compatible(one.binding, other.binding):
                yield Solution({**one.binding, **other.binding}, one.elements | other.elements)


def compatible(one: Binding, other: Binding) -> bool:
    return all(other.get(name, term) == term for name, term in one.items())


def aggregated(aggregate: Aggregate, members: list[Solution]) -> str | None:
    """The value of an aggregate; all but COUNT are only asked of numbers, and all rows have one."""
    if aggregate.argument == "*":
        keys = [solution.key for solution in members]
        return integer(len(set(keys)) if aggregate.distinct else len(keys))
    terms = [
        solution.binding[aggregate.argument] for solution in members if aggregate.argument in solution.binding
    ]
    if aggregate.distinct:
        terms = list(dict.fromkeys(terms))
    if aggregate.function == "COUNT":
        return integer(len(terms))
    assert len(terms) == len(members) or aggregate.distinct
    numbers = [value for term in terms if (value := number(term)) is not None]
    assert len(numbers) == len(terms)
    if aggregate.function == "SUM":
        return numeric(sum(numbers))
    if not numbers:
        return None
    if aggregate.function == "AVG":
        return numeric(cut(Decimal(sum(numbers)), Decimal(len(numbers))))
    return numeric({"MIN": min, "MAX": max}[aggregate.function](numbers))


def rank(term: str | None) -> tuple[int, int, str]:
    """Section 15.1: unbound, IRIs, numbers, other literals."""
    if term is None:
        return 0, 0, ""
    value = number(term)
    if value is not None:
        return 2, value, ""
    return (3 if term.startswith('"') else 1), 0, term


def matched(pattern: Pattern, triple: Triple) -> dict[str, str] | None:
    binding: dict[str, str] = {}
    for place, term in zip(pattern, triple, strict=True):
        if place.startswith("?"):
            if binding.setdefault(place, term) != term:
                return None
        elif place != term:
            return None
    return binding


# --- static data ------------------------------------------------------------------------------------------


@lru_cache
def asked(
    static: tuple[Quad, ...], sparql: str, default: tuple[str, ...] = (), named: tuple[str, ...] = ()
) -> list[Binding]:
    """The solutions of a SELECT over static data; kept, because all the ticks ask the same."""
    solutions = answer_of(store_of(static), sparql, default, named)
    assert isinstance(solutions, ox.QuerySolutions)
    return bindings_of(solutions)


def answer_of(
    store: ox.Store, sparql: str, default: tuple[str, ...], named: tuple[str, ...]
) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
    """What a store answers to a query whose FROM and FROM NAMED are these.

    The default graph is the merge of those that FROM names, or else that of the data, also where FROM NAMED
    stands alone. Where neither stands, all named graphs are there.
    """
    return store.query(
        sparql,
        default_graph=[ox.NamedNode(graph[1:-1]) for graph in default] or [ox.DefaultGraph()],
        named_graphs=[ox.NamedNode(graph[1:-1]) for graph in named] if default or named else None,
    )


def bindings_of(solutions: ox.QuerySolutions) -> list[Binding]:
    names = [variable.value for variable in solutions.variables]
    return [
        {f"?{name}": encode(solution[name]) for name in names if solution[name] is not None}
        for solution in solutions
    ]


def store_of(static: Iterable[Quad]) -> ox.Store:
    store = ox.Store()
    store.load(nquads(static), format=ox.RdfFormat.N_QUADS)
    return store


def nquads(static: Iterable[Quad]) -> str:
    return "".join(f"{' '.join(quad).rstrip()} .\n" for quad in static)
