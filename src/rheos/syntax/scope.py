"""Scope: refuses a syntax tree that breaks a rule about variables, aggregates or blank nodes.

The rules: `(... AS ?v)` needs a new variable (18.2.1), a grouped query projects only keys and aggregates
(11.4, 18.2.4.1), aggregates stand only in SELECT, HAVING and ORDER BY and not in each other (19.8, note 11),
and a blank node label stays inside one basic graph pattern (5.1.1). In C-SPARQL, AGGREGATE needs a new
variable for its value and takes its other variables from WHERE (3.4 of its paper). The rules about streams
are in `csparql.py`, `cqels.py`, `epsparql.py` and `rspql.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from rheos.syntax import ast
from rheos.syntax.terms import Fault

Names = set[str]


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule of scope."""
    checker = _Checker()
    match query.form:
        case ast.SelectQuery() as select:
            checker.select(select)
        case (
            ast.ConstructQuery(where=where, modifiers=modifiers)
            | ast.AskQuery(where=where, modifiers=modifiers)
        ):
            checker.modifiers(modifiers, checker.rows(where, modifiers))
        case ast.DescribeQuery(where=pattern, modifiers=modifiers):
            checker.modifiers(modifiers, checker.rows(pattern, modifiers))


def check_pattern(pattern: ast.Group) -> None:
    """The same check for a pattern alone: the WHERE of an update."""
    _Checker().group(pattern)


def in_scope(pattern: ast.Group) -> Names:
    """The variables that a solution of a pattern may bind."""
    return _Checker().group(pattern)


