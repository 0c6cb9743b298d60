"""Builds the syntax tree from the reductions of the grammar: one method for each rule or alias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast, limits, terms
from rheos.syntax.expressions import ExpressionBuilder
from rheos.syntax.limits import MOST_PATTERNS, MOST_TRIPLES
from rheos.syntax.terms import Fault, position

# A row count that no answer reaches. Larger numbers, which SQL cannot hold, mean the same.
_MOST_ROWS = 2**63 - 1

Verb = ast.Var | ast.Name | ast.Path


class Described(NamedTuple):
    """A collection or `[...]`: the term that stands for it and the triples that describe it."""

    term: ast.Term
    triples: tuple[ast.Triple, ...]


GraphNode = ast.Term | Described
Properties = tuple[tuple[Verb, tuple[GraphNode, ...]], ...]
Form = ast.SelectQuery | ast.ConstructQuery | ast.AskQuery | ast.DescribeQuery
Dataset = tuple[ast.DatasetClause | ast.StreamClause, ...]


class SelectClause(NamedTuple):
    position: Position
    projection: tuple[ast.Projection, ...] | None
    distinct: bool
    reduced: bool
    operator: Token | None = None  # RSTREAM, ISTREAM or DSTREAM, in a language that has them


class Builder(ExpressionBuilder):
    """Builds the tree of one text at a time; `start` begins a new text."""

    DIALECT: ClassVar[str] = "sparql"

    def __init__(self) -> None:
        self.start("")

    def start(self, text: str) -> None:
        self._text = text
        self._anonymous = 0
        self._operator_count = 0
        self._pattern_count = 0
        self._triple_count = 0

    def _count_patterns(self, where: Position, more: int, latest: ast.Node | None = None) -> None:
        self._pattern_count += more
        if self._pattern_count > MOST_PATTERNS:
            limits.check(latest)  # if the patterns are nested, this gives the better message
        self._few_patterns(where, self._pattern_count)

    def _few_patterns(self, where: Position, count: int) -> None:
        if count > MOST_PATTERNS:
            kinds = "patterns (triples, groups, paths)"
            raise Fault(f"the text is too long: it has more than {MOST_PATTERNS} {kinds}", where)

    # --- the query as a whole ----------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        return query

    def query(
        self,
        prologue: tuple[ast.Base | ast.Prefix, ...],
        form: tuple[Form, Dataset],
        values: ast.Values | None,
    ) -> ast.Query:
        body, clauses = form
        if values is not None:
            body = replace(body, modifiers=replace(body.modifiers, values=values))
        limits.check(body)
        first = prologue[0] if prologue else body
        dataset = tuple(clause for clause in clauses if isinstance(clause, ast.DatasetClause))
        streams = tuple(clause for clause in clauses if isinstance(clause, ast.StreamClause))
        where = first.position
        return ast.Query(where, self._text, prologue, dataset, body, streams=streams, dialect=self.DIALECT)

    def prologue(self, *declarations: ast.Base | ast.Prefix) -> tuple[ast.Base | ast.Prefix, ...]:
        return declarations

    def base_decl(self, keyword: Token, iri: Token) -> ast.Base:
        return ast.Base(position(keyword), terms.iri(iri))

    def prefix_decl(self, keyword: Token, name: Token, iri: Token) -> ast.Prefix:
        return ast.Prefix(position(keyword), terms.prefix(name), terms.iri(iri))

    def select_query(
        self, select: SelectClause, dataset: Dataset, where: ast.Group, modifiers: ast.Modifiers
    ) -> tuple[Form, Dataset]:
        return self._select(select, where, modifiers), dataset

    def sub_select(
        self, select: SelectClause, where: ast.Group, modifiers: ast.Modifiers, values: ast.Values | None
    ) -> ast.SelectQuery:
        return self._select(select, where, replace(modifiers, values=values))

    @staticmethod
    def _select(select: SelectClause, where: ast.Group, modifiers: ast.Modifiers) -> ast.SelectQuery:
        return ast.SelectQuery(
            select.position, select.projection, select.distinct, select.reduced, where, modifiers
        )

    def select_clause(self, keyword: Token, *rest: Token | ast.Projection) -> SelectClause:
        marks = {item.type for item in rest if isinstance(item, Token)}
        items = tuple(item for item in rest if isinstance(item, ast.Projection))
        return SelectClause(position(keyword), items or None, "DISTINCT" in marks, "REDUCED" in marks)

    def projected_variable(self, variable: ast.Var) -> ast.Projection:
        return ast.Projection(variable.position, variable)

    def projected_expression(
        self, bracket: Token, expression: ast.Expression, variable: ast.Var
    ) -> ast.Projection:
        self._count_operators(position(bracket), 1)
        return ast.Projection(position(bracket), variable, expression)

    def construct_query(
        self,
        keyword: Token,
        template: tuple[ast.Triple, ...],
        dataset: Dataset,
        where: ast.Group,
        modifiers: ast.Modifiers,
    ) -> tuple[Form, Dataset]:
        return ast.ConstructQuery(position(keyword), template, where, modifiers), dataset

    def construct_template(self, triples: ast.Triples | None = None) -> tuple[ast.Triple, ...]:
        return triples.triples if triples else ()

    def construct_where(
        self, keyword: Token, dataset: Dataset, brace: Token, *rest: Any
    ) -> tuple[Form, Dataset]:
        *blocks, modifiers = rest
        where = ast.Group(position(brace), tuple(blocks))
        template = self.construct_template(*blocks)
        return ast.ConstructQuery(position(keyword), template, where, modifiers), dataset

    def describe_query(self, keyword: Token, *rest: Any) -> tuple[Form, Dataset]:
        *described, modifiers = rest
        where = described.pop() if isinstance(described[-1], ast.Group) else None
        dataset = described.pop()
        names = None if isinstance(described[0], Token) else tuple(described)
        return ast.DescribeQuery(position(keyword), names, where, modifiers), dataset

    def ask_query(
        self, keyword: Token, dataset: Dataset, where: ast.Group, modifiers: ast.Modifiers
    ) -> tuple[Form, Dataset]:
        return ast.AskQuery(position(keyword), where, modifiers), dataset

    def dataset_clauses(self, *clauses: ast.DatasetClause | ast.StreamClause) -> Dataset:
        return clauses

    def default_graph_clause(self, keyword: Token, iri: ast.Name) -> ast.DatasetClause:
        return ast.DatasetClause(position(keyword), iri, named=False)

    def named_graph_clause(self, keyword: Token, iri: ast.Name) -> ast.DatasetClause:
        return ast.DatasetClause(position(keyword), iri, named=True)

    # --- solution modifiers ------------------------------------------------------------------------

    def solution_modifier(self, *clauses: tuple[str, Any]) -> ast.Modifiers:
        return ast.Modifiers(**dict(clauses))

    def group_clause(self, *conditions: ast.Projection) -> tuple[str, Any]:
        self._count_operators(conditions[0].position, len(conditions))
        return "group_by", conditions

    def group_expression(self, expression: ast.Expression) -> ast.Projection:
        return ast.Projection(expression.position, None, expression)

    def group_bracketted(self, bracket: Token, expression: ast.Expression) -> ast.Projection:
        if isinstance(expression, ast.Var):
            return self.projected_variable(expression)
        return ast.Projection(position(bracket), None, expression)

    def having_clause(self, *conditions: ast.Expression) -> tuple[str, Any]:
        return "having", conditions

    def order_clause(self, *conditions: ast.OrderCondition) -> tuple[str, Any]:
        self._count_operators(conditions[0].position, len(conditions))
        return "order_by", conditions

    def order_directed(self, direction: Token, expression: ast.Expression) -> ast.OrderCondition:
        return ast.OrderCondition(position(direction), expression, direction.type == "DESC")

    def order_plain(self, expression: ast.Expression) -> ast.OrderCondition:
        return ast.OrderCondition(expression.position, expression, descending=False)

    def limit_clause(self, number: Token) -> tuple[str, Any]:
        return "limit", _row_count(number)

    def offset_clause(self, number: Token) -> tuple[str, Any]:
        return "offset", _row_count(number)

    def values_clause(self, values: ast.Values | None = None) -> ast.Values | None:
        return values

    # --- graph patterns ----------------------------------------------------------------------------

    def group_graph_pattern(self, brace: Token, *elements: ast.Pattern) -> ast.Group:
        triples = sum(len(element.triples) for element in elements if isinstance(element, ast.Triples))
        group = ast.Group(position(brace), elements)
        self._count_patterns(group.position, 1 + triples, group)
        return group

    def group_of_sub_select(self, brace: Token, select: ast.SelectQuery) -> ast.Group:
        group = ast.Group(position(brace), (ast.SubSelect(select.position, select),))
        self._count_patterns(group.position, 1, group)
        return group

    def group_or_union_graph_pattern(self, *options: ast.Group) -> ast.Union:
        return ast.Union(options[0].position, options)

    def optional_graph_pattern(self, keyword: Token, pattern: ast.Group) -> ast.Optional:
        return ast.Optional(position(keyword), pattern)

    def minus_graph_pattern(self, keyword: Token, pattern: ast.Group) -> ast.Minus:
        return ast.Minus(position(keyword), pattern)

    def graph_graph_pattern(self, keyword: Token, name: ast.Var | ast.Name, pattern: ast.Group) -> ast.Graph:
        return ast.Graph(position(keyword), name, pattern)

    def service_graph_pattern(self, keyword: Token, *rest: Any) -> ast.Service:
        *silent, name, pattern = rest
        return ast.Service(position(keyword), name, bool(silent), pattern)

    def filter(self, keyword: Token, condition: ast.Expression) -> ast.Filter:
        self._count_patterns(position(keyword), 1)
        return ast.Filter(position(keyword), condition)

    def bind(self, keyword: Token, expression: ast.Expression, variable: ast.Var) -> ast.Bind:
        self._count_patterns(position(keyword), 1)
        return ast.Bind(position(keyword), expression, variable)

    def inline_data_one_var(self, keyword: Token, variable: ast.Var, *values: Any) -> ast.Values:
        self._count_patterns(position(keyword), 1)
        rows = tuple((_data_value(value),) for value in values)
        return ast.Values(position(keyword), (variable,), rows)

    def inline_data_full(
        self, keyword: Token, variables: tuple[ast.Var, ...], *rows: tuple[Token, tuple[Any, ...]]
    ) -> ast.Values:
        self._count_patterns(position(keyword), 1)
        names: set[str] = set()
        for variable in variables:
            if variable.name in names:
                raise Fault(f"?{variable.name} is named twice in VALUES", variable.position)
            names.add(variable.name)
        for bracket, row in rows:
            if len(row) != len(variables):
                raise Fault(
                    f"this row of VALUES has {_count(row, 'value')} for {_count(variables, 'variable')}",
                    position(bracket),
                )
        return ast.Values(position(keyword), variables, tuple(row for _, row in rows))

    def data_variables(self, *variables: ast.Var) -> tuple[ast.Var, ...]:
        return variables

    def data_row(self, bracket: Token, *values: Any) -> tuple[Token, tuple[Any, ...]]:
        return bracket, tuple(_data_value(value) for value in values)

    # --- triples -----------------------------------------------------------------------------------

    def triples_block(self, *subjects: tuple[ast.Triple, ...]) -> ast.Triples:
        triples = tuple(triple for subject in subjects for triple in subject)
        return ast.Triples(triples[0].position, triples)

    def triples_same_subject(self, subject: GraphNode, properties: Properties = ()) -> tuple[ast.Triple, ...]:
        term, nested = _split(subject)
        triples = (*nested, *_describe(term, properties))
        self._triple_count += len(triples)
        self._few_triples(term.position)
        return triples

    def _few_triples(self, where: Position) -> None:
        """Refuse too many triples early: the patterns of a block are counted only when all of it is read."""
        if self._triple_count > MOST_TRIPLES:
            raise Fault(f"the text is too long: it has more than {MOST_TRIPLES} triples", where)

    def property_list(self, *properties: tuple[Verb, tuple[GraphNode, ...]]) -> Properties:
        return properties

    def verb_objects(self, verb: Verb, objects: tuple[GraphNode, ...]) -> tuple[Verb, tuple[GraphNode, ...]]:
        return (verb.predicate if isinstance(verb, ast.Link) else verb), objects

    def object_list(self, *objects: GraphNode) -> tuple[GraphNode, ...]:
        return objects

    def blank_node_property_list(self, bracket: Token, properties: Properties) -> Described:
        node = self.anon(bracket)
        return self._described(node, tuple(_describe(node, properties)))

    def collection(self, bracket: Token, *items: GraphNode) -> Described:
        """The list of cells with rdf:first and rdf:rest; the first cell stands for the whole collection."""
        parts = [_split(item) for item in items]
        places = [position(bracket), *(term.position for term, _ in parts[1:])]
        cells = [self._new_blank_node(place) for place in places]
        triples: list[ast.Triple] = []
        for index, (term, nested) in enumerate(parts):
            cell, place = cells[index], places[index]
            rest = cells[index + 1] if index + 1 < len(cells) else terms.rdf("nil", place)
            triples.append(ast.Triple(place, cell, terms.rdf("first", place), term))
            triples.extend(nested)
            triples.append(ast.Triple(place, cell, terms.rdf("rest", place), rest))
        return self._described(cells[0], tuple(triples))

    def _described(self, node: ast.Term, triples: tuple[ast.Triple, ...]) -> Described:
        # Each description copies those nested in it, so deep nesting would cost much: it is refused early.
        self._few_patterns(node.position, len(triples))
        return Described(node, triples)

    def nil(self, bracket: Token) -> ast.Iri:
        return terms.rdf("nil", position(bracket))

    def blank_node(self, label: Token) -> ast.BlankNode:
        return terms.blank_node(label)

    def anon(self, bracket: Token) -> ast.BlankNode:
        return self._new_blank_node(position(bracket))

    def _new_blank_node(self, where: Position) -> ast.BlankNode:
        node = ast.BlankNode(where, f".{self._anonymous}")
        self._anonymous += 1
        return node

    # --- property paths ----------------------------------------------------------------------------

    def path_alternative(self, *options: ast.Path) -> ast.PathAlternative:
        self._count_patterns(options[0].position, len(options))
        return ast.PathAlternative(options[0].position, options)

    def path_sequence(self, *steps: ast.Path) -> ast.PathSequence:
        self._count_patterns(steps[0].position, len(steps))
        return ast.PathSequence(steps[0].position, steps)

    def path_inverse(self, caret: Token, path: ast.Path) -> ast.Inverse:
        return ast.Inverse(position(caret), path)

    def path_elt(self, path: ast.Path, sign: str) -> ast.PathRepeat:
        self._count_patterns(path.position, 1)
        return ast.PathRepeat(path.position, path, sign)

    def path_mod(self, sign: Token) -> str:
        return str(sign)

    def path_link(self, predicate: ast.Name) -> ast.Link:
        return ast.Link(predicate.position, predicate)

    def path_negated_property_set(self, bang: Token, *members: tuple[bool, ast.Name]) -> ast.NegatedSet:
        forward = tuple(name for inverse, name in members if not inverse)
        backward = tuple(name for inverse, name in members if inverse)
        return ast.NegatedSet(position(bang), forward, backward)

    def path_one_in_property_set(self, *parts: Any) -> tuple[bool, ast.Name]:
        return len(parts) == 2, parts[-1]

    def rdf_type(self, keyword: Token) -> ast.Iri:
        return terms.rdf("type", position(keyword))


def _split(node: GraphNode) -> tuple[ast.Term, tuple[ast.Triple, ...]]:
    return node if isinstance(node, Described) else (node, ())


def _describe(subject: ast.Term, properties: Properties) -> Iterator[ast.Triple]:
    for verb, objects in properties:
        for item in objects:
            term, nested = _split(item)
            yield ast.Triple(subject.position, subject, verb, term)
            yield from nested


def _data_value(value: Any) -> ast.Name | ast.Literal | None:
    return None if isinstance(value, Token) else value  # the only token among them is UNDEF


def _row_count(number: Token) -> int:
    digits = number.lstrip("0") or "0"
    return int(digits) if len(digits) < 19 else _MOST_ROWS


def _count(things: Iterable[Any], noun: str) -> str:
    number = len(tuple(things))
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
