"""Property paths by the index of a graph: followed from given nodes, breadth first, a whole level at a time.

The results are bags or sets as in `rheos.sql.paths`, which does the same in SQL (section 18.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rheos.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    ZeroOrMore,
    ZeroOrOne,
)
from rheos.algebra.nodes import Sequence as Steps
from rheos.deadline import check
from rheos.store.index import ABSENT, Ids, TripleIndex, spread

Pairs = tuple[Ids, Ids]  # the place of a node among the given nodes, and a node that is reached from it

# Closures of several nodes are followed together while the marks of visited nodes fit into so many bytes.
MARKS = 50_000_000
# The closure of a single node is followed node by node as long as it has no more nodes than this.
FEW = 1_000


class TooMany(Exception):
    """A path reaches more nodes than allowed."""


class Paths:
    """Follows paths in one index. TooMany if they reach more than `most` nodes, summed over all starts."""

    def __init__(self, index: TripleIndex, most: int) -> None:
        self.index = index
        self.most = most
        self._id_of = lru_cache(index.id_of)

    def from_each(self, path: Path, nodes: Ids, fixed: Sequence[int] = (), *, forward: bool) -> Pairs:
        """The nodes that the path reaches from each of the nodes, or backwards.

        A path of length zero leads from a node of the graph to itself. It also leads from a constant end of
        the pattern to itself; `fixed` are these ends.
        """
        match path:
            case Link(predicate):
                number = self._id_of(predicate)
                if number == ABSENT:
                    return nodes[:0], nodes[:0]
                return self.index.steps(number, nodes, forward=forward)
            case NegatedSet(predicates):
                return self.other_steps(predicates, nodes, forward)
            case Inverse(inner):
                return self.from_each(inner, nodes, fixed, forward=not forward)
            case Steps(first, second):
                near, far = (first, second) if forward else (second, first)
                places, middle = self.from_each(near, nodes, forward=forward)
                self.bounded(len(places))
                rows, reached = self.from_each(far, middle, forward=forward)
                return places[rows], reached
            case Alternative(first, second):
                found = [self.from_each(one, nodes, forward=forward) for one in (first, second)]
                return joined(found)
            case ZeroOrOne(inner):
                step = self.from_each(inner, nodes, fixed, forward=forward)
                return distinct(joined([self.staying(nodes, fixed), step]))
            case OneOrMore(inner):
                return self.closure(inner, nodes, forward)
            case ZeroOrMore(inner):
                more = self.closure(inner, nodes, forward)
                return distinct(joined([self.staying(nodes, fixed), more]))

    def staying(self, nodes: Ids, fixed: Sequence[int]) -> Pairs:
        """Paths of length zero."""
        places = np.flatnonzero(self.index.is_node[nodes] | np.isin(nodes, fixed))
        return places, nodes[places]

    def other_steps(self, predicates: frozenset[str], nodes: Ids, forward: bool) -> Pairs:
        """One step along any predicate except these."""
        ranges = self.index.ranges(*((nodes, None, None) if forward else (None, None, nodes)))
        self.bounded(ranges.size)
        rows, places = spread(ranges.low, ranges.high)
        triples = ranges.order.triples[places]
        avoided = [self._id_of(predicate) for predicate in sorted(predicates)]
        kept = np.flatnonzero(~np.isin(self.index.p[triples], avoided))
        return rows[kept], (self.index.o if forward else self.index.s)[triples[kept]]

    def closure(self, path: Path, nodes: Ids, forward: bool) -> Pairs:
        """One or more steps from each node: every node that is reached, once."""
        if len(nodes) == 1:
            few = self.few(path, int(nodes[0]), forward)
            if few is not None:
                return np.zeros(len(few), np.int64), np.fromiter(few, np.int64, len(few))
        starts, rows = np.unique(nodes, return_inverse=True)
        at_once = max(1, MARKS // self.index.width)
        found = [
            self.reached(path, starts[first : first + at_once], first, forward)
            for first in range(0, len(starts), at_once)
        ]
        owners, reached = joined(found) if found else (nodes[:0], nodes[:0])
        if len(starts) == len(nodes) == 1:
            return owners, reached
        order = np.argsort(owners, kind="stable")
        owners, reached = owners[order], reached[order]
        low, high = np.searchsorted(owners, rows), np.searchsorted(owners, rows, "right")
        self.bounded(int((high - low).sum()))
        places, found_at = spread(low, high)
        return places, reached[found_at]

    def few(self, path: Path, start: int, forward: bool) -> set[int] | None:
        """The closure of one node, node by node, which is quicker along a chain. None if it is not small."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            found = self.near(path, waiting.pop(), forward)
            if found is None or len(seen) + len(found) > FEW:
                return None
            new = [node for node in found if node not in seen]
            seen.update(new)
            waiting += new
        return seen

    def near(self, path: Path, node: int, forward: bool) -> Sequence[int] | None:
        """The nodes that a path of links, inverses and sequences reaches from a node; else None."""
        match path:
            case Link(predicate):
                number = self._id_of(predicate)
                return () if number == ABSENT else self.index.neighbours(number, node, forward=forward)
            case Inverse(inner):
                return self.near(inner, node, not forward)
            case Steps(first, second):
                one, other = (first, second) if forward else (second, first)
                middles, found = self.near(one, node, forward), list[int]()
                if middles is None:
                    return None
                for middle in middles:
                    reached = self.near(other, middle, forward)
                    if reached is None or len(found) > FEW:
                        return None
                    found += reached
                return found
        return None

    def reached(self, path: Path, starts: Ids, first: int, forward: bool) -> Pairs:
        """The closures of distinct nodes, whose places are counted from `first`."""
        width, total = self.index.width, 0
        seen = np.zeros(len(starts) * width, bool)
        found = [np.empty(0, np.int64)]
        owners, frontier = np.arange(len(starts)), starts
        while len(frontier):
            check()
            rows, nodes = self.from_each(path, frontier, forward=forward)
            # A starting node and a node that it reaches are one number.
            keys = owners[rows] * width + nodes
            keys = np.unique(keys[~seen[keys]]) if len(keys) > 1 else keys[~seen[keys]]
            seen[keys] = True
            found.append(keys)
            total += len(keys)
            self.bounded(total)
            owners, frontier = np.divmod(keys, width) if len(starts) > 1 else (np.zeros_like(keys), keys)
        owners, nodes = np.divmod(np.concatenate(found), width)
        return owners + first, nodes

    def bounded(self, pairs: int) -> None:
        if pairs > self.most:
            raise TooMany


def joined(found: Sequence[Pairs]) -> Pairs:
    places, nodes = zip(*found, strict=True)
    return np.concatenate(places), np.concatenate(nodes)


def distinct(pairs: Pairs) -> Pairs:
    if not len(pairs[0]):
        return pairs
    width = int(pairs[1].max()) + 1
    places, nodes = np.divmod(np.unique(pairs[0].astype(np.int64) * width + pairs[1]), width)
    return places, nodes