class _Checker:
    """Visits every pattern once. A visit checks the pattern and returns the variables in its scope."""

    def __init__(self) -> None:
        self._block_of_label: dict[str, int] = {}
        self._blocks = 0

    # --- patterns ----------------------------------------------------------------------------------

    def group(self, group: ast.Group) -> Names:
        scope: Names = set()
        block = self._new_block()
        for element in group.elements:
            match element:
                case ast.Triples(triples=triples):
                    self._labels(triples, block)
                    scope |= _variables(triples)
                    continue
                case ast.Filter(condition=condition):
                    self._plain(condition, "a FILTER")
                    continue
                case ast.Bind(expression=expression, variable=variable):
                    self._plain(expression, "a BIND")
                    _must_be_new(variable, scope)
                    scope.add(variable.name)
                case ast.Values():
                    scope |= _given(element)
                case _:
                    scope |= self._nested(element)
            block = self._new_block()  # every other element except a FILTER ends the basic graph pattern
        return scope

    def _nested(self, element: ast.Pattern) -> Names:
        match element:
            case ast.Group():
                return self.group(element)
            case ast.Optional(pattern=pattern):
                return self.group(pattern)
            case ast.Union(options=options):
                return set().union(*[self.group(option) for option in options])
            case (
                ast.Graph(name=name, pattern=pattern)
                | ast.Service(name=name, pattern=pattern)
                | ast.WindowPattern(name=name, pattern=pattern)
            ):
                scope = self.group(pattern)
                return scope | {name.name} if isinstance(name, ast.Var) else scope
            case ast.StreamPattern(name=name, triples=ast.Triples(triples=triples)):
                self._labels(triples, self._new_block())
                scope = _variables(triples)
                return scope | {name.name} if isinstance(name, ast.Var) else scope
            case ast.Temporal(left=left, right=right, without=without):
                if without is not None:
                    self.group(without)
                return self._nested(left) | self._nested(right)
            case ast.Run(pattern=pattern, aggregates=items):
                scope = self.group(pattern)
                for item in items:
                    assert item.variable is not None
                    assert item.expression is not None
                    self._with_aggregates(item.expression)
                    _must_be_new(item.variable, scope)
                    scope.add(item.variable.name)
                return scope
            case ast.Limited(pattern=limited):
                return self._nested(limited)
            case ast.SubSelect(query=query):
                return self.select(query)
            case ast.Minus(pattern=pattern):
                self.group(pattern)
        return set()

    # --- blank nodes -------------------------------------------------------------------------------

    def _new_block(self) -> int:
        self._blocks += 1
        return self._blocks

    def _labels(self, triples: tuple[ast.Triple, ...], block: int) -> None:
        for triple in triples:
            for term in (triple.subject, triple.object):
                if not isinstance(term, ast.BlankNode) or term.label.startswith("."):
                    continue
                if self._block_of_label.setdefault(term.label, block) != block:
                    message = f"the blank node _:{term.label} is already used in another basic graph pattern"
                    raise Fault(f"{message}; use a variable to join the two", term.position)

    # --- SELECT and the modifiers ------------------------------------------------------------------

    def rows(self, where: ast.Group | None, modifiers: ast.Modifiers) -> Names:
        """The variables of WHERE and of the AGGREGATE clauses, which add a variable each to every row."""
        visible = self.group(where) if where else set()
        if not modifiers.aggregations:
            return visible
        used = {node.name for node in nodes(where) if isinstance(node, ast.Var)}
        new: Names = set()
        for aggregation in modifiers.aggregations:
            _must_be_unused(aggregation.variable, used, new)
            taken = (aggregation.argument,) if aggregation.argument else ()
            for variable in (*taken, *aggregation.group):
                if variable.name not in visible:
                    message = f"?{variable.name} is not in WHERE; AGGREGATE takes its variables from there"
                    raise Fault(message, variable.position)
            new.add(aggregation.variable.name)

        inner = (aggregation.filter for aggregation in modifiers.aggregations)
        for condition in (*inner, *modifiers.filters):
            if condition is not None:
                self._filter_of_rows(condition, visible | new)
        return visible | new

    def _filter_of_rows(self, condition: ast.Expression, known: Names) -> None:
        self._plain(condition, "a FILTER")
        for node, _ in _walk(condition):
            if isinstance(node, ast.Var) and node.name not in known:
                message = f"?{node.name} is a variable neither of WHERE nor of an AGGREGATE"
                raise Fault(message, node.position)

    def select(self, query: ast.SelectQuery) -> Names:
        visible = self.rows(query.where, query.modifiers)
        keys = self.modifiers(query.modifiers, visible)
        items = query.projection or ()
        aggregated = bool(aggregates(query))
        grouped = bool(query.modifiers.group_by) or aggregated
        given = _given(query.modifiers.values)
        if query.projection is None:
            if grouped:
                why = "GROUP BY" if query.modifiers.group_by else "an aggregate"
                raise Fault(f"SELECT * cannot stand with {why}; name the variables", query.position)
            return visible | given

        scope = (keys if grouped else visible) | given
        projected: Names = set()
        for item in items:
            assert item.variable is not None
            if item.expression is None:
                if grouped:
                    _must_be_grouped(item.variable, scope | projected)
            else:
                self._with_aggregates(item.expression)
                if grouped:
                    for variable in _outside_aggregates(item.expression):
                        _must_be_grouped(variable, scope | projected)
                _must_be_new(item.variable, scope | projected)
            projected.add(item.variable.name)
        return projected

    def modifiers(self, modifiers: ast.Modifiers, visible: Names) -> Names:
        """Check the modifiers over a pattern with these variables; returns the keys of GROUP BY."""
        keys: Names = set()
        for key in modifiers.group_by:
            if key.expression is not None:
                self._plain(key.expression, "GROUP BY")
            if key.variable is not None:
                if key.expression is not None:
                    _must_be_new(key.variable, visible | keys)
                keys.add(key.variable.name)
        for condition in modifiers.having:
            self._with_aggregates(condition)
        for order in modifiers.order_by:
            self._with_aggregates(order.expression)
        return keys

    # --- expressions -------------------------------------------------------------------------------

    def _plain(self, expression: ast.Expression, where: str) -> None:
        """Check an expression in which no aggregate may stand."""
        for node, _ in _walk(expression):
            if isinstance(node, ast.Aggregate):
                message = f"the aggregate {node.name} cannot stand in {where}"
                raise Fault(f"{message}; only in SELECT, HAVING and ORDER BY", node.position)
            if isinstance(node, ast.Exists):
                self.group(node.pattern)

    def _with_aggregates(self, expression: ast.Expression) -> None:
        for node, inside in _walk(expression):
            if isinstance(node, ast.Aggregate) and inside:
                raise Fault(f"the aggregate {node.name} cannot stand in another aggregate", node.position)
            if isinstance(node, ast.Exists):
                self.group(node.pattern)


