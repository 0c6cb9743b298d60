"""SPARQL Update: builds the nodes of updates; all else is built as in queries.

Rules beyond the grammar (notes in 19.6 and 19.8 of the recommendation for queries): DATA has no variables,
DELETE clauses have no blank nodes, and a label of a blank node may stand in only one INSERT DATA and in only
one WHERE.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast, limits, scope
from rheos.syntax.build import Builder, Described
from rheos.syntax.terms import Fault, position
from rheos.syntax.update_tree import (
    Clear,
    Create,
    DeleteData,
    Drop,
    Graphs,
    InsertData,
    Load,
    Modify,
    Quads,
    Step,
    Transfer,
    Update,
)

_WORDS: dict[str, Literal["DEFAULT", "NAMED", "ALL"]] = {"DEFAULT": "DEFAULT", "NAMED": "NAMED", "ALL": "ALL"}


class Clause(NamedTuple):
    """A part of a modification: WITH and its graph, DELETE or INSERT and their quads."""

    name: str
    position: Position
    value: Any


class UpdateBuilder(Builder):
    """Builds the tree of an update."""

    def query_unit(self, update: Update) -> Update:  # type: ignore[override]
        return update

    def update(self, *parts: Any) -> Update:
        """The tree of prologues and operations, which alternate. A prologue at the end has no effect."""
        steps = tuple(Step(*pair) for pair in zip(parts[::2], parts[1::2], strict=False))
        _check_labels(steps)
        return Update(self._text, steps)

    # Data may be of any length, so neither of these counts triples.

    def _described(self, node: ast.Term, triples: tuple[ast.Triple, ...]) -> Described:
        return Described(node, triples)

    def _few_triples(self, where: Position) -> None:
        pass

    # --- graphs as wholes --------------------------------------------------------------------------

    def load(self, keyword: Token, *rest: Any) -> Load:
        silent, source, *graph = _silent(rest)
        return Load(position(keyword), source, graph[0] if graph else None, silent)

    def clear(self, keyword: Token, *rest: Any) -> Clear:
        silent, graphs = _silent(rest)
        return Clear(position(keyword), graphs, silent)

    def drop(self, keyword: Token, *rest: Any) -> Drop:
        silent, graphs = _silent(rest)
        return Drop(position(keyword), graphs, silent)

    def create(self, keyword: Token, *rest: Any) -> Create:
        silent, graph = _silent(rest)
        return Create(position(keyword), graph, silent)

    def add(self, keyword: Token, *rest: Any) -> Transfer:
        return _transfer("ADD", keyword, rest)

    def move(self, keyword: Token, *rest: Any) -> Transfer:
        return _transfer("MOVE", keyword, rest)

    def copy(self, keyword: Token, *rest: Any) -> Transfer:
        return _transfer("COPY", keyword, rest)

    def graph_or_default(self, *words: Any) -> ast.Name | None:
        return None if isinstance(words[-1], Token) else words[-1]  # a token alone: DEFAULT

    def graph_ref(self, _: Token, iri: ast.Name) -> ast.Name:
        return iri

    def graph_ref_all(self, graphs: Token | ast.Name) -> Graphs:
        return _WORDS[graphs.type] if isinstance(graphs, Token) else graphs

    # --- triples -----------------------------------------------------------------------------------

    def insert_data(self, keyword: Token, _: Token, quads: tuple[Quads, ...]) -> InsertData:
        _refuse_variables(quads, "INSERT")
        return InsertData(position(keyword), quads)

    def delete_data(self, keyword: Token, _: Token, quads: tuple[Quads, ...]) -> DeleteData:
        _refuse_variables(quads, "DELETE")
        _refuse_blank_nodes(quads, "DELETE DATA")
        return DeleteData(position(keyword), quads)

    def delete_where(self, keyword: Token, quads: tuple[Quads, ...]) -> Modify:
        self._count_patterns(position(keyword), sum(len(block.triples) for block in quads))
        _refuse_blank_nodes(quads, "DELETE WHERE")
        where = ast.Group(position(keyword), tuple(map(_pattern, quads)))
        return Modify(position(keyword), quads, (), where)

    def modify(self, *parts: Any) -> Modify:
        *clauses, using, where = parts
        first, *_ = (clause.position for clause in clauses)
        values = {clause.name: clause.value for clause in clauses}
        delete, insert = values.get("DELETE", ()), values.get("INSERT", ())
        limits.check(where)
        return Modify(first, delete, insert, where, values.get("WITH"), using)

    def with_clause(self, keyword: Token, iri: ast.Name) -> Clause:
        return Clause("WITH", position(keyword), iri)

    def delete_clause(self, keyword: Token, quads: tuple[Quads, ...]) -> Clause:
        _refuse_blank_nodes(quads, "DELETE")
        return Clause("DELETE", position(keyword), quads)

    def insert_clause(self, keyword: Token, quads: tuple[Quads, ...]) -> Clause:
        return Clause("INSERT", position(keyword), quads)

    def using_clauses(self, *clauses: ast.DatasetClause) -> tuple[ast.DatasetClause, ...]:
        return clauses

    def using_clause(self, keyword: Token, *rest: Any) -> ast.DatasetClause:
        return ast.DatasetClause(position(keyword), rest[-1], named=len(rest) == 2)

    def quads(self, *parts: ast.Triples | Quads) -> tuple[Quads, ...]:
        return tuple(
            part if isinstance(part, Quads) else Quads(part.position, None, part.triples) for part in parts
        )

    def quads_not_triples(self, keyword: Token, graph: ast.Var | ast.Name, *block: ast.Triples) -> Quads:
        return Quads(position(keyword), graph, block[0].triples if block else ())


def _silent(rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """True if SILENT comes first, followed by the other parts."""
    return (True, *rest[1:]) if isinstance(rest[0], Token) else (False, *rest)


def _transfer(kind: Literal["ADD", "MOVE", "COPY"], keyword: Token, rest: tuple[Any, ...]) -> Transfer:
    silent, source, target = _silent(rest)
    return Transfer(position(keyword), kind, source, target, silent)


def _pattern(quads: Quads) -> ast.Pattern:
    block = ast.Triples(quads.position, quads.triples)
    if quads.graph is None:
        return block
    inside = ast.Group(quads.position, (block,) if quads.triples else ())
    return ast.Graph(quads.position, quads.graph, inside)


def _refuse_variables(quads: tuple[Quads, ...], word: str) -> None:
    for node in scope.nodes(quads):
        if isinstance(node, ast.Var):
            message = f"{word} DATA takes no variables"
            raise Fault(f"{message}; {word} {{ ... }} WHERE {{ ... }} does", node.position)


def _refuse_blank_nodes(quads: tuple[Quads, ...], where: str) -> None:
    for node in scope.nodes(quads):
        if isinstance(node, ast.BlankNode):
            message = f"{where} takes no blank nodes, which would stand for new ones"
            raise Fault(f"{message}; a variable finds those that are there", node.position)


def _check_labels(steps: tuple[Step, ...]) -> None:
    in_data: dict[str, int] = {}
    in_patterns: dict[str, int] = {}
    for number, step in enumerate(steps):
        match step.operation:
            case InsertData(quads=quads):
                _claim_labels(quads, number, in_data, "INSERT DATA")
            case Modify(where=where):
                _claim_labels(where, number, in_patterns, "WHERE")


def _claim_labels(tree: Any, number: int, owners: dict[str, int], place: str) -> None:
    for node in scope.nodes(tree):
        if not isinstance(node, ast.BlankNode) or node.label.startswith("."):
            continue
        if owners.setdefault(node.label, number) != number:
            message = f"the blank node _:{node.label} is already used in another {place} of this update"
            raise Fault(f"{message}, and would not be the same", node.position)
