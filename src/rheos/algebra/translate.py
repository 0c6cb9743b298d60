"""Translation of a syntax tree to the algebra, by section 18.2 of the recommendation, with names resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rheos import iris, terms
from rheos.algebra.chains import balanced, conjunction, filtered
from rheos.algebra.expressions import CASTS, Aggregate, Call, Constant, Exists, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    Aggregation,
    AllenJoin,
    Ask,
    Construct,
    Dataset,
    Describe,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Form,
    Graph,
    Group,
    InWindow,
    Join,
    LeftJoin,
    Minus,
    Node,
    Order,
    OrderBy,
    Pairs,
    PathPattern,
    Project,
    Query,
    Reduced,
    Select,
    SeqJoin,
    SeqRightJoin,
    Slice,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.paths import translate_path, unfold
from rheos.algebra.streams import LogicalWindow, PhysicalWindow, SessionWindow, StreamWindow, Window
from rheos.algebra.timestamps import resolve_timestamps
from rheos.algebra.variables import in_scope, used
from rheos.errors import QuerySyntaxError, UnsupportedError
from rheos.syntax import ast
from rheos.syntax.scope import aggregates, nodes

UNIT = BGP()

_SCHEME = re.compile(r'"[A-Za-z][A-Za-z0-9+.-]*:')

# The timestamp function of the published C-SPARQL engine.
TIMESTAMP = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"

# A variable with a different value in each solution. BNODE("x") reads it, to make the same node within a
# solution and another one in the next.
SOLUTION = Variable(".solution")


def translate(query: ast.Query, base: str = iris.DEFAULT_BASE, *, lenient: bool = False) -> Query:
    """The algebra of a whole query; `base` resolves relative IRIs until the text says BASE.

    A `lenient` translation only checks a query and cannot be evaluated. It also accepts parts of SPARQL that
    rheos does not support (SERVICE, unknown functions).
    """
    return Translator(Names.of(query, base), lenient).query(query)


@dataclass(frozen=True)
class Names:
    """The declarations of a prologue, which turn prefixed names and relative IRIs into IRIs."""

    text: str
    base: str
    prefixes: Mapping[str, str]

    @classmethod
    def of(cls, query: ast.Query, base: str) -> Names:
        return cls(query.text, base, {}).after(query.prologue)

    def after(self, prologue: Iterable[ast.Base | ast.Prefix]) -> Names:
        """These names with further declarations."""
        declared = tuple(prologue)
        if not declared:
            return self
        prefixes = dict(self.prefixes)
        names = replace(self, prefixes=prefixes)
        for item in declared:
            if isinstance(item, ast.Base):
                names = replace(names, base=names.iri(item.iri))
            else:
                prefixes[item.prefix] = names.iri(item.iri)
        return names

    def iri(self, name: ast.Name) -> str:
        if isinstance(name, ast.Iri):
            reference, base = name.value, self.base
        elif name.prefix in self.prefixes:
            reference, base = self.prefixes[name.prefix] + name.local, self.base
        else:
            raise QuerySyntaxError(f"unknown prefix '{name.prefix}:'", self.text, name.position)
        try:
            return iris.resolve(reference, base)
        except ValueError as error:
            raise QuerySyntaxError(f"malformed IRI: {error}", self.text, name.position) from None


@dataclass
class Translator:
    """One translation: the names of its prologue, the number of invented variables, and the current group."""

    names: Names
    lenient: bool = False
    fresh: int = 0
    aggregates: dict[Aggregate, Variable] = field(default_factory=dict)
    grouped: frozenset[Variable] | None = None  # the keys, while expressions after GROUP BY are translated

    def query(self, query: ast.Query) -> Query:
        form = self.form(query.form)
        form = replace(form, pattern=resolve_timestamps(form.pattern))
        return Query(form, self.dataset(query))

    def windows(self, clauses: Iterable[ast.StreamClause]) -> tuple[StreamWindow, ...]:
        return tuple(
            StreamWindow(
                terms.iri(self.names.iri(clause.iri)),
                window_of(clause.window),
                clause.named,
                None if clause.name is None else terms.iri(self.names.iri(clause.name)),
                None if clause.sample is None else clause.sample.parts,
            )
            for clause in clauses
            if clause.window is not None
        )

    def form(self, form: ast.SelectQuery | ast.ConstructQuery | ast.AskQuery | ast.DescribeQuery) -> Form:
        match form:
            case ast.SelectQuery():
                pattern, variables = self.select(form)
                return Select(pattern, tuple(variable.name for variable in variables))
            case ast.ConstructQuery(_, template, where, modifiers):
                pattern = self.solutions(where, modifiers)
                if template is None:
                    return Construct(pattern, triple_patterns(pattern))
                return Construct(pattern, tuple(map(self.template, template)))
            case ast.AskQuery(_, where, modifiers):
                return Ask(self.solutions(where, modifiers))
            case ast.DescribeQuery(_, described, where, modifiers):
                pattern = self.solutions(where, modifiers) if where else UNIT
                if described is None:
                    return Describe(pattern, self.visible(pattern, form))
                return Describe(pattern, tuple(self.term(term) for term in described))

    def dataset(self, query: ast.Query) -> Dataset | None:
        clauses = query.dataset
        if not clauses:
            return None
        default = tuple(terms.iri(self.names.iri(clause.iri)) for clause in clauses if not clause.named)
        named = tuple(terms.iri(self.names.iri(clause.iri)) for clause in clauses if clause.named)
        return Dataset(default, named, query.is_continuous and not default)

    # --- solution modifiers, 18.2.4 and 18.2.5 ---------------------------------------------------

    def select(self, query: ast.SelectQuery) -> tuple[Node, tuple[Variable, ...]]:
        """The pattern of a SELECT with all its modifiers, and its variables in order."""
        modifiers = query.modifiers
        pattern = self.aggregated(self.group(query.where), modifiers)
        outer = self.aggregates, self.grouped
        self.aggregates, self.grouped = {}, None
        projection = query.projection or ()
        if modifiers.group_by or groups_all(query):
            pattern, self.grouped = self.group_keys(pattern, modifiers.group_by)
        keys = self.grouped
        # Translating an expression collects its aggregates, so all come before the Group is made.
        having = [self.expression(condition) for condition in modifiers.having]
        extensions = []
        for item in projection:
            if item.variable is not None and item.expression is not None:
                variable = Variable(item.variable.name)
                extensions.append((variable, self.expression(item.expression)))
                if self.grouped is not None:
                    self.grouped |= {variable}  # later expressions read this variable of the group
        order = [Order(self.expression(item.expression), item.descending) for item in modifiers.order_by]
        if keys is not None:
            found = tuple((variable, aggregate) for aggregate, variable in self.aggregates.items())
            group = Group(pattern, tuple(sorted(keys, key=lambda key: key.name)), found)
            pattern = self.looking_back(group, modifiers)
        self.aggregates, self.grouped = outer
        pattern = filtered(pattern, having)
        if modifiers.values is not None:
            pattern = join(pattern, self.values(modifiers.values))
        for variable, expression in extensions:
            pattern = extend(pattern, variable, expression)
        if query.projection is None:
            variables = self.visible(pattern, query)
        else:
            named = (Variable(item.variable.name) for item in projection if item.variable)
            variables = tuple(dict.fromkeys(named))  # SELECT ?x ?x is allowed
        if order:
            pattern = OrderBy(pattern, tuple(order))
        pattern = Project(pattern, variables)
        if query.distinct:
            pattern = Distinct(pattern)
        elif query.reduced:
            pattern = Reduced(pattern)
        return sliced(pattern, modifiers), variables

    def solutions(self, where: ast.Group, modifiers: ast.Modifiers) -> Node:
        """The pattern of a CONSTRUCT, ASK or DESCRIBE: that of SELECT *, or of SELECT with the grouping
        keys."""
        projection = None
        if modifiers.group_by or modifiers.having:
            projection = tuple(item for item in modifiers.group_by if item.variable is not None)
            projection = tuple(replace(item, expression=None) for item in projection)
        select = ast.SelectQuery(where.position, projection, False, False, where, modifiers)
        pattern, _ = self.select(select)
        return pattern

    def aggregated(self, pattern: Node, modifiers: ast.Modifiers) -> Node:
        """The AGGREGATE clauses of C-SPARQL: all read the rows of WHERE; their filters come after all of
        them."""
        found = tuple(
            Aggregation(
                Variable(item.variable.name),
                Aggregate(item.function, Variable(item.argument.name) if item.argument else None),
                tuple(Variable(variable.name) for variable in item.group),
            )
            for item in modifiers.aggregations
        )
        if found:
            pattern = Aggregated(pattern, found)
        inner = [item.filter for item in modifiers.aggregations if item.filter is not None]
        return filtered(pattern, map(self.expression, (*inner, *modifiers.filters)))

    def looking_back(self, group: Group, modifiers: ast.Modifiers) -> Node:
        """The node that groups the solutions. EP-SPARQL replaces it for WITHIN."""
        return group

    def group_keys(
        self, pattern: Node, conditions: tuple[ast.Projection, ...]
    ) -> tuple[Node, frozenset[Variable]]:
        keys = []
        for condition in conditions:
            if condition.expression is None:
                assert condition.variable is not None
                keys.append(Variable(condition.variable.name))
                continue
            name = condition.variable.name if condition.variable else self.invent("key")
            pattern = extend(pattern, Variable(name), self.expression(condition.expression))
            keys.append(Variable(name))
        return pattern, frozenset(keys)

    # --- graph patterns, 18.2.2 ------------------------------------------------------------------

    def group(self, group: ast.Group) -> Node:
        pattern, condition = self.group_and_filter(group)
        return pattern if condition is None else Filter(condition, pattern)

    def group_and_filter(self, group: ast.Group) -> tuple[Node, Expression | None]:
        """The pattern of a group, and the conjunction of the filters that stand in the group itself."""
        pattern = self.beginning()
        filters: list[Expression] = []
        for element in group.elements:
            match element:
                case ast.Filter(_, condition):
                    filters.append(self.expression(condition))
                case ast.Optional(_, optional):
                    pattern = LeftJoin(pattern, *self.group_and_filter(optional))
                case ast.Minus(_, removed):
                    pattern = Minus(pattern, self.group(removed))
                case ast.Bind(_, expression, variable):
                    pattern = extend(pattern, Variable(variable.name), self.expression(expression))
                case _:
                    pattern = join(pattern, self.element(element))
        return pattern, conjunction(filters)

    def beginning(self) -> Node:
        """The pattern that a group begins with: one solution that binds nothing.

        Subclasses may replace it.
        """
        return UNIT

    def element(self, element: ast.Pattern) -> Node:
        match element:
            case ast.Triples(_, triples):
                return self.triples(triples)
            case ast.Group():
                return self.group(element)
            case ast.Union(_, options):
                return balanced(Union, map(self.group, options))
            case ast.Graph(_, name, pattern):
                return Graph(self.term(name), self.group(pattern))
            case ast.WindowPattern(_, name, pattern):
                return InWindow(self.term(name), self.group(pattern))
            case ast.Values():
                return self.values(element)
            case ast.SubSelect(_, query):
                return self.select(query)[0]
            case ast.Service(_, _, _, pattern) if self.lenient:
                return self.group(pattern)
            case ast.Service(_, name, True, pattern):
                # No other endpoint is ever asked, and a call that fails in silence gives one empty solution
                # (SPARQL 1.1 Federated Query, 4).
                found = in_scope(join(self.group(pattern), Graph(self.term(name), UNIT)))
                variables = tuple(Variable(name) for name in sorted(found) if not name.startswith("."))
                return Values(variables, ((None,) * len(variables),)) if variables else UNIT
            case ast.Service():
                raise UnsupportedError(
                    "SERVICE is not supported: rheos answers from its own streams and static data",
                    self.names.text,
                    element.position,
                )
        raise AssertionError(element)

    def triples(self, triples: Iterable[ast.Triple]) -> Node:
        """A block of triples and paths: neighbouring triples are one BGP (18.2.2.5)."""
        pattern: Node = UNIT
        for triple in triples:
            subject, object_ = self.term(triple.subject), self.term(triple.object)
            if isinstance(triple.predicate, ast.Var | ast.Iri | ast.PrefixedName):
                predicate = self.term(triple.predicate)
                pattern = join(pattern, BGP((TriplePattern(subject, predicate, object_),)))
            else:
                path = translate_path(triple.predicate, lambda name: terms.iri(self.names.iri(name)))
                found = unfold(PathPattern(subject, path, object_), lambda: Variable(self.invent("path")))
                pattern = join(pattern, found)
        return pattern

    def template(self, triple: ast.Triple) -> TriplePattern:
        assert isinstance(triple.predicate, ast.Var | ast.Iri | ast.PrefixedName)
        return TriplePattern(self.term(triple.subject), self.term(triple.predicate), self.term(triple.object))

    def values(self, values: ast.Values) -> Values:
        rows = tuple(
            tuple(None if value is None else self.constant(value) for value in row) for row in values.rows
        )
        return Values(tuple(Variable(variable.name) for variable in values.variables), rows)

    @staticmethod
    def visible(pattern: Node, tree: ast.Node) -> tuple[Variable, ...]:
        """The variables that `*` stands for: those in scope that the user wrote, in the order of the text."""
        places: dict[str, tuple[int, int]] = {}
        for node in nodes(tree):
            if isinstance(node, ast.Var):
                place = node.position.line, node.position.column
                places[node.name] = min(place, places.get(node.name, place))
        found = in_scope(pattern)
        return tuple(Variable(name) for name in sorted(places, key=places.__getitem__) if name in found)

    def invent(self, purpose: str) -> str:
        self.fresh += 1
        return f".{purpose}{self.fresh}"

    # --- terms and expressions -------------------------------------------------------------------

    def term(self, term: ast.Term) -> Term:
        match term:
            case ast.Var(_, name):
                return Variable(name)
            case ast.BlankNode(_, label):
                return Variable(f".{label}")
        return Constant(self.constant(term))

    def constant(self, term: ast.Name | ast.Literal) -> str:
        if isinstance(term, ast.Literal):
            datatype = None if term.datatype is None else self.names.iri(term.datatype)
            return terms.literal(term.lexical, datatype, term.language)
        return terms.iri(self.names.iri(term))

    def expression(self, expression: ast.Expression) -> Expression:
        match expression:
            case ast.Var(_, name):
                variable = Variable(name)
                if self.grouped is not None and variable not in self.grouped:
                    return self.aggregate(Aggregate("SAMPLE", variable))  # 18.2.4.1
                return variable
            case ast.Call(_, name, arguments):
                if name == "TIMESTAMP":
                    self.check_timestamp(expression)
                return self.call(name, tuple(map(self.expression, arguments)))
            case ast.FunctionCall(_, function, arguments):
                name = self.names.iri(function)
                if name == TIMESTAMP and len(arguments) == 3:
                    self.check_timestamp(expression)
                    return Call("TIMESTAMP", tuple(map(self.expression, arguments)))
                self.check_function(name, expression)
                return self.call(name, tuple(map(self.expression, arguments)))
            case ast.Exists(_, pattern, negated):
                with self.ungrouped():
                    return Exists(self.group(pattern), negated)
            case ast.Aggregate(_, name, argument, distinct, separator):
                inner = None
                if argument is not None:
                    with self.ungrouped():
                        inner = self.expression(argument)
                found = Aggregate(name, inner, distinct, " " if separator is None else separator)
                return self.aggregate(found)
        return Constant(self.constant(expression))

    def check_function(self, name: str, call: ast.FunctionCall) -> None:
        if name not in CASTS and not self.lenient:
            raise UnsupportedError(f"unknown function <{name}>", self.names.text, call.position)
        if name in CASTS and (len(call.arguments) != 1 or call.distinct):
            message = f"<{name}> takes 1 argument and no DISTINCT"
            raise QuerySyntaxError(message, self.names.text, call.position)

    def check_timestamp(self, call: ast.Call | ast.FunctionCall) -> None:
        """Raise an error for timestamp() after GROUP BY: a group has no time, only triples have."""
        if self.grouped is None:
            return
        asked = [argument.name for argument in call.arguments if isinstance(argument, ast.Var)]
        keys = [name for name in asked if Variable(name) in self.grouped]
        what = f"?{keys[0]} is the key of a group here" if keys else "timestamp is asked of a group here"
        message = f"{what}, and a group has no time; MAX(timestamp(…)) is the latest of its triples"
        raise QuerySyntaxError(message, self.names.text, call.position)

    def call(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        if name in ("IRI", "URI") and not is_absolute(arguments[0]):
            # A relative argument is resolved against the base at run time, so the base becomes an argument.
            arguments = (*arguments, Constant(terms.literal(self.names.base)))
        if name == "BNODE" and arguments:
            arguments = (*arguments, SOLUTION)
        if name in ("||", "&&"):
            return balanced(lambda left, right: Call(name, (left, right)), arguments)
        return Call(name, arguments)

    def aggregate(self, aggregate: Aggregate) -> Variable:
        """The variable that stands for an aggregate of the current group."""
        if aggregate not in self.aggregates:
            self.aggregates[aggregate] = Variable(self.invent("aggregate"))
        return self.aggregates[aggregate]

    @contextmanager
    def ungrouped(self) -> Iterator[None]:
        """While the block runs, variables are those of rows, not of a group: for aggregates and EXISTS."""
        grouped, self.grouped = self.grouped, None
        yield
        self.grouped = grouped


def is_absolute(text: Expression) -> bool:
    """Whether a text certainly begins with the scheme of an IRI, so that the base does not matter."""
    match text:
        case Call("CONCAT", (Constant(first), *_)):
            return _SCHEME.match(first) is not None
    return False


def join(left: Node, right: Node) -> Node:
    """A join. The empty pattern is its identity, and neighbouring BGPs become one (18.2.2.5, 18.2.2.8)."""
    match left, right:
        case BGP(first), BGP(second):
            return BGP(first + second)
        case BGP(()), _:
            return right
        case _, BGP(()):
            return left
        case Join(before, BGP(first)), BGP(second):
            return Join(before, BGP(first + second))
    return Join(left, right)


def window_of(window: ast.LogicalWindow | ast.PhysicalWindow | ast.SessionWindow) -> Window:
    if isinstance(window, ast.LogicalWindow):
        return LogicalWindow(window.range, window.step, window.delay)
    if isinstance(window, ast.SessionWindow):
        return SessionWindow(window.gap, window.by_subject)
    return PhysicalWindow(window.triples, window.step, window.graphs)


def triple_patterns(node: Node) -> tuple[TriplePattern, ...]:
    """The triple patterns of a pattern that can match triples of a solution: the template of CONSTRUCT *."""
    match node:
        case BGP(patterns):
            return patterns
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return triple_patterns(left) + triple_patterns(right)
        case SeqJoin(left, right) | SeqRightJoin(left, right) | EqJoin(left, right) | EqLeftJoin(left, right):
            return triple_patterns(left) + triple_patterns(right)
        case AllenJoin(_, left, right):
            return triple_patterns(left) + triple_patterns(right)
        case Minus(left):
            return triple_patterns(left)
        case StreamPattern(_, pattern):
            return (pattern,)
        case PathPattern() | Values() | TableScan() | Pairs():
            return ()
        case Filter(_, pattern):
            return triple_patterns(pattern)
    return triple_patterns(node.pattern)


def extend(pattern: Node, variable: Variable, expression: Expression) -> Node:
    """An Extend.

    If its expression reads SOLUTION, this variable gets a different value in each solution first.
    """
    if SOLUTION.name in used(expression) - in_scope(pattern):
        pattern = Extend(pattern, SOLUTION, Call("STRUUID", ()))
    return Extend(pattern, variable, expression)


def sliced(pattern: Node, modifiers: ast.Modifiers) -> Node:
    if modifiers.limit is None and not modifiers.offset:
        return pattern
    return Slice(pattern, modifiers.offset or 0, modifiers.limit)


def groups_all(query: ast.SelectQuery) -> bool:
    """Whether a query groups even without GROUP BY: it has HAVING, or an aggregate somewhere (18.2.4.1)."""
    return bool(query.modifiers.having or aggregates(query))
