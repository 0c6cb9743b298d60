"""Translation of the syntax tree of an update to its operations, with names resolved and WHERE as algebra."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rheos import iris, terms
from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import Dataset, Query, Term
from rheos.algebra.translate import Names, Translator
from rheos.syntax import ast, update_tree


@dataclass(frozen=True, slots=True)
class QuadTemplate:
    """A triple of a template and its graph; None is the default graph.

    Blank nodes are variables whose name starts with a dot: new nodes for each solution.
    """

    graph: Term | None
    subject: Term
    predicate: Term
    object: Term

    @property
    def terms(self) -> tuple[Term | None, Term, Term, Term]:
        return self.graph, self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class Modify:
    """For each solution of `where`, triples to delete and then triples to insert.

    Without a `where` there is one solution, which binds nothing. Solutions have the variables of the
    templates.
    """

    delete: tuple[QuadTemplate, ...]
    insert: tuple[QuadTemplate, ...]
    where: Query | None = None
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD: the IRI of a document, and the IRI of the graph into which it is loaded."""

    source: str
    graph: str | None
    silent: bool


# In the operations below, graphs are terms; None is the default graph.


@dataclass(frozen=True, slots=True)
class Clear:
    graphs: str | Literal["DEFAULT", "NAMED", "ALL"]
    silent: bool


@dataclass(frozen=True, slots=True)
class Drop:
    graphs: str | Literal["DEFAULT", "NAMED", "ALL"]
    silent: bool


@dataclass(frozen=True, slots=True)
class Create:
    graph: str
    silent: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    kind: Literal["ADD", "MOVE", "COPY"]
    source: str | None
    target: str | None
    silent: bool


Operation = Modify | Load | Clear | Drop | Create | Transfer


def translate_update(update: update_tree.Update, base: str = iris.DEFAULT_BASE) -> tuple[Operation, ...]:
    """The operations in order; `base` resolves relative IRIs until the text says BASE."""
    names = Names(update.text, base, {})
    operations = []
    for step in update.steps:
        names = names.after(step.prologue)
        operations.append(_Operations(names).operation(step.operation))
    return tuple(operations)


class _Operations:
    """Translates operations with the names that are declared before them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._translator = Translator(names)

    def operation(self, operation: update_tree.Operation) -> Operation:
        match operation:
            case update_tree.InsertData(quads=quads):
                return Modify((), self._templates(quads))
            case update_tree.DeleteData(quads=quads):
                return Modify(self._templates(quads), ())
            case update_tree.Modify():
                return self._modify(operation)
            case update_tree.Load(_, source, graph, silent):
                return Load(
                    self._names.iri(source), None if graph is None else self._names.iri(graph), silent
                )
            case update_tree.Clear(_, graphs, silent):
                return Clear(self._graphs(graphs), silent)
            case update_tree.Drop(_, graphs, silent):
                return Drop(self._graphs(graphs), silent)
            case update_tree.Create(_, graph, silent):
                return Create(self._term(graph), silent)
            case update_tree.Transfer(_, kind, source, target, silent):
                return Transfer(kind, self._end(source), self._end(target), silent)

    def _modify(self, modify: update_tree.Modify) -> Modify:
        chosen = None if modify.with_graph is None else Constant(self._term(modify.with_graph))
        delete = self._templates(modify.delete, chosen)
        insert = self._templates(modify.insert, chosen)
        query = self._translator.query(_select(modify, self._names.text, (*delete, *insert)))
        if chosen is not None and query.dataset is None:
            query = replace(query, dataset=Dataset((chosen.term,), None))
        return Modify(delete, insert, query)

    def _templates(
        self, quads: Iterable[update_tree.Quads], graph: Constant | None = None
    ) -> tuple[QuadTemplate, ...]:
        """The quads; those outside of GRAPH are in `graph`."""
        return tuple(
            QuadTemplate(graph if block.graph is None else self._translator.term(block.graph), *triple.terms)
            for block in quads
            for triple in map(self._translator.template, block.triples)
        )

    def _graphs(self, graphs: update_tree.Graphs) -> str | Literal["DEFAULT", "NAMED", "ALL"]:
        return graphs if isinstance(graphs, str) else self._term(graphs)

    def _end(self, graph: ast.Name | None) -> str | None:
        return None if graph is None else self._term(graph)

    def _term(self, name: ast.Name) -> str:
        return terms.iri(self._names.iri(name))


def _select(modify: update_tree.Modify, text: str, templates: tuple[QuadTemplate, ...]) -> ast.Query:
    """The query for the variables of the templates.

    It is DISTINCT, or has LIMIT 1 without variables, unless the templates make blank nodes: only then does it
    matter how often a solution comes.
    """
    variables = tuple(dict.fromkeys(variables_of(templates)))
    named = [ast.Var(modify.position, variable.name) for variable in variables if not variable.is_blank]
    projection = tuple(ast.Projection(variable.position, variable) for variable in named)
    once = len(named) == len(variables)
    modifiers = ast.Modifiers(limit=1 if once and not named else None)
    form = ast.SelectQuery(modify.position, projection, once and bool(named), False, modify.where, modifiers)
    return ast.Query(modify.position, text, (), modify.using, form)


def variables_of(templates: Iterable[QuadTemplate]) -> Iterator[Variable]:
    """The variables of templates, blank nodes included, in their order."""
    return (term for quad in templates for term in quad.terms if isinstance(term, Variable))
