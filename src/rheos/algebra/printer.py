"""Prints the algebra as indented s-expressions, for `rheos explain` and the golden tests."""

from __future__ import annotations

from collections.abc import Iterable

from rheos.algebra.expressions import Aggregate, Call, Constant, Exists, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    AllenJoin,
    Alternative,
    Ask,
    Broadcast,
    Construct,
    Describe,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Events,
    Extend,
    Filter,
    Form,
    Graph,
    Group,
    Inverse,
    InWindow,
    Join,
    Kept,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    OneOrMore,
    OrderBy,
    Pairs,
    Path,
    PathPattern,
    Project,
    Query,
    Recent,
    Reduced,
    Runs,
    Select,
    SeqJoin,
    SeqRightJoin,
    Sequence,
    Slice,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Union,
    Values,
    ZeroOrMore,
    ZeroOrOne,
)
from rheos.terms import RDF, XSD

SHORT = {XSD: "xsd:", RDF: "rdf:"}


def show(query: Query) -> str:
    """A whole query, with one operator on each line."""
    lines = list(form_lines(query.form))
    if query.dataset is not None and query.dataset.entailed is not None:
        schema = " ".join(map(short, query.dataset.entailed)) or "default"
        lines = [f"(entailed rdfs (schema {schema})", *indent(lines)]
        lines[-1] += ")"
    if query.dataset is not None and (query.dataset.entailed is None or query.dataset.named is not None):
        default = " ".join(map(short, query.dataset.default))
        named = "*" if query.dataset.named is None else " ".join(map(short, query.dataset.named))
        lines = [f"(dataset (default {default}) (named {named})", *indent(lines)]
        lines[-1] += ")"
    return "\n".join(lines)


def form_lines(form: Form) -> list[str]:
    match form:
        case Select(pattern, variables):
            return wrap("select " + variable_list(variables), pattern)
        case Construct(pattern, template):
            return wrap("construct " + f"({' '.join(map(triple, template))})", pattern)
        case Ask(pattern):
            return wrap("ask", pattern)
        case Describe(pattern, terms):
            return wrap("describe " + f"({' '.join(map(term, terms))})", pattern)


def node_lines(node: Node) -> list[str]:
    """A pattern as lines without indentation of its own."""
    match node:
        case BGP(()):
            return ["(unit)"]
        case BGP(patterns, small, parts):
            shown = [f"broadcast {triple(p)}" if at in small else triple(p) for at, p in enumerate(patterns)]
            shown = [f"{part} {one}" for part, one in zip(parts, shown, strict=True)] if parts else shown
            return close([f"(bgp {shown[0]}", *indent(shown[1:], 5)])
        case PathPattern(subject, path, object_, seeds):
            line = f"path {term(subject)} {show_path(path)} {term(object_)}"
            return [f"({line})"] if seeds is None else wrap(f"{line} from", seeds)
        case StreamPattern(window, pattern, part):
            elements = "" if part == "all" else f" {part}"
            return [f"(stream {window}{elements} {triple(pattern)})"]
        case TableScan(table, variables):
            return [f"(kept {table} {variable_list(variables)})"]
        case Pairs(number, variables, _, part):
            return [f"(pairs {number}{'' if part == 'all' else f' {part}'} {variable_list(variables)})"]
        case Join(left, right):
            return wrap("join", left, right)
        case Events(pattern):
            return wrap("events", pattern)
        case AllenJoin(relation, left, right):
            return wrap(relation.lower(), left, right)
        case SeqJoin(left, right, between) if between is not None:
            return wrap("seqjoin without", left, between, right)
        case SeqJoin(left, right) | EqJoin(left, right):
            return wrap(type(node).__name__.lower(), left, right)
        case (
            LeftJoin(left, right, condition)
            | SeqRightJoin(left, right, condition)
            | EqLeftJoin(left, right, condition)
        ):
            name = type(node).__name__.lower()
            if condition is None:
                return wrap(name, left, right)
            first, *rest = expression_lines(condition)
            head = [f"({name} {first}", *indent(rest, 4)]
            return close([*head, *indent(node_lines(left)), *indent(node_lines(right))])
        case Union(left, right):
            return wrap("union", left, right)
        case Minus(left, right):
            return wrap("minus", left, right)
        case Filter(condition, pattern):
            first, *rest = expression_lines(condition)
            head = [f"(filter {first}", *indent(rest, 4)]
            return close([*head, *indent(node_lines(pattern))])
        case InWindow(name, pattern):
            return wrap(f"window {term(name)}", pattern)
        case Graph(name, pattern):
            return wrap(f"graph {term(name)}", pattern)
        case Extend(pattern, variable, expression):
            first, *rest = expression_lines(expression)
            head = [f"(extend (?{variable.name} {first}", *indent(rest, 4)]
            return close([*close(head), *indent(node_lines(pattern))])
        case Values(variables, rows):
            tuples = (" ".join("UNDEF" if value is None else short(value) for value in row) for row in rows)
            line = f"(values {variable_list(variable.name for variable in variables)}"
            return [" ".join((line, *(f"({values})" for values in tuples))) + ")"]
        case (
            Group(pattern, keys, aggregates)
            | Recent(pattern, _, keys, aggregates)
            | Runs(pattern, keys, aggregates)
        ):
            sets = " ".join(f"(?{variable.name} {aggregate(found)})" for variable, found in aggregates)
            name = "group"
            if isinstance(node, Recent):
                name = f"recent {node.within}µs"
            elif isinstance(node, Runs):
                name = "runs" if node.most is None else f"runs of {node.least} to {node.most}"
                name += "" if node.within is None else f" within {node.within}µs"
            return wrap(f"{name} {variable_list(key.name for key in keys)} ({sets})", pattern)
        case Aggregated(pattern, aggregations):
            added = (
                f"(?{item.variable.name} {aggregate(item.aggregate)}"
                f" {variable_list(variable.name for variable in item.group)})"
                for item in aggregations
            )
            return wrap(f"aggregated ({' '.join(added)})", pattern)
        case Project(pattern, variables):
            return wrap("project " + variable_list(variable.name for variable in variables), pattern)
        case Distinct(pattern):
            return wrap("distinct", pattern)
        case Reduced(pattern):
            return wrap("reduced", pattern)
        case OrderBy(pattern, conditions):
            orders = (
                f"({'desc' if order.descending else 'asc'} {' '.join(expression_lines(order.expression))})"
                for order in conditions
            )
            return wrap(f"order ({' '.join(orders)})", pattern)
        case Slice(pattern, offset, limit):
            return wrap(f"slice {offset} {'_' if limit is None else limit}", pattern)
        case Broadcast(pattern):
            return wrap("broadcast", pattern)
        case Kept(_, pattern):
            return wrap("kept", pattern)


