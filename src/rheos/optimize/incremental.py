"""Incremental evaluation of C-SPARQL: which solutions can be kept between micro-batches, and which are new.

Joins, filters, BIND and UNION only find more solutions when more elements come. The instants at which a
solution holds follow from its elements, and are known when the last of them has come. So solutions that were
found once can be kept, and a batch only has to find those with a new element.

    whole:  project ─ group ─ pattern          kept:  project ─ group ─ Kept(pattern of the new solutions)

The operators above `Kept` are evaluated on all kept solutions, for the instants of the batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    Describe,
    Distinct,
    Extend,
    Filter,
    Graph,
    GraphPart,
    Group,
    InWindow,
    Join,
    Kept,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Reduced,
    Slice,
    TableScan,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import aggregates_of, in_query, nodes
from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, StreamWindow
from rheos.algebra.timestamps import is_timed
from rheos.algebra.variables import has_exists
from rheos.optimize.links import Links, NotKept, between
from rheos.optimize.novelty import branches
from rheos.optimize.push_filters import volatile

# Every triple pattern that can match elements adds one more pattern for new solutions.
MOST_PATTERNS = 8

Matches = Callable[[str | None, TriplePattern], bool]


def kept(query: CSparqlQuery) -> Query | NotKept:
    """The query with a mark (`Kept`) on the part whose solutions can be kept; or why there is none."""
    form = query.query.form
    if isinstance(form, Describe):
        return NotKept("DESCRIBE asks all graphs about each term")
    if any(isinstance(window.window, PhysicalWindow) for window in query.windows):
        return NotKept("the instants of a window that counts are known only when its elements have come")
    if not all(isinstance(window.window, LogicalWindow) for window in query.windows):
        return NotKept("when a session is over is known only when no more elements come")
    graphs = [window.stream for window in query.windows if window.name is None]
    if len(set(graphs)) < len(graphs):
        return NotKept("a triple can be in several windows on a stream")
    if query.compares:
        return NotKept(f"{query.operator} compares answers with those of the evaluation before")
    if is_timed(form.pattern):
        return NotKept("timestamp() asks for the latest time of a triple that comes again")
    found = _marked(form.pattern)
    if isinstance(found, NotKept):
        return found
    if sum(1 for _ in patterns(of_kept(found))) > MOST_PATTERNS:
        return NotKept(f"it has more than {MOST_PATTERNS} triple patterns")
    return in_query(query.query, lambda _: found)


def unfit_expression(node: Node) -> str | None:
    """Why an operator's expressions prevent that solutions are kept below it; None if they do not."""
    expressions = [aggregate.argument for aggregate in aggregates_of(node)]
    match node:
        case Filter(condition) | Extend(expression=condition):
            expressions.append(condition)
        case OrderBy(_, orders):
            expressions += [order.expression for order in orders]
    if any(map(has_exists, expressions)):
        return EXISTS
    return CHANGING if any(map(changing, expressions)) else None


def _marked(node: Node) -> Node | NotKept:
    """A pattern with `Kept` as high up as possible."""
    obstacle = _obstacle(node)
    if obstacle is None:
        return Kept(node, node)
    unfit = unfit_expression(node)
    if unfit is not None:
        return NotKept(unfit)
    match node:
        case Project() | Distinct() | Reduced() | OrderBy() | Slice() | Filter() | Extend():
            inner = _marked(node.pattern)
        case Group() | Aggregated():
            obstacle = _obstacle(node.pattern)
            inner = Kept(node.pattern, node.pattern) if obstacle is None else NotKept(obstacle)
        case _:
            return NotKept(obstacle)
    return inner if isinstance(inner, NotKept) else replace(node, pattern=inner)


EXISTS = "EXISTS is asked at every instant"
CHANGING = "a function gives another value each time"


def changing(expression: Expression | None) -> bool:
    """Whether an expression can have another value when it is evaluated again."""
    match expression:
        case Call("NOW"):
            return True
        case Call(_, arguments):
            return volatile(expression) or any(map(changing, arguments))
    return False


def _obstacle(node: Node) -> str | None:
    """Why the solutions of a pattern cannot be kept; None if they can."""
    match node:
        case BGP() | Values() | TableScan():
            return None
        case Join(left, right) | Union(left, right):
            return _obstacle(left) or _obstacle(right)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            if has_exists(condition):
                return EXISTS
            return CHANGING if changing(condition) else _obstacle(pattern)
        case InWindow(Constant(), pattern):
            inside = any(isinstance(part, Graph) for part in nodes(pattern))
            return "GRAPH inside WINDOW asks for graphs as a whole" if inside else _obstacle(pattern)
        case InWindow():
            return "WINDOW with a variable asks all windows"
        case Graph(Constant(), pattern) | Project(pattern):
            return _obstacle(pattern)
        case Graph():
            return "GRAPH with a variable asks all graphs"
        case PathPattern():
            return "a path can go through any elements"
        case Distinct() | Reduced() | OrderBy() | Slice() | Group() | Aggregated():
            return "a sub-select is evaluated at every instant"
        case LeftJoin() | Minus():
            return "OPTIONAL and MINUS depend on what is absent at each instant"
    return "events in a window are looked for at every instant"


