"""SAMPLE: the algebra of a query that is evaluated on a sample of its stream and scaled to the whole stream.

    group (?g) ((?n (count *)))  (bgp …)   becomes   extend (?n xsd:integer(round(?m / 0.1)))
                                                       group (?g) ((?m (count *)))  graph <stream> (bgp …)

So all operators above the grouping see estimates. The parser has checked that a solution has only one
element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from rheos.algebra.expressions import Aggregate, Call, Constant, Expression, Variable
from rheos.algebra.nodes import BGP, Extend, Graph, Group, Node, Project, Query, Select
from rheos.algebra.rewrite import bottom_up
from rheos.algebra.streams import Estimate
from rheos.terms import XSD, literal

MILLION = 1_000_000
# The names of columns from which errors are computed; users cannot write variables with such names.
_COLUMN = ".{} of {}"


def on_sample(query: Query, stream: str, parts: int) -> tuple[Query, tuple[Estimate, ...]]:
    """The query on a sample of a stream (a term) that has `parts` of a million triples, and its estimates."""
    form = query.form
    assert isinstance(form, Select)
    found: list[Estimate] = []
    grouping: dict[str, Aggregate] = {}

    def rewritten(node: Node) -> Node:
        match node:
            case BGP():
                # The pattern reads only the stream, because static triples are not sampled.
                return Graph(Constant(stream), node)
            case Group(pattern, keys, aggregates):
                grouping.update({variable.name: aggregate for variable, aggregate in aggregates})
                needed = [item for variable, aggregate in aggregates for item in _needed(variable, aggregate)]
                raw = [(_raw(variable), aggregate) for variable, aggregate in aggregates]
                whole: Node = Group(pattern, keys, (*raw, *needed))
                for variable, aggregate in aggregates:
                    whole = Extend(whole, variable, _scaled(_raw(variable), aggregate.name, parts))
                return whole
            case Extend(_, Variable(name), Variable(other)) if other in grouping:
                needs = tuple(variable.name for variable, _ in _needed(Variable(other), grouping[other]))
                found.append(Estimate(name, grouping[other].name, needs))
        return node

    pattern = bottom_up(form.pattern, rewritten)
    order = {name: at for at, name in enumerate(form.variables)}
    estimates = tuple(sorted(found, key=lambda estimate: order[estimate.variable]))
    more = tuple(name for estimate in estimates for name in estimate.needs)

    def with_more(node: Node) -> Node:
        if isinstance(node, Project):
            return replace(node, variables=(*node.variables, *map(Variable, more)))
        return node

    form = Select(bottom_up(pattern, with_more), (*form.variables, *more))
    return replace(query, form=form), estimates


def _raw(variable: Variable) -> Variable:
    return Variable(_COLUMN.format("sample", variable.name))


def _scaled(raw: Variable, function: str, parts: int) -> Expression:
    if function == "AVG":
        return raw
    part = Constant(literal(format(Decimal(parts) / MILLION, "f"), XSD + "decimal"))
    whole = Call("/", (raw, part))
    return Call(XSD + "integer", (Call("ROUND", (whole,)),)) if function == "COUNT" else whole


def _needed(variable: Variable, aggregate: Aggregate) -> Iterator[tuple[Variable, Aggregate]]:
    """The aggregates from which the error of an aggregate is computed."""
    value, name = aggregate.argument, aggregate.name
    if name in ("COUNT", "AVG"):
        yield Variable(_COLUMN.format("count", variable.name)), Aggregate("COUNT", value)
    if value is not None and name == "AVG":
        yield Variable(_COLUMN.format("sum", variable.name)), Aggregate("SUM", value)
    if value is not None and name in ("SUM", "AVG"):
        squares = Aggregate("SUM", Call("*", (value, value)))
        yield Variable(_COLUMN.format("squares", variable.name)), squares
