"""Plans: a plan is an optimised query with its compiled statements and its patterns for the index."""

from __future__ import annotations

from functools import cached_property, lru_cache

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import BGP, Ask, Graph, Node, PathPattern, Query, Select
from rheos.algebra.rewrite import below
from rheos.execute.matching import Matched, is_about_default_graph, matched
from rheos.sql.dialect import Dialect
from rheos.sql.statement import TRIPLE, Statement, compile_query
from rheos.store.index import TripleIndex


class Plan:
    """An optimised query. Its statements are compiled only once, however often the query is asked."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.statement = lru_cache(self._statement)
        self._matched: tuple[TripleIndex, Matched] | None = None

    def _statement(self, dialect: Dialect) -> Statement:
        return compile_query(self.query, dialect)

    def matched(self, index: TripleIndex) -> Matched:
        """The query with the patterns that an index can match, and the rest for SQL."""
        if self._matched is None or self._matched[0] is not index:
            self._matched = index, matched(self.query, index)
        return self._matched[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of an answer."""
        form = self.query.form
        if isinstance(form, Ask):
            return ()
        return form.variables if isinstance(form, Select) else TRIPLE

    @cached_property
    def is_selective(self) -> bool:
        """Whether an index is likely to help: a pattern of the default graph names a node."""
        return is_about_default_graph(self.query) and names_node(self.query.form.pattern)


def names_node(node: Node) -> bool:
    match node:
        case Graph():
            return False
        case BGP(patterns):
            ends = [end for pattern in patterns for end in (pattern.subject, pattern.object)]
            return any(isinstance(end, Constant) for end in ends)
        case PathPattern(subject, _, object_):
            return isinstance(subject, Constant) or isinstance(object_, Constant)
    return any(map(names_node, below(node)))