def expression_lines(expression: Expression) -> list[str]:
    """An expression on one line; only the pattern of an EXISTS takes more."""
    match expression:
        case Exists(pattern, negated):
            return wrap("notexists" if negated else "exists", pattern)
        case Call(name, arguments):
            shown = [expression_lines(argument) for argument in arguments]
            if all(len(lines) == 1 for lines in shown):
                return [f"({' '.join([short_name(name), *(lines[0] for lines in shown)])})"]
            return close([f"({short_name(name)}", *(line for lines in shown for line in indent(lines))])
        case Variable() | Constant():
            return [term(expression)]


def aggregate(found: Aggregate) -> str:
    words = [found.name.lower()]
    words += ["distinct"] if found.distinct else []
    words += ["*"] if found.argument is None else expression_lines(found.argument)
    words += [repr(found.separator)] if found.name == "GROUP_CONCAT" and found.separator != " " else []
    return f"({' '.join(words)})"


def show_path(path: Path) -> str:
    match path:
        case Link(predicate):
            return short(predicate)
        case Inverse(inner):
            return f"^{show_path(inner)}"
        case Sequence(first, second):
            return f"({show_path(first)}/{show_path(second)})"
        case Alternative(first, second):
            return f"({show_path(first)}|{show_path(second)})"
        case ZeroOrMore(inner):
            return f"{show_path(inner)}*"
        case OneOrMore(inner):
            return f"{show_path(inner)}+"
        case ZeroOrOne(inner):
            return f"{show_path(inner)}?"
        case NegatedSet(predicates):
            return f"!({'|'.join(map(short, sorted(predicates)))})"


def triple(pattern: TriplePattern) -> str:
    times = (f"at ?{t.variable.name}" + (f" of {short(t.stream)}" if t.stream else "") for t in pattern.times)
    return f"({' '.join((*map(term, pattern.terms), *times))})"


def term(value: Term) -> str:
    return f"?{value.name}" if isinstance(value, Variable) else short(value.term)


def short(value: str) -> str:
    """A term with the well-known namespaces abbreviated."""
    for namespace, prefix in SHORT.items():
        start = f"<{namespace}"
        if value.startswith(start):
            return prefix + value[len(start) : -1]
        if value.startswith('"') and f"^^{start}" in value:
            lexical, _, datatype = value.rpartition(f"^^{start}")
            return f"{lexical}^^{prefix}{datatype[:-1]}"
    return value


def short_name(name: str) -> str:
    return short(f"<{name}>") if ":" in name else name.lower()


def variable_list(variables: Iterable[str]) -> str:
    return f"({' '.join(f'?{name}' for name in variables)})"


def wrap(head: str, *operands: Node) -> list[str]:
    """An operator on its own line, its operands indented below it."""
    return close([f"({head}", *(line for operand in operands for line in indent(node_lines(operand)))])


def close(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1] + ")"]


def indent(lines: list[str], by: int = 2) -> list[str]:
    return [" " * by + line for line in lines]
