"""Translation: a query of C-SPARQL comes in, the same query in RSP-QL goes out.

A `Fault` names what RSP-QL cannot express. In C-SPARQL a triple of the default graph may be static, or in any
window of FROM STREAM. RSP-QL keeps these apart. So each triple pattern becomes the union of all places where
its triple may be, without duplicates, because the default graph is a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rheos.errors import Position
from rheos.syntax import ast
from rheos.syntax.build import Form
from rheos.syntax.scope import in_scope, nodes
from rheos.syntax.terms import Fault
from rheos.syntax.windows import spelled_out


def to_rspql(query: ast.Query) -> ast.Query:
    """The query in RSP-QL; a `Fault` names the first thing that RSP-QL cannot express."""
    if query.dialect != "csparql" or not query.streams:
        raise Fault("only a query of C-SPARQL with FROM STREAM can be translated", query.position)
    return _without_hyphens(Translation(query).query())


def _without_hyphens(query: ast.Query) -> ast.Query:
    """The query with other names for variables with a hyphen, which SPARQL does not allow. Variables of the
    answer must keep their names, so they may not have a hyphen."""
    form = query.form
    used = {node.name for node in nodes(form) if isinstance(node, ast.Var)}
    new: dict[str, str] = {}
    for name in sorted(name for name in used if "-" in name):
        new[name] = name.replace("-", "_")
        while new[name] in used:
            new[name] += "_"
        used.add(new[name])
    if not new:
        return query
    for item in (form.projection or ()) if isinstance(form, ast.SelectQuery) else ():
        if item.variable is not None and item.variable.name in new:
            message = f"?{item.variable.name} cannot be the name of a variable in RSP-QL: it has a hyphen"
            raise Fault(message, item.position)

    def renamed(found: Any) -> Any:
        if isinstance(found, ast.Var):
            return replace(found, name=new.get(found.name, found.name))
        if isinstance(found, tuple):
            return tuple(map(renamed, found))
        if not is_dataclass(found) or isinstance(found, Position):
            return found
        return replace(found, **{part.name: renamed(getattr(found, part.name)) for part in fields(found)})  # type: ignore[type-var]

    return replace(query, form=renamed(form))


class Translation:
    """One translation: its windows, and the variables that stand for blank nodes."""

    def __init__(self, source: ast.Query) -> None:
        self.source = source
        self.prefix = self._free_prefix()
        self.names = [
            ast.PrefixedName(clause.position, self.prefix, f"w{number}")
            for number, clause in enumerate(source.streams, start=1)
        ]
        self.used = {node.name for node in nodes(source.form) if isinstance(node, ast.Var)}
        self.blanks: dict[str, ast.Var] = {}

    def _free_prefix(self) -> str:
        taken = {item.prefix for item in self.source.prologue if isinstance(item, ast.Prefix)}
        return next(
            name for name in ("window", *(f"window{n}" for n in range(len(taken) + 1))) if name not in taken
        )

    def query(self) -> ast.Query:
        source, where = self.source, self.source.position
        for clause in source.streams:
            if clause.sample is not None:
                raise Fault("SAMPLE cannot be said in RSP-QL", clause.sample.position)
        declared = ast.Prefix(where, self.prefix, ast.Iri(where, "urn:window:"))
        streams = tuple(
            replace(clause, named=True, name=name)
            for clause, name in zip(source.streams, self.names, strict=True)
        )
        return replace(
            source,
            prologue=(*source.prologue, declared),
            form=self.form(source.form),
            streams=streams,
            dialect="rspql",
        )

    def form(self, form: Form) -> Form:
        for node in nodes(form):
            if isinstance(node, ast.Call) and node.name == "TIMESTAMP":
                raise Fault("timestamp() cannot be said in RSP-QL", node.position)
        match form:
            case ast.DescribeQuery():
                message = "DESCRIBE cannot be said in RSP-QL, where it does not see windows"
                raise Fault(message, form.position)
            case ast.SelectQuery():
                return self.select(form)
            case ast.ConstructQuery(template=None):
                raise Fault("CONSTRUCT * cannot be said in RSP-QL; write the template", form.position)
        return replace(form, where=self.where(form), modifiers=self.modifiers(form.modifiers))

    def select(self, query: ast.SelectQuery) -> ast.SelectQuery:
        projection = query.projection
        if projection is None:  # blank nodes become variables, which SELECT * would show
            visible = in_scope(query.where)
            found = (
                node for node in nodes(query.where) if isinstance(node, ast.Var) and node.name in visible
            )
            shown = {node.name: ast.Projection(node.position, node) for node in found}
            for item in query.modifiers.aggregations:
                shown[item.variable.name] = ast.Projection(item.position, item.variable)
            projection = tuple(shown.values())
        else:
            projection = tuple(self.anything(item) for item in projection)
        modifiers = self.modifiers(query.modifiers)
        return replace(query, projection=projection, where=self.where(query), modifiers=modifiers)

    def where(self, form: ast.SelectQuery | ast.ConstructQuery | ast.AskQuery) -> ast.Group:
        """WHERE, joined with a sub-select for each AGGREGATE, which adds the value of the group to each
        row."""
        rows, modifiers = self.group(form.where), form.modifiers
        if not modifiers.aggregations:
            return rows
        parts: list[ast.Pattern] = [rows]
        for item in modifiers.aggregations:
            where = item.position
            for variable in item.group:
                if variable.name not in always_bound(form.where):
                    message = f"AGGREGATE by ?{variable.name}, which may be unbound, cannot be said in RSP-QL"
                    raise Fault(message, variable.position)
            value = ast.Aggregate(where, item.function, item.argument, False)
            shown = (
                *(ast.Projection(where, v) for v in item.group),
                ast.Projection(where, item.variable, value),
            )
            keys = ast.Modifiers(group_by=tuple(ast.Projection(where, variable) for variable in item.group))
            counted = ast.SelectQuery(where, shown, False, False, rows, keys)
            parts.append(ast.Group(where, (ast.SubSelect(where, counted),)))
        filters = [item.filter for item in modifiers.aggregations if item.filter is not None]
        parts += [ast.Filter(f.position, self.anything(f)) for f in (*filters, *modifiers.filters)]
        return ast.Group(rows.position, tuple(parts))

    def modifiers(self, found: ast.Modifiers) -> ast.Modifiers:
        group_by, having, order_by = (
            tuple(map(self.anything, part)) for part in (found.group_by, found.having, found.order_by)
        )
        return replace(
            found, group_by=group_by, having=having, order_by=order_by, aggregations=(), filters=()
        )

    # --- patterns ------------------------------------------------------------------------------------------

    def group(self, group: ast.Group) -> ast.Group:
        return replace(group, elements=tuple(self.elements(group)))

    def elements(self, group: ast.Group) -> Iterator[ast.Pattern]:
        for element in group.elements:
            match element:
                case ast.Triples(triples=triples):
                    yield from map(self.triple, triples)
                case ast.Union(options=options):
                    yield replace(element, options=tuple(map(self.group, options)))
                case ast.Graph():
                    yield self.graph(element)
                case ast.SubSelect(query=query):
                    yield replace(element, query=self.select(query))
                case ast.Service():
                    raise Fault("SERVICE is not supported", element.position)
                case ast.Group():
                    yield self.group(element)
                case ast.Optional() | ast.Minus():
                    yield replace(element, pattern=self.group(element.pattern))
                case _:
                    yield self.anything(element)

    def anything(self, found: Any) -> Any:
        """An expression, or an element that has one, translated: only the patterns of EXISTS change."""
        match found:
            case ast.Exists():
                return replace(found, pattern=self.group(found.pattern))
            case ast.Call() | ast.FunctionCall():
                return replace(found, arguments=tuple(map(self.anything, found.arguments)))
            case ast.Aggregate(argument=argument):
                return replace(found, argument=self.anything(argument))
            case ast.Filter(condition=condition):
                return replace(found, condition=self.anything(condition))
            case ast.Bind() | ast.Projection() | ast.OrderCondition():
                return replace(found, expression=self.anything(found.expression))
        return found

    def triple(self, triple: ast.Triple) -> ast.Pattern:
        """A triple pattern over the static default graph and all windows that belong to the default graph."""
        where = triple.position
        places = [
            name for clause, name in zip(self.source.streams, self.names, strict=True) if not clause.named
        ]
        found = self.without_blanks(triple)
        block = ast.Triples(where, (found,))
        if not places:
            return block
        predicate = found.predicate
        if not isinstance(predicate, ast.Var | ast.Iri | ast.PrefixedName):
            message = "a property path over static data and windows together cannot be said in RSP-QL"
            raise Fault(message, predicate.position)
        alone = ast.Group(where, (block,))
        inside = [ast.Group(where, (ast.WindowPattern(where, name, alone),)) for name in places]
        both = ast.Group(where, (ast.Union(where, (alone, *inside)),))
        terms = (found.subject, predicate, found.object)
        variables = dict.fromkeys(term.name for term in terms if isinstance(term, ast.Var))
        if not variables:  # a pattern without variables: true if the triple is in any of these places
            exists = ast.Exists(where, both, False)
            return ast.Filter(where, exists)
        projection = tuple(ast.Projection(where, ast.Var(where, name)) for name in variables)
        distinct = ast.SelectQuery(where, projection, True, False, both, ast.Modifiers())
        return ast.Group(where, (ast.SubSelect(where, distinct),))

    def without_blanks(self, triple: ast.Triple) -> ast.Triple:
        subject, object_ = (
            self.variable_of(term) if isinstance(term, ast.BlankNode) else term
            for term in (triple.subject, triple.object)
        )
        return replace(triple, subject=subject, object=object_)

    def variable_of(self, blank: ast.BlankNode) -> ast.Var:
        if blank.label not in self.blanks:
            number = len(self.blanks) + 1
            while f"blank{number}" in self.used:
                number += 1
            self.used.add(f"blank{number}")
            self.blanks[blank.label] = ast.Var(blank.position, f"blank{number}")
        return self.blanks[blank.label]

    def graph(self, graph: ast.Graph) -> ast.Pattern:
        """GRAPH with the name of a stream becomes the window on it; GRAPH with a variable becomes the union
        of all static named graphs and all windows."""
        where, spelled = graph.position, self.spelled
        inner = self.plain(graph.pattern)
        named = {
            spelled(clause.iri): (clause.iri, name)
            for clause, name in zip(self.source.streams, self.names, strict=True)
        }
        all_named = [spelled(clause.iri) for clause in self.source.streams]
        meant = all_named if isinstance(graph.name, ast.Var) else [spelled(graph.name)]
        for iri in meant:
            if all_named.count(iri) > 1:
                message = f"GRAPH on <{iri}>, the union of several windows, cannot be said in RSP-QL"
                raise Fault(message, where)
        if not isinstance(graph.name, ast.Var):
            if spelled(graph.name) not in named:
                return replace(graph, pattern=inner)
            return ast.WindowPattern(where, named[spelled(graph.name)][1], inner)
        if any(isinstance(node, ast.Var) and node.name == graph.name.name for node in nodes(graph.pattern)):
            raise Fault("a GRAPH whose variable stands inside it cannot be said in RSP-QL", where)
        options = [ast.Group(where, (replace(graph, pattern=inner),))]
        for stream, name in named.values():
            window = ast.WindowPattern(where, name, inner)
            options.append(ast.Group(where, (window, ast.Bind(where, stream, graph.name))))
        return ast.Union(where, tuple(options))

    def plain(self, group: ast.Group) -> ast.Group:
        """The pattern inside GRAPH, which is about that graph alone and needs no change. A Fault if it has
        another GRAPH."""
        for node in nodes(group):
            if isinstance(node, ast.Graph):
                raise Fault("GRAPH inside GRAPH cannot be said in RSP-QL", node.position)
        return group

    @property
    def spelled(self) -> Callable[[ast.Name], str]:
        return lambda name: spelled_out(self.source, name)


def always_bound(group: ast.Group) -> set[str]:
    """The variables that every solution of a group binds, as far as a simple look can tell."""
    found: set[str] = set()
    for element in group.elements:
        match element:
            case ast.Triples():
                found |= {node.name for node in nodes(element) if isinstance(node, ast.Var)}
            case ast.Group():
                found |= always_bound(element)
            case ast.Graph(name=name, pattern=pattern):
                found |= always_bound(pattern) | ({name.name} if isinstance(name, ast.Var) else set())
            case ast.Union(options=options):
                found |= set.intersection(*map(always_bound, options))
    return found