def source(window: StreamWindow) -> str:
    """The name for what a pattern asks if it looks into a window: the graph of the stream or, in
    RSP-QL, the window."""
    return window.stream if window.name is None else window_source(window.name)


def window_source(name: str) -> str:
    return f"window {name}"


def patterns(node: Node, graph: str | None = None) -> Iterator[tuple[str | None, TriplePattern]]:
    """The triple patterns of the kept part, in order, each with the graph that it asks (see `source`); None
    stands for the default graph."""
    match node:
        case BGP(found):
            yield from ((graph, pattern) for pattern in found)
        case Join(left, right) | Union(left, right):
            yield from patterns(left, graph)
            yield from patterns(right, graph)
        case InWindow(Constant(name), pattern):
            yield from patterns(pattern, window_source(name))
        case Graph(Constant(name), pattern):
            yield from patterns(pattern, name)
        case Filter(_, pattern) | Extend(pattern) | Project(pattern):
            yield from patterns(pattern, graph)


def of_kept(node: Node) -> Node:
    """The part of a marked pattern whose solutions are kept."""
    while not isinstance(node, Kept):
        assert isinstance(
            node, Project | Distinct | Reduced | OrderBy | Slice | Filter | Extend | Group | Aggregated
        )
        node = node.pattern
    return node.whole


def with_new(query: Query, matches: Matches, sources: Sequence[str], first: bool) -> Query:
    """The query with patterns for new solutions in its `Kept`.

    `matches` says whether a triple pattern that asks a graph can match elements. `sources` are the
    graphs that have elements only, and no static data. In the `first` batch, solutions of static
    data alone are new, too.
    """

    def replaced(node: Node) -> Node:
        if isinstance(node, Kept):
            new = [
                variant
                for branch in branches(node.whole)
                for variant in _variants(branch, matches, frozenset(sources), first)
            ]
            return replace(node, pattern=reduce(Union, new) if new else _nothing(node.whole))
        assert isinstance(
            node, Project | Distinct | Reduced | OrderBy | Slice | Filter | Extend | Group | Aggregated
        )
        return replace(node, pattern=replaced(node.pattern))

    return in_query(query, replaced)


def _nothing(pattern: Node) -> Node:
    return Filter(Constant(FALSE), pattern)


FALSE = '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'


def _variants(branch: Node, matches: Matches, sources: frozenset[str], first: bool) -> Iterator[Node]:
    """Patterns for the solutions of a branch (a pattern without UNION) that have a new element. There is one
    for each triple pattern that can match elements: this one matches a new element, those before it match old
    ones, and those after it any."""
    asked = list(patterns(branch))
    matching = [at for at, (graph, pattern) in enumerate(asked) if matches(graph, pattern)]
    needed = [at for at, (graph, _) in enumerate(asked) if graph in sources]  # static data has no such graph
    if not set(needed) <= set(matching):
        return
    for new in matching:
        parts: list[GraphPart] = ["static"] * len(asked)
        for at in matching:
            parts[at] = "new" if at == new else "old" if at < new else "all"
        yield _with_parts(branch, parts)
    if first and not needed:
        yield _with_parts(branch, ["static"] * len(asked))


def _with_parts(branch: Node, parts: Sequence[GraphPart]) -> Node:
    given = iter(parts)

    def marked(node: Node) -> Node:
        match node:
            case BGP(found):
                return replace(node, parts=tuple(next(given) for _ in found))
            case Join(left, right):
                return Join(marked(left), marked(right))
            case Filter() | Extend() | Graph() | Project():
                return replace(node, pattern=marked(node.pattern))
        return node

    return marked(branch)


def links(query: Query, matches: Matches) -> Links | None:
    """How old elements must be linked to new ones to be part of a new solution. None if an old element need
    not share a term with the new one."""
    found: set[tuple[str, str]] = set()
    for branch in branches(of_kept(query.form.pattern)):
        matching = [pattern for graph, pattern in patterns(branch) if matches(graph, pattern)]
        for new, other in itertools.permutations(matching, 2):
            shared = between(new, other)
            if not shared:
                return None
            found |= shared
    return frozenset(found)


def predicate(pattern: TriplePattern) -> str | None:
    """The predicate that elements must have to match; None if any predicate matches."""
    return None if isinstance(pattern.predicate, Variable) else pattern.predicate.term
