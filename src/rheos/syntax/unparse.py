"""Unparsing: a syntax tree comes in, the text of a query goes out, with all brackets and with names as they
were written."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent

from rheos.durations import to_xsd
from rheos.syntax import ast

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
_INFIX = {"||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"}
_PREFIXED = {"!": "!", "unary-": "-", "unary+": "+"}


def unparse(query: ast.Query) -> str:
    """The text of a query of SPARQL or RSP-QL."""
    lines = [_declaration(item) for item in query.prologue]
    if query.registration is not None:
        lines.append(_registration(query.registration))
    clauses = [_dataset(clause) for clause in query.dataset] + [_window(clause) for clause in query.streams]
    operator = "" if query.operator == "RSTREAM" else f"{query.operator} "
    match query.form:
        case ast.SelectQuery(where=where, modifiers=modifiers) as form:
            head = _select(form, operator)
        case ast.ConstructQuery(template=template, where=where, modifiers=modifiers):
            triples = "\n".join(f"  {triple(item)} ." for item in template or ())
            head = f"CONSTRUCT {operator}{{\n{triples}\n}}"
        case ast.AskQuery(where=where, modifiers=modifiers):
            head = "ASK"
        case ast.DescribeQuery(terms=terms, where=found, modifiers=modifiers):
            head = f"DESCRIBE {' '.join(map(term, terms)) if terms else '*'}"
            where = found or ast.Group(query.position, ())
    return "\n".join([*lines, head, *clauses, f"WHERE {group(where)}", *_modifiers(modifiers)]) + "\n"


def _declaration(item: ast.Base | ast.Prefix) -> str:
    return (
        f"BASE <{item.iri.value}>"
        if isinstance(item, ast.Base)
        else f"PREFIX {item.prefix}: <{item.iri.value}>"
    )


def _registration(found: ast.Registration) -> str:
    name = found.name if found.name.replace("-", "_").isidentifier() else f"<{found.name}>"
    every = "" if found.every is None else f" COMPUTED EVERY {to_xsd(found.every)}"
    every += " STRETCHED" if found.stretched is not None else ""
    return f"REGISTER {found.kind} {name}{every} AS"


def _dataset(clause: ast.DatasetClause) -> str:
    return f"FROM {'NAMED ' if clause.named else ''}{term(clause.iri)}"


def _window(clause: ast.StreamClause) -> str:
    match clause.window:
        case ast.LogicalWindow(range=length, step=step, delay=0):
            size = f"RANGE {to_xsd(length)} STEP {to_xsd(step)}"
        case ast.LogicalWindow(range=length, step=step, delay=delay):
            size = f"FROM NOW-{to_xsd(length + delay)} TO NOW-{to_xsd(delay)} STEP {to_xsd(step)}"
        case ast.PhysicalWindow(triples=count, step=step):
            size = f"ELEMENTS {count} STEP {step}"
        case ast.SessionWindow(gap=gap, by_subject=by_subject):
            size = f"SESSION {to_xsd(gap)}{' PER SUBJECT' if by_subject else ''}"
        case None:
            raise AssertionError(clause)
    assert clause.name is not None
    return f"FROM NAMED WINDOW {term(clause.name)} ON {term(clause.iri)} [{size}]"


def _select(form: ast.SelectQuery, operator: str = "") -> str:
    distinct = "DISTINCT " if form.distinct else "REDUCED " if form.reduced else ""
    shown = " ".join(map(_projection, form.projection)) if form.projection is not None else "*"
    return f"SELECT {operator}{distinct}{shown}"


def _projection(item: ast.Projection) -> str:
    if item.expression is None:
        assert item.variable is not None
        return term(item.variable)
    if item.variable is None:
        return f"({expression(item.expression)})"
    return f"({expression(item.expression)} AS {term(item.variable)})"


def _modifiers(found: ast.Modifiers) -> list[str]:
    lines = []
    if found.group_by:
        lines.append(f"GROUP BY {' '.join(map(_projection, found.group_by))}")
    if found.having:
        lines.append(f"HAVING {' '.join(f'({expression(item)})' for item in found.having)}")
    if found.order_by:
        orders = (
            f"{'DESC' if item.descending else 'ASC'}({expression(item.expression)})"
            for item in found.order_by
        )
        lines.append(f"ORDER BY {' '.join(orders)}")
    lines += [] if found.limit is None else [f"LIMIT {found.limit}"]
    lines += [] if found.offset is None else [f"OFFSET {found.offset}"]
    return lines + ([] if found.values is None else [pattern(found.values)])


# --- patterns -----------------------------------------------------------------------------------------------


def group(found: ast.Group) -> str:
    if not found.elements:
        return "{ }"
    return "{\n" + indent("\n".join(map(pattern, found.elements)), "  ") + "\n}"


def pattern(found: ast.Pattern) -> str:
    match found:
        case ast.Triples(triples=triples):
            return "\n".join(f"{triple(item)} ." for item in triples)
        case ast.Group():
            return group(found)
        case ast.Optional(pattern=inner):
            return f"OPTIONAL {group(inner)}"
        case ast.Union(options=options):
            return "\nUNION ".join(map(group, options))
        case ast.Minus(pattern=inner):
            return f"MINUS {group(inner)}"
        case ast.Graph(name=name, pattern=inner):
            return f"GRAPH {term(name)} {group(inner)}"
        case ast.WindowPattern(name=name, pattern=inner):
            return f"WINDOW {term(name)} {group(inner)}"
        case ast.Service(name=name, silent=silent, pattern=inner):
            return f"SERVICE {'SILENT ' if silent else ''}{term(name)} {group(inner)}"
        case ast.Filter(condition=condition):
            return f"FILTER ({expression(condition)})"
        case ast.Bind(expression=value, variable=variable):
            return f"BIND ({expression(value)} AS {term(variable)})"
        case ast.Values(variables=variables, rows=rows):
            lines = (
                f"({' '.join('UNDEF' if value is None else term(value) for value in row)})" for row in rows
            )
            return f"VALUES ({' '.join(map(term, variables))}) {{ {' '.join(lines)} }}"
        case ast.SubSelect(query=query):
            return "\n".join([_select(query), f"WHERE {group(query.where)}", *_modifiers(query.modifiers)])
        case ast.StreamPattern() | ast.Temporal() | ast.Limited() | ast.Run():
            raise AssertionError("patterns of other languages have no text in RSP-QL")


def triple(found: ast.Triple) -> str:
    verb = found.predicate
    shown = term(verb) if isinstance(verb, ast.Var | ast.Iri | ast.PrefixedName) else path(verb)
    return f"{term(found.subject)} {shown} {term(found.object)}"


def path(found: ast.Path) -> str:
    match found:
        case ast.Link(predicate=predicate):
            return term(predicate)
        case ast.Inverse(path=inner):
            return f"^{path(inner)}"
        case ast.PathSequence(steps=steps):
            return f"({'/'.join(map(path, steps))})"
        case ast.PathAlternative(options=options):
            return f"({'|'.join(map(path, options))})"
        case ast.PathRepeat(path=inner, sign=sign):
            return f"({path(inner)}){sign}"
        case ast.NegatedSet(forward=forward, backward=backward):
            return f"!({'|'.join([*map(term, forward), *(f'^{term(name)}' for name in backward)])})"


# --- terms and expressions ----------------------------------------------------------------------------------


def term(found: ast.Term) -> str:
    match found:
        case ast.Var(name=name):
            return f"?{name}"
        case ast.Iri(value=value):
            return f"<{value}>"
        case ast.PrefixedName(prefix=prefix, local=local):
            return f"{prefix}:{''.join(_local(local))}"
        case ast.BlankNode(label=label):
            return f"_:made{label[1:]}" if label.startswith(".") else f"_:{label}"
        case ast.Literal(lexical=lexical, datatype=datatype, language=language):
            text = f'"{lexical.translate(_ESCAPES)}"'
            return f"{text}@{language}" if language else text + (f"^^{term(datatype)}" if datatype else "")


def _local(local: str) -> Iterable[str]:
    """The characters of a local name, with a backslash before those that need one."""
    for at, letter in enumerate(local):
        last = at == len(local) - 1
        plain = (
            letter.isalnum()
            or letter in "_:%"
            or (letter in "-." and at and not last)
            or not letter.isascii()
        )
        yield letter if plain or (letter == "-" and at) else f"\\{letter}"


def expression(found: ast.Expression) -> str:
    match found:
        case ast.Call(name=name, arguments=arguments) if name in _INFIX:
            return f"({f' {name} '.join(map(expression, arguments))})"
        case ast.Call(name=name, arguments=(argument,)) if name in _PREFIXED:
            return f"{_PREFIXED[name]}({expression(argument)})"
        case ast.Call(name="IN" | "NOT IN" as name, arguments=(first, *rest)):
            return f"({expression(first)} {name} ({', '.join(map(expression, rest))}))"
        case ast.Call(name=name, arguments=arguments):
            return f"{name}({', '.join(map(expression, arguments))})"
        case ast.FunctionCall(function=function, arguments=arguments, distinct=distinct):
            inner = ", ".join(map(expression, arguments))
            return f"{term(function)}({'DISTINCT ' if distinct else ''}{inner})"
        case ast.Exists(pattern=inner, negated=negated):
            return f"{'NOT ' if negated else ''}EXISTS {group(inner)}"
        case ast.Aggregate(name=name, argument=argument, distinct=distinct, separator=separator):
            inner = "*" if argument is None else expression(argument)
            separated = "" if separator is None else f'; SEPARATOR = "{separator.translate(_ESCAPES)}"'
            return f"{name}({'DISTINCT ' if distinct else ''}{inner}{separated})"
        case _:
            return term(found)
