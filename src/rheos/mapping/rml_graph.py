"""The graph of an RML mapping: Turtle comes in, triples maps go out, or an error that says what is wrong.

The vocabulary is RML-Core of the W3C community group (http://w3id.org/rml/). Terms for what a stream cannot
have (graphs, joins), and terms that are not in the core, are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyoxigraph as ox

from rheos.errors import LoadError
from rheos.mapping.jsonpath import JsonPath, json_path
from rheos.store.lines import reason_of
from rheos.terms import RDF

RML = "http://w3id.org/rml/"
OLD = ("http://semweb.mmlab.be/ns/rml#", "http://www.w3.org/ns/r2rml#")
TYPE = ox.NamedNode(f"{RDF}type")

Subject = ox.NamedNode | ox.BlankNode
Object = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Part = str | JsonPath  # a part of a template: a text, or a reference
_TERM_TYPES = ("IRI", "URI", "BlankNode", "Literal")
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{1,8})*|[a-zA-Z]{4,8}|[xi](?:-[a-zA-Z0-9]{1,8})+")


@dataclass(frozen=True, slots=True)
class TermMap:
    """Describes how to make a term: a constant, the parts of a template, or a reference, which is the only
    part. Without any of these, it makes a new blank node."""

    constant: ox.NamedNode | ox.Literal | ox.BlankNode | None = None
    parts: tuple[Part, ...] | None = None
    is_template: bool = False
    term_type: str = "IRI"
    datatype: TermMap | None = None
    language: TermMap | None = None

    @property
    def references(self) -> list[JsonPath]:
        inner = [item for item in (self.datatype, self.language) if item is not None]
        own = [part for part in self.parts or () if isinstance(part, JsonPath)]
        return own + [reference for item in inner for reference in item.references]


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """The triples for every item that an iterator finds. `base`, if there is one, stands before relative
    IRIs. `source` is the file whose records are mapped, if the mapping reads several files."""

    name: str
    iterator: JsonPath | None
    formulation: str
    triples: tuple[tuple[TermMap, TermMap, TermMap], ...]
    base: str | None = None
    source: str | None = None


def read_rml(text: str, name: str) -> list[TriplesMap]:
    """The triples maps of a mapping."""
    try:
        quads = list(ox.parse(text, ox.RdfFormat.TURTLE, base_iri="http://localhost/"))
    except SyntaxError as error:
        raise LoadError(reason_of(error), name, error.lineno) from None
    used = {quad.predicate.value for quad in quads}
    old = next((space for space in OLD if any(item.startswith(space) for item in used)), None)
    if old is not None:
        raise LoadError(f"the vocabulary {old} is not understood: RML is that of {RML}", name)
    return _Graph(quads, name).triples_maps()


class _Graph:
    """The triples of a mapping by their subjects."""

    def __init__(self, quads: Iterable[ox.Quad], name: str) -> None:
        self._name = name
        self._about: dict[Subject, dict[str, list[Object]]] = {}
        for quad in quads:
            assert isinstance(quad.subject, Subject)
            found = self._about.setdefault(quad.subject, {})
            found.setdefault(quad.predicate.value, []).append(quad.object)

    def triples_maps(self) -> list[TriplesMap]:
        found = [node for node, about in self._about.items() if f"{RML}logicalSource" in about]
        typed = [node for node in self._about if ox.NamedNode(f"{RML}TriplesMap") in self._types(node)]
        for node in typed:
            if node not in found:
                raise self._error(node, "a triples map has a rml:logicalSource")
        if not found:
            raise LoadError("there is no triples map in it", self._name)
        sources = {node: self._source(self._one(node, "logicalSource")) for node in found}
        several = len(set(sources.values())) > 1
        made = [self._triples_map(node) for node in found]
        if not several:
            return made
        return [replace(item, source=sources[node]) for node, item in zip(found, made, strict=True)]

    def _triples_map(self, node: Subject) -> TriplesMap:
        self._allow(node, "logicalSource", "subjectMap", "subject", "predicateObjectMap", "baseIRI")
        iterator, formulation = self._logical_source(self._one(node, "logicalSource"))
        subjects = self._maps(node, "subject", formulation)
        if len(subjects) != 1:
            raise self._error(node, "a triples map has exactly one rml:subjectMap")
        [subject] = subjects
        self._check_subject(node, subject)
        triples = [(subject, _of(TYPE), _of(item)) for item in self._classes(node)]
        for inner in self._get(node, "predicateObjectMap"):
            triples += self._predicate_objects(self._node(inner, node), subject, formulation, node)
        bases = self._get(node, "baseIRI")
        base = bases[0].value if bases and isinstance(bases[0], ox.NamedNode | ox.Literal) else None
        return TriplesMap(_shown(node), iterator, formulation, tuple(triples), base)

    def _check_subject(self, node: Subject, subject: TermMap) -> None:
        if subject.term_type == "Literal" or isinstance(subject.constant, ox.Literal):
            raise self._error(node, "a subject cannot be a literal")

    def _classes(self, node: Subject) -> list[Object]:
        maps = [self._node(item, node) for item in self._get(node, "subjectMap")]
        return [item for inner in maps for item in self._get(inner, "class")]

    def _predicate_objects(
        self, node: Subject, subject: TermMap, formulation: str, owner: Subject
    ) -> list[tuple[TermMap, TermMap, TermMap]]:
        self._allow(node, "predicate", "predicateMap", "object", "objectMap", "graph", "graphMap")
        self._no_graph(node)
        predicates = self._maps(node, "predicate", formulation)
        objects = self._maps(node, "object", formulation, owner)
        if not predicates or not objects:
            raise self._error(node, "a predicate-object map has a predicate and an object")
        for predicate in predicates:
            if predicate.term_type not in ("IRI", "URI") or not _names(predicate.constant):
                raise self._error(node, "a predicate is an IRI")
        return [(subject, predicate, item) for predicate in predicates for item in objects]

    # --- term maps -----------------------------------------------------------------------------------

    def _maps(
        self, node: Subject, kind: str, formulation: str, owner: Subject | None = None
    ) -> list[TermMap]:
        """The term maps of a kind, also those from its shortcut for constants."""
        found = [_of(item) for item in self._get(node, kind)]
        for item in self._get(node, f"{kind}Map"):
            inner = self._node(item, node)
            if self._get(inner, "parentTriplesMap"):
                found.append(self._parent_subject(inner, owner))
            else:
                found.append(self._term_map(inner, kind, formulation))
        return found

    def _parent_subject(self, node: Subject, owner: Subject | None) -> TermMap:
        """The subject of another triples map about the same items."""
        self._allow(node, "parentTriplesMap", "joinCondition")
        if self._get(node, "joinCondition"):
            raise self._error(node, "rml:joinCondition is refused: a record is mapped for itself")
        parent = self._node(self._one(node, "parentTriplesMap"), node)
        if owner is not None and self._items_of(parent) != self._items_of(owner):
            raise self._error(node, "rml:parentTriplesMap of other items is refused: it would be a join")
        _, formulation = self._logical_source(self._one(parent, "logicalSource"))
        subjects = self._maps(parent, "subject", formulation)
        if len(subjects) != 1:
            raise self._error(parent, "a triples map has exactly one rml:subjectMap")
        return subjects[0]

    def _term_map(self, node: Subject, kind: str, formulation: str) -> TermMap:
        allowed = {
            "subject": ("class", "graph", "graphMap"),
            "object": ("datatype", "datatypeMap", "language", "languageMap"),
        }
        self._allow(node, "constant", "template", "reference", "termType", *allowed.get(kind, ()))
        self._no_graph(node)
        given = [name for name in ("constant", "template", "reference") if self._get(node, name)]
        if len(given) > 1:
            raise self._error(node, f"a term map has one of {', '.join(f'rml:{name}' for name in given)}")
        datatypes, languages = (self._maps(node, name, formulation) for name in ("datatype", "language"))
        if len(datatypes) + len(languages) > 1:
            raise self._error(node, "a literal has one datatype or one language")
        plain = "reference" in given or bool(datatypes or languages)
        term_type = self._term_type(node, "Literal" if plain and kind in _LITERALS else "IRI")
        if (datatypes or languages) and term_type != "Literal":
            raise self._error(node, "only a literal has a datatype or a language")
        for language in languages:
            if language.constant is not None and not _LANGUAGE.fullmatch(_value(language.constant)):
                raise self._error(node, f"{_value(language.constant)!r} is not a language tag")
        made = TermMap(
            term_type=term_type,
            datatype=datatypes[0] if datatypes else None,
            language=languages[0] if languages else None,
        )
        if not given:
            if term_type != "BlankNode":
                raise self._error(node, "a term map has a rml:template, a rml:reference or a rml:constant")
            return made
        value = self._one(node, given[0])
        if given == ["constant"]:
            if self._get(node, "termType") and not _fits(value, term_type):
                raise self._error(node, f"the constant {value} is no {term_type}")
            return replace(_of(value), datatype=made.datatype, language=made.language)
        text = _value(value)
        if given == ["reference"]:
            return replace(made, parts=(self._reference(text, formulation, node),))
        return replace(made, parts=self._template(text, formulation, node), is_template=True)

    def _term_type(self, node: Subject, default: str) -> str:
        given = self._get(node, "termType")
        if not given:
            return default
        name = _value(given[0]).removeprefix(RML)
        if name in ("UnsafeIRI", "UnsafeURI"):
            raise self._error(node, f"rml:{name} is refused: what it makes need not be an IRI")
        if name not in _TERM_TYPES:
            raise self._error(node, f"there is no term type {name}")
        return name

    def _reference(self, text: str, formulation: str, node: Subject) -> JsonPath:
        if formulation == "CSV":
            return JsonPath(text, text, False)
        try:
            return json_path(text)
        except ValueError as error:
            raise self._error(node, str(error)) from None

    def _template(self, text: str, formulation: str, node: Subject) -> tuple[Part, ...]:
        """The parts of a template. References stand in braces. A backslash stands before a literal brace, and
        before a literal backslash."""
        parts: list[Part] = []
        current, inside = "", False
        marks = iter(text)
        for mark in marks:
            if mark == "\\":
                following = next(marks, "")
                if following not in ("{", "}", "\\"):
                    raise self._error(
                        node, f"in the template {text!r}, \\ is not before a brace or another \\"
                    )
                current += following
            elif mark == "{" and not inside:
                parts, current, inside = [*parts, current] if current else parts, "", True
            elif mark == "}" and inside:
                if not current:
                    raise self._error(node, f"the template {text!r} has an empty reference")
                parts, current, inside = [*parts, self._reference(current, formulation, node)], "", False
            elif mark in "{}":
                raise self._error(node, f"a brace too many in the template {text!r}")
            else:
                current += mark
        if inside:
            raise self._error(node, f"a brace is not closed in the template {text!r}")
        return tuple([*parts, current] if current or not parts else parts)

    # --- sources -------------------------------------------------------------------------------------

    def _logical_source(self, item: Object) -> tuple[JsonPath | None, str]:
        node = self._node(item, None)
        self._allow(node, "source", "iterator", "referenceFormulation")
        formulations = [_value(value).removeprefix(RML) for value in self._get(node, "referenceFormulation")]
        formulation = formulations[0] if formulations else "JSONPath"
        if formulation not in ("JSONPath", "CSV"):
            raise self._error(
                node, f"the reference formulation {formulation} is refused: JSONPath and CSV are read"
            )
        iterators = self._get(node, "iterator")
        if formulation == "CSV" or not iterators:
            return None, formulation
        try:
            return json_path(_value(iterators[0])), formulation
        except ValueError as error:
            raise self._error(node, str(error)) from None

    def _items_of(self, node: Subject) -> tuple[JsonPath | None, str]:
        source = self._one(node, "logicalSource")
        return self._logical_source(source)[0], self._source(source)

    def _source(self, item: Object) -> str:
        """The name of the file that a logical source reads, or another name that tells sources apart."""
        node = self._node(item, None)
        for value in self._get(node, "source"):
            if isinstance(value, ox.Literal):
                return value.value
            about = self._about.get(value, {}) if isinstance(value, Subject) else {}
            if about:
                self._allow(self._node(value, node), "root", "path")
            paths = about.get(f"{RML}path", [])
            return _value(paths[0]) if paths else _shown(value)
        return "no source"

    # --- the graph -----------------------------------------------------------------------------------

    def _no_graph(self, node: Subject) -> None:
        if self._get(node, "graphMap"):
            raise self._error(node, "rml:graphMap is refused: elements are in no graph")
        if any(_value(item) != f"{RML}defaultGraph" for item in self._get(node, "graph")):
            raise self._error(node, "rml:graph is refused: elements are in no graph")

    def _allow(self, node: Subject, *names: str) -> None:
        """Refuse properties of RML that are not understood here."""
        for property in self._about.get(node, {}):
            name = property.removeprefix(RML)
            if name != property and name not in names:
                raise self._error(node, f"rml:{name} is refused here: {', '.join(names)} are understood")

    def _get(self, node: Subject, name: str) -> list[Object]:
        return self._about.get(node, {}).get(RML + name, [])

    def _one(self, node: Subject, name: str) -> Object:
        found = self._get(node, name)
        if len(found) != 1:
            raise self._error(node, f"exactly one rml:{name} is expected, and there are {len(found)}")
        return found[0]

    def _node(self, item: Object, owner: Subject | None) -> Subject:
        if isinstance(item, ox.NamedNode | ox.BlankNode):
            return item
        raise self._error(owner or ox.BlankNode(), f"{item} is a literal, where a node is expected")

    def _types(self, node: Subject) -> list[Object]:
        return self._about[node].get(TYPE.value, [])

    def _error(self, node: Subject, reason: str) -> LoadError:
        where = f"{_shown(node)}: " if isinstance(node, ox.NamedNode) else ""
        return LoadError(f"{where}{reason}", self._name)


_LITERALS = ("object", "language")


def _of(item: Object) -> TermMap:
    """The term map of a constant."""
    assert isinstance(item, ox.NamedNode | ox.BlankNode | ox.Literal)
    kinds = {ox.NamedNode: "IRI", ox.BlankNode: "BlankNode", ox.Literal: "Literal"}
    return TermMap(item, term_type=kinds[type(item)])


def _names(constant: object) -> bool:
    return constant is None or isinstance(constant, ox.NamedNode)


def _fits(value: Object, term_type: str) -> bool:
    wanted = {"Literal": ox.Literal, "BlankNode": ox.BlankNode}.get(term_type, ox.NamedNode)
    return isinstance(value, wanted)


def _value(item: Object) -> str:
    assert not isinstance(item, ox.Triple)
    return item.value


def _shown(item: Object) -> str:
    return f"<{item.value}>" if isinstance(item, ox.NamedNode) else "a source without a name"
