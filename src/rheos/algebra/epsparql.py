"""Translation of the syntax tree of an EP-SPARQL query to its algebra: that of SPARQL, with joins in time.

Section 4.2 of the paper: SEQ is a SeqJoin, EQUALS an EqJoin, OPTIONALSEQ a SeqRightJoin (its left side is
optional), EQUALSOPTIONAL an EqLeftJoin (its right side is optional). Filters that stand directly in an
optional group become the condition of the join, as with OPTIONAL (18.2.2.6 of the recommendation). Allen's
relations are joins of their own; a converse relation is the same join with its sides exchanged.

Two checks are made here and not by the parser, because names must be resolved first: that literals can be
compared with getDURATION() and the like, and that the length of WITHIN is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rheos import iris, terms
from rheos.algebra import literals
from rheos.algebra.expressions import INTERVAL, Aggregate, Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    AllenJoin,
    AllenRelation,
    EqJoin,
    EqLeftJoin,
    Filter,
    Form,
    Group,
    Node,
    Project,
    Recent,
    Runs,
    SeqJoin,
    SeqRightJoin,
)
from rheos.algebra.streams import EPSparqlQuery
from rheos.algebra.translate import TIMESTAMP, Names, Translator
from rheos.algebra.variables import in_scope, names, used
from rheos.durations import to_xsd
from rheos.errors import Position, QuerySyntaxError, UnsupportedError
from rheos.syntax import ast
from rheos.syntax.scope import nodes

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">=", "IN", "NOT IN"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "unary-", "unary+"})
_CALLED = {"DURATION": "getDURATION()", "STARTTIME": "getSTARTTIME()", "ENDTIME": "getENDTIME()"}
_MOMENT = '"2026-01-01T00:00:00Z"^^xsd:dateTime'
_LENGTH = '"PT10M"^^xsd:duration'
# Allen's relations: the join of each (None: a sequence), and whether its sides are exchanged.
_ALLEN: dict[str, tuple[AllenRelation | None, bool]] = {
    "BEFORE": (None, False),
    "AFTER": (None, True),
    "MEETS": ("MEETS", False),
    "MET BY": ("MEETS", True),
    "OVERLAPS": ("OVERLAPS", False),
    "OVERLAPPED BY": ("OVERLAPS", True),
    "STARTS": ("STARTS", False),
    "STARTED BY": ("STARTS", True),
    "DURING": ("DURING", False),
    "CONTAINS": ("DURING", True),
    "FINISHES": ("FINISHES", False),
    "FINISHED BY": ("FINISHES", True),
}
_LONGEST = 3_652_500 * literals.MICROS_PER_DAY  # ten thousand years


def translate_epsparql(query: ast.Query, name: str, base: str = iris.DEFAULT_BASE) -> EPSparqlQuery:
    """The algebra of a query in EP-SPARQL; `name` is its name if its text does not give one."""
    consumption = query.registration.consumption if query.registration else "unrestricted"
    translator = EPSparqlTranslator(Names.of(query, base), consumes=consumption != "unrestricted")
    streams = tuple(dict.fromkeys(terms.iri(translator.names.iri(clause.iri)) for clause in query.streams))
    registration = query.registration
    return EPSparqlQuery(
        registration.name if registration else name,
        translator.query(query),
        streams or None,
        registration is not None and registration.kind == "STREAM",
        consumption,
    )


def of_mappings(pattern: Node, reads: frozenset[str] = frozenset()) -> Node:
    """A pattern without the variables of blank nodes and of the steps of paths, except those in `reads`.

    These variables are not part of a mapping. Two solutions that differ only in them are one solution, which
    is counted and used up once.
    """
    scope = in_scope(pattern)
    kept = tuple(Variable(name) for name in sorted(scope) if name in reads or not Variable(name).is_blank)
    return pattern if len(kept) == len(scope) else Project(pattern, kept)


def _named(tree: Any) -> Iterator[str]:
    """The name of each occurrence of a variable; of a sub-select, only those of the variables it selects."""
    for node in nodes(tree, (ast.SubSelect,)):
        match node:
            case ast.Var(name=name):
                yield name
            case ast.SubSelect(query=query):
                yield from _named(query.projection or query.where)


@dataclass
class EPSparqlTranslator(Translator):
    consumes: bool = False  # whether a policy of consumption uses up solutions

    forms: list[Any] = field(default_factory=list)  # the query and the sub-selects around, the innermost last
    limit: int | None = None  # the longest duration of the current chain of groups

    def form(self, form: Any) -> Form:
        self.forms.append(form)
        found = super().form(form)
        self.forms.pop()
        return found

    def select(self, query: ast.SelectQuery) -> tuple[Node, tuple[Variable, ...]]:
        self.forms.append(query)
        found = super().select(query)
        self.forms.pop()
        return found

    def group_and_filter(self, group: ast.Group) -> tuple[Node, Expression | None]:
        limit, self.limit = self.limit, None
        found = super().group_and_filter(group)
        self.limit = limit
        return found

    def element(self, element: ast.Pattern) -> Node:
        match element:
            case ast.Temporal():
                return self.temporal(element)
            case ast.Run():
                return self.run(element)
            case ast.Limited(_, pattern, within):
                self.limit = self.within(within) if within.longest is None else within.longest
                longest = Constant(terms.literal(to_xsd(self.limit), literals.DURATION))
                limited = Filter(Call("<=", (Call("DURATION", ()), longest)), self.element(pattern))
                self.limit = None
                return limited
        return super().element(element)

    def temporal(self, element: ast.Temporal) -> Node:
        left, right = element.left, element.right
        match element.operator:
            case "SEQ" if element.without is not None:
                if self.consumes:
                    message = "SEQ NOT cannot stand in a query with a policy of consumption"
                    raise UnsupportedError(message, self.names.text, element.without.position)
                return SeqJoin(self.element(left), self.element(right), self.group(element.without))
            case "SEQ":
                return self.sequence(self.element(left), self.element(right))
            case "EQUALS":
                return EqJoin(self.element(left), self.element(right))
            case "OPTIONALSEQ":
                if isinstance(left, ast.Group):
                    optional, condition = self.group_and_filter(left)
                    return SeqRightJoin(optional, self.element(right), condition)
                # In a chain of groups, each group has its own filters; the chain itself has none.
                return SeqRightJoin(self.element(left), self.element(right))
            case "EQUALSOPTIONAL":
                first = self.element(left)
                if isinstance(right, ast.Run):
                    return EqLeftJoin(first, self.run(right))
                return EqLeftJoin(first, *self.group_and_filter(right))
        relation, exchanged = _ALLEN[element.operator]
        first, second = self.element(left), self.element(right)
        if exchanged:
            first, second = second, first
        return self.sequence(first, second) if relation is None else AllenJoin(relation, first, second)

    def sequence(self, first: Node, second: Node) -> Node:
        if self.consumes:
            return SeqJoin(of_mappings(first), of_mappings(second))
        return SeqJoin(first, second)

    def run(self, run: ast.Run) -> Node:
        """A Runs node. Its solutions are grouped by the variables that are also used outside of the run."""
        limit = self.limit
        pattern = self.group(run.pattern)
        outside = Counter(_named(self.forms[-1])) - Counter(_named((run.pattern, run.aggregates)))
        outside += Counter(item.variable.name for item in run.aggregates if item.variable is not None)
        keys = tuple(Variable(name) for name in sorted(in_scope(pattern) & outside.keys()))
        aggregates = []
        for item in run.aggregates:
            found, variable = item.expression, item.variable
            assert isinstance(found, ast.Aggregate)
            assert variable is not None
            argument = None if found.argument is None else self.expression(found.argument)
            separator = " " if found.separator is None else found.separator
            aggregate = Aggregate(found.name, argument, found.distinct, separator)
            aggregates.append((Variable(variable.name), aggregate))
        reads = names(keys).union(*(used(aggregate) for _, aggregate in aggregates))
        return Runs(of_mappings(pattern, reads), keys, tuple(aggregates), run.least, run.most, limit)

    def looking_back(self, group: Group, modifiers: ast.Modifiers) -> Node:
        if modifiers.within is None:
            return group
        reads = names(group.keys).union(*(used(aggregate) for _, aggregate in group.aggregates))
        pattern = of_mappings(group.pattern, reads)
        return Recent(pattern, self.within(modifiers.within), group.keys, group.aggregates)

    def within(self, within: ast.Within) -> int:
        length = within.length
        if isinstance(length, int):
            return length
        found = self.duration(length)
        if found is None:
            raise self.wrong(f"WITHIN takes a time, as in WITHIN 10m or WITHIN {_LENGTH}", length.position)
        if found.months:
            raise self.wrong("months and years have no fixed length; WITHIN takes days", length.position)
        micros = int(found.micros)
        if micros <= 0:
            raise self.wrong("the time of WITHIN must be more than 0", length.position)
        if micros > _LONGEST:
            raise self.wrong("this is longer than ten thousand years", length.position)
        return micros

    # --- expressions -------------------------------------------------------------------------------

    def expression(self, expression: ast.Expression) -> Expression:
        match expression:
            case ast.FunctionCall(_, function) if self.names.iri(function) == TIMESTAMP:
                message = "the timestamp of a triple is for queries in C-SPARQL; EP-SPARQL has getENDTIME()"
                raise UnsupportedError(message, self.names.text, expression.position)
            case ast.Call(_, name, arguments) if name in _COMPARISONS | _ARITHMETIC:
                for argument in arguments:
                    if isinstance(argument, ast.Call) and argument.name in INTERVAL:
                        self.check_use(argument, name, arguments)
        return super().expression(expression)

    def check_use(self, call: ast.Call, operator: str, arguments: tuple[ast.Expression, ...]) -> None:
        """Raise an error for a call that could only fail: it would drop all solutions without any message."""
        asked = _CALLED[call.name]
        if operator in _ARITHMETIC:
            what = "a duration" if call.name == "DURATION" else "a time"
            message = f"{asked} is {what}, and SPARQL only calculates with numbers; compare it with another"
            raise self.wrong(message, call.position)
        for other in arguments:
            if not isinstance(other, ast.Literal):
                continue
            if call.name == "DURATION" and self.duration(other) is None:
                message = f"this is no duration; {asked} is compared with one, as in {_LENGTH}"
                raise self.wrong(message, other.position)
            if call.name != "DURATION" and self.moment(other) is None:
                message = f"this is no xsd:dateTime; {asked} is compared with one, as in {_MOMENT}"
                raise self.wrong(message, other.position)

    def duration(self, literal: ast.Literal) -> literals.ConstantDuration | None:
        return literals.duration(literal.lexical, self.datatype(literal))

    def moment(self, literal: ast.Literal) -> literals.ConstantMoment | None:
        datatype = self.datatype(literal)
        return literals.moment(literal.lexical, datatype) if datatype == literals.DATE_TIME else None

    def datatype(self, literal: ast.Literal) -> str | None:
        return None if literal.datatype is None else self.names.iri(literal.datatype)

    def wrong(self, message: str, position: Position) -> QuerySyntaxError:
        return QuerySyntaxError(message, self.names.text, position)
