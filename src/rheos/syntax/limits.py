"""Limits: refuses a syntax tree that is too deep for translation, optimiser and compiler.

These follow the algebra by recursion, so its depth is bounded here, and measured without recursion. A tree of
the algebra becomes deep by nesting, and by chains of operators that associate to the left (OPTIONAL, BIND,
SEQ, `+`). Chains of `||`, `&&` and UNION do not make it deep: see `algebra.chains`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rheos.errors import Position
from rheos.syntax import ast
from rheos.syntax.terms import Fault

# Levels of the algebra. Python stops after 1,000 calls, and one level takes up to five of them.
DEEPEST = 150

# The most patterns (triples, groups, steps of paths) and operators (with calls and their arguments) that a
# query may have. The builders count them. Far fewer already make joins that no engine can plan.
MOST_PATTERNS = 1_000
MOST_OPERATORS = 3_000
MOST_TRIPLES = 5_000  # those of a template included

# A longer chain becomes a tree in which each node has at most this many operands.
ROW = 8


def check(tree: Any) -> None:
    """Raise a `Fault` at the first place that is too deep."""
    pending = [(tree, 0)]
    while pending:
        item, level = pending.pop()
        if isinstance(item, ast.Node):
            too_deep(level, item.position)
        pending.extend((part, level + more) for part, more in _below(item))


def too_deep(level: int, where: Position) -> None:
    if level > DEEPEST:
        message = "this is nested too deeply, or part of a chain that is too long"
        raise Fault(f"{message}: more than {DEEPEST} levels", where)


def rungs(count: int) -> int:
    """The depth of the tree that a chain of `count` operands becomes."""
    deep = 0
    while count > 1:
        deep += min(count, ROW)
        count = -(-count // ROW)
    return deep


def _below(item: Any) -> Iterator[tuple[Any, int]]:
    """The parts of a piece of a syntax tree, each with how many levels of the algebra it is below it."""
    match item:
        case ast.Group(elements=elements):
            yield from _operands(elements)
        case ast.Triples(triples=triples):
            yield from _operands([triple for triple in triples if _is_path(triple.predicate)])
        case ast.StreamPattern(triples=ast.Triples(triples=triples)):
            yield from _operands(triples)
        case ast.Triple(predicate=predicate):
            yield predicate, 1
        case ast.Union(options=parts) | ast.PathAlternative(options=parts):
            yield from ((part, rungs(len(parts))) for part in parts)
        case ast.Call(name="||" | "&&", arguments=arguments):
            yield from ((argument, rungs(len(arguments))) for argument in arguments)
        case ast.Call(name="+" | "-" | "*" | "/" | "unary+" | "unary-", arguments=arguments):
            yield from (
                (argument, 2) for argument in arguments
            )  # two levels: the SQL of a number is made when it is used, which takes further calls
        case ast.PathSequence(steps=steps):
            yield from _operands(steps)
        case ast.SelectQuery(projection=projection, distinct=distinct, where=where, modifiers=modifiers):
            computed = [p.expression for p in (*(projection or ()), *modifiers.group_by) if p.expression]
            stages = sum(bool(getattr(modifiers, field.name)) for field in fields(modifiers))
            yield where, 1 + distinct + stages + len(computed)
            yield from _operands(computed)
            yield modifiers, 1
        case ast.Values() | ast.Var() | ast.Iri() | ast.PrefixedName() | ast.Literal() | ast.BlankNode():
            pass
        case tuple():
            yield from ((part, 0) for part in item)
        case _ if is_dataclass(item):
            yield from ((getattr(item, field.name), 1) for field in fields(item))


def _operands(chain: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """The operands of a chain that associates to the left, each with its depth: the first is the deepest.
    Filters without EXISTS are above the whole chain."""
    operators = [part for part in chain if not isinstance(part, ast.Filter) or _has_exists(part)]
    deep = len(operators)
    for part in operators:
        yield part, deep
        deep -= 1
    plain = [part for part in chain if isinstance(part, ast.Filter) and not _has_exists(part)]
    yield from ((part, rungs(len(plain)) + 1) for part in plain)


def _has_exists(tree: ast.Filter) -> bool:
    pending: list[Any] = [tree.condition]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Exists):
            return True
        if isinstance(node, ast.Call | ast.FunctionCall):
            pending.extend(node.arguments)
    return False


def _is_path(predicate: Any) -> bool:
    return not isinstance(predicate, ast.Var | ast.Iri | ast.PrefixedName)
