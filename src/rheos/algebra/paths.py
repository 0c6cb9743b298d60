"""Property paths of the syntax as path expressions and simpler patterns (18.2.2.3-4)."""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra.chains import balanced
from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Alternative,
    Inverse,
    Join,
    Link,
    NegatedSet,
    Node,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    TriplePattern,
    Union,
    ZeroOrMore,
    ZeroOrOne,
)
from rheos.syntax import ast

REPEATS: dict[str, Callable[[Path], Path]] = {"*": ZeroOrMore, "+": OneOrMore, "?": ZeroOrOne}


def translate_path(path: ast.Path, resolve: Callable[[ast.Name], str]) -> Path:
    """The path expression of a path in the text; `resolve` gives the term of a predicate."""
    match path:
        case ast.Link(_, predicate):
            return Link(resolve(predicate))
        case ast.Inverse(_, inner):
            return Inverse(translate_path(inner, resolve))
        case ast.PathSequence(_, steps):
            return balanced(Sequence, (translate_path(step, resolve) for step in steps))
        case ast.PathAlternative(_, options):
            return balanced(Alternative, (translate_path(option, resolve) for option in options))
        case ast.PathRepeat(_, inner, sign):
            return REPEATS[sign](translate_path(inner, resolve))
        case ast.NegatedSet(_, forward, backward):
            ahead = NegatedSet(frozenset(map(resolve, forward)))
            back = Inverse(NegatedSet(frozenset(map(resolve, backward))))
            if not backward:
                return ahead
            return Alternative(ahead, back) if forward else back
    raise AssertionError(path)


def unfold(pattern: PathPattern, fresh: Callable[[], Variable]) -> Node:
    """The pattern with joins, unions and triple patterns for the parts of its path that can be these.

    Repetitions and negated sets stay paths. `fresh` gives the variables between the steps of a sequence.
    """
    subject, object_ = pattern.subject, pattern.object
    match pattern.path:
        case Link(predicate):
            return BGP((TriplePattern(subject, Constant(predicate), object_),))
        case Inverse(path):
            return unfold(PathPattern(object_, path, subject), fresh)
        case Sequence(first, second):
            middle = fresh()
            left = unfold(PathPattern(subject, first, middle), fresh)
            right = unfold(PathPattern(middle, second, object_), fresh)
            if isinstance(left, BGP) and isinstance(right, BGP):
                return BGP(left.patterns + right.patterns)
            return Join(left, right)
        case Alternative(first, second):
            return Union(
                unfold(PathPattern(subject, first, object_), fresh),
                unfold(PathPattern(subject, second, object_), fresh),
            )
    return pattern
