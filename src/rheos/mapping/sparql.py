"""CONSTRUCT queries as mappings: a query over the fields of a record comes in, a rule goes out.

The variables that the query does not bind itself are fields of the record. Every group of WHERE begins with
these fields, so that BIND, FILTER, OPTIONAL and UNION see the record. There are no triples to match.
"""

from __future__ import annotations

from collections.abc import Iterable

from rheos import terms
from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Node,
    TableScan,
    Union,
)
from rheos.algebra.rewrite import bottom_up
from rheos.algebra.translate import Names, Translator
from rheos.errors import UnsupportedError
from rheos.mapping.rules import ROW, Rule, record, rule
from rheos.syntax import ast, parse
from rheos.syntax.scope import nodes

_REFUSED: dict[type[ast.Node], str] = {
    ast.Triples: "a triple pattern: a record has fields, which are variables, and no triples",
    ast.Graph: "GRAPH: a record has no graphs",
    ast.Service: "SERVICE",
    ast.SubSelect: "a SELECT inside: each record is mapped for itself",
}
# A record that is read again, after a crash, must give the same elements.
_CHANGING = ("NOW", "RAND", "UUID", "STRUUID")


def construct(text: str, base: str, more: Iterable[str] = ()) -> Rule:
    """The rule of a CONSTRUCT query. Its solutions also have the variables `more`, such as
    the one for the time."""
    query = parse(text, "sparql")
    form = query.form
    if not isinstance(form, ast.ConstructQuery) or form.template is None:
        raise UnsupportedError("a mapping is a CONSTRUCT query", text, form.position)
    _check(query, form)
    own = {node.variable.name for node in nodes(form.where) if isinstance(node, ast.Bind)}
    named = dict.fromkeys(node.name for node in nodes(form) if isinstance(node, ast.Var))
    more = tuple(more)
    named |= dict.fromkeys(more)
    fields = tuple(name for name in named if name not in own)
    translator = _Translator(Names.of(query, base), fields)
    pattern = bottom_up(translator.group(form.where), _without_repetition)
    template = tuple(map(translator.template, form.template))
    return rule(pattern, template, fields, more)


def _check(query: ast.Query, form: ast.ConstructQuery) -> None:
    modifiers = form.modifiers
    told = {
        "GROUP BY": modifiers.group_by,
        "HAVING": modifiers.having,
        "ORDER BY": modifiers.order_by,
        "LIMIT": modifiers.limit is not None,
        "OFFSET": modifiers.offset is not None,
        "VALUES after WHERE (put it into the group)": modifiers.values is not None,
        "FROM": query.dataset,
    }
    for what, there in told.items():
        if there:
            raise _refused(what, query.text, form)
    for node in nodes(form.where):
        if type(node) in _REFUSED and not (isinstance(node, ast.Triples) and not node.triples):
            raise _refused(_REFUSED[type(node)], query.text, node)
        if isinstance(node, ast.Call) and node.name in _CHANGING:
            reason = f"{node.name}(): a record that is read again must give the same"
            raise _refused(reason, query.text, node)


def _refused(what: str, text: str, node: ast.Node) -> UnsupportedError:
    return UnsupportedError(f"a mapping cannot have {what}", text, node.position)


class _Translator(Translator):
    """Translates a query such that each group begins with the record, and BNODE gives
    another node for each row."""

    def __init__(self, names: Names, fields: tuple[str, ...]) -> None:
        super().__init__(names)
        self._record = record(fields)

    def beginning(self) -> Node:
        return self._record

    def call(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        if name != "BNODE":
            return super().call(name, arguments)
        label = arguments[0] if arguments else Constant(terms.literal(self.invent("node")))
        # The second argument tells solutions apart; the translator would take a random one.
        return Call("BNODE", (label, Variable(ROW)))


def _without_repetition(node: Node) -> Node:
    """A simpler pattern: the join of the record with a pattern that begins with the
    record is that pattern."""
    match node:
        case Join(TableScan(), right) if _begins_with_record(right):
            return right
    return node


def _begins_with_record(node: Node) -> bool:
    match node:
        case TableScan():
            return True
        case Join(left, right):
            return _begins_with_record(left) or _begins_with_record(right)
        case Union(left, right):
            return _begins_with_record(left) and _begins_with_record(right)
        case LeftJoin(left) | Minus(left):
            return _begins_with_record(left)
        case Extend(pattern) | Filter(_, pattern):
            return _begins_with_record(pattern)
    return False