def _must_be_new(variable: ast.Var, scope: Names) -> None:
    if variable.name in scope:
        raise Fault(f"?{variable.name} already has a value here; AS needs a new variable", variable.position)


def _must_be_unused(variable: ast.Var, used: Names, new: Names) -> None:
    if variable.name in used:
        message = f"?{variable.name} already stands in WHERE; AGGREGATE needs a new variable"
        raise Fault(message, variable.position)
    if variable.name in new:
        message = f"?{variable.name} is already made by another AGGREGATE; each needs a new variable"
        raise Fault(message, variable.position)


def _must_be_grouped(variable: ast.Var, scope: Names) -> None:
    if variable.name not in scope:
        message = f"?{variable.name} is neither in GROUP BY nor in an aggregate"
        raise Fault(f"{message}; SAMPLE(?{variable.name}) would take any of its values", variable.position)


def nodes(tree: Any, closed: tuple[type[ast.Node], ...] = ()) -> Iterator[ast.Node]:
    """Each node of a piece of a tree, also in the patterns of EXISTS and in sub-selects, roughly in the order
    of the text. The nodes inside a node of a `closed` type are left out."""
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Node):
            yield item
        if isinstance(item, closed):
            continue
        if isinstance(item, tuple):
            pending.extend(reversed(item))
        elif is_dataclass(item):
            pending.extend(getattr(item, field.name) for field in reversed(fields(item)))


def _walk(expression: ast.Expression) -> Iterator[tuple[ast.Expression, bool]]:
    """Each node of an expression, and whether it is inside an aggregate. The patterns of EXISTS are left out.

    There is no recursion, because a sum of many terms is as deep as it is long.
    """
    pending = [(expression, False)]
    while pending:
        node, inside = pending.pop()
        yield node, inside
        match node:
            case ast.Call(arguments=arguments) | ast.FunctionCall(arguments=arguments):
                pending.extend((argument, inside) for argument in reversed(arguments))
            case ast.Aggregate(argument=argument) if argument is not None:
                pending.append((argument, True))


def _outside_aggregates(expression: ast.Expression) -> Iterator[ast.Var]:
    return (node for node, inside in _walk(expression) if isinstance(node, ast.Var) and not inside)


def aggregates(query: ast.SelectQuery) -> list[ast.Aggregate]:
    """The aggregates of a query itself. One of them is enough to make the query a grouped one."""
    found = (node for expression in _expressions(query) for node, _ in _walk(expression))
    return [node for node in found if isinstance(node, ast.Aggregate)]


def _expressions(query: ast.SelectQuery) -> Iterator[ast.Expression]:
    """The expressions in which an aggregate can stand."""
    for item in query.projection or ():
        if item.expression is not None:
            yield item.expression
    yield from query.modifiers.having
    for order in query.modifiers.order_by:
        yield order.expression


def _variables(triples: tuple[ast.Triple, ...]) -> Names:
    return {
        term.name
        for triple in triples
        for term in (triple.subject, triple.predicate, triple.object)
        if isinstance(term, ast.Var)
    }


def _given(values: ast.Values | None) -> Names:
    return {variable.name for variable in values.variables} if values else set()
