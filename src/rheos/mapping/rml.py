"""RML as rules: triples maps come in, rules over the items of their iterators go out.

Term maps become expressions of the algebra: a template is a CONCAT of encoded texts, a datatype STRDT, a
language STRLANG, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from rheos import iris, terms
from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import Extend, Node, Term, TriplePattern
from rheos.algebra.translate import is_absolute
from rheos.errors import LoadError
from rheos.mapping.jsonpath import JsonPath
from rheos.mapping.rml_graph import TermMap, TriplesMap, read_rml
from rheos.mapping.rules import ITEM, Items, Rule, record, rule
from rheos.terms import XSD, encode

Triple = tuple[TermMap, TermMap, TermMap]
_ABSOLUTE = r"^[A-Za-z][A-Za-z0-9+.-]*:"


def rml_rules(text: str, name: str, base: str) -> tuple[Rule, ...]:
    """The rules of a mapping. `base` stands before relative IRIs if a triples map has no base of its own."""
    found = enumerate(read_rml(text, name))
    return tuple(made for number, item in found for made in _rules(item, number, name, base))


def _rules(found: TriplesMap, number: int, name: str, base: str) -> Iterable[Rule]:
    """The rules of a triples map. Each triple with a reference to several values is a rule of its own: in a
    common rule, the other triples would be repeated for each value."""
    single = [triple for triple in found.triples if not any(item.many for item in _references(triple))]
    several = [[triple] for triple in found.triples if triple not in single]
    for triples in [single, *several]:
        if triples:
            yield _rule(found, number, triples, name, base)


def _references(triple: Triple) -> list[JsonPath]:
    return [reference for term in triple for reference in term.references]


def _rule(found: TriplesMap, number: int, triples: Sequence[Triple], name: str, stream: str) -> Rule:
    base = found.base or stream
    references = list(dict.fromkeys(item for triple in triples for item in _references(triple)))
    variables = {item: Variable(f"reference {at}") for at, item in enumerate(references)}
    builder = _Builder(variables, base, stream, f".{number}")
    try:
        template = [TriplePattern(builder.term(s), builder.term(p), builder.term(o)) for s, p, o in triples]
    except ValueError as error:
        raise LoadError(f"{found.name}: {error}", name) from None
    fields = [ITEM, *(variable.name for variable in builder.variables.values())]
    pattern: Node = record(fields)
    for expression, variable in builder.expressions.items():
        pattern = Extend(pattern, variable, expression)
    is_table = found.formulation == "CSV"
    items = Items(None if is_table else found.iterator, tuple(references), is_table, found.source)
    return rule(pattern, template, fields, [ITEM], items)


class _Builder:
    """Turns term maps into expressions, and gives each expression a variable."""

    def __init__(self, variables: dict[JsonPath, Variable], base: str, stream: str, new: str) -> None:
        self.variables = variables
        self.expressions: dict[Expression, Variable] = {}
        self._base = base
        self._stream = Constant(terms.literal(stream))
        self._new = Variable(new)  # a blank node that is a new one for each item

    def term(self, term: TermMap) -> Term:
        if term.constant is not None and not isinstance(term.constant, ox.BlankNode):
            return Constant(encode(term.constant))
        if term.constant is None and term.parts is None:
            return self._new
        expression = self.expression(term)
        number = len(self.expressions)
        return self.expressions.setdefault(expression, Variable(f"term {number}"))

    def expression(self, term: TermMap) -> Expression:
        if term.constant is not None:
            return self._blank(Constant(terms.literal(term.constant.value)))
        match term.term_type:
            case "Literal":
                return self._literal(term)
            case "BlankNode":
                return self._blank(self._text(term))
        return self._iri(self._text(term, "ENCODE_FOR_URI" if term.term_type == "URI" else "ENCODE_FOR_IRI"))

    def _literal(self, term: TermMap) -> Expression:
        if term.datatype is not None:
            datatype = term.datatype
            return Call("STRDT", (self._text(term), self._constant_or(datatype, self._iri)))
        if term.language is not None:
            return Call("STRLANG", (self._text(term), self._constant_or(term.language)))
        if term.is_template:
            return self._text(term)
        [reference] = term.references
        value = self.variables[reference]
        # In RML, a JSON number with a fraction is an xsd:double.
        decimal = Call("=", (Call("DATATYPE", (value,)), Constant(f"<{XSD}decimal>")))
        return Call("IF", (decimal, Call(f"{XSD}double", (value,)), value))

    def _constant_or(self, term: TermMap, form: object = None) -> Expression:
        if isinstance(term.constant, ox.NamedNode | ox.Literal):
            found = encode(term.constant)
            return Constant(found)
        if callable(form):
            made: Expression = form(self._text(term, "ENCODE_FOR_IRI"))
            return made
        return self._text(term)

    def _text(self, term: TermMap, encoding: str | None = None) -> Expression:
        """The text of a template or a reference; only the references of templates are encoded."""
        parts: list[Expression] = []
        for part in term.parts or ():
            if isinstance(part, str):
                parts.append(Constant(terms.literal(part)))
                continue
            text: Expression = Call("STR", (self.variables[part],))
            parts.append(Call(encoding, (text,)) if encoding and term.is_template else text)
        return parts[0] if len(parts) == 1 else Call("CONCAT", tuple(parts))

    def _iri(self, text: Expression) -> Expression:
        """An IRI. The base stands before a relative one, as RML says."""
        if is_absolute(text):
            return Call("IRI", (text,))
        base = Constant(terms.literal(self._base))
        nothing = Constant(terms.literal(iris.DEFAULT_BASE))
        absolute = Call("REGEX", (text, Constant(terms.literal(_ABSOLUTE))))
        whole = Call("IF", (absolute, text, Call("CONCAT", (base, text))))
        return Call("IRI", (whole, nothing))

    def _blank(self, label: Expression) -> Expression:
        """A blank node with a label. It is the same node in all records of the stream."""
        return Call("BNODE", (label, self._stream))
