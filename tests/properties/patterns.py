"""Random graph patterns: the data and a place come in, the text of a group and its scope go out.

What pyoxigraph answers otherwise than the recommendation is left out here, each with its reason:

- `GRAPH ?g` around anything whose solutions do not all come from triples (VALUES, BIND, sub-selects,
  MINUS): it passes ?g down into the pattern instead of joining with it (W3C tests negation/graph-minus,
  bindings/graph, aggregates/agg-empty-group-count-graph, which it fails);
- `|` in a path: it drops duplicates, where section 18.2.2.4 makes a UNION. So it gets such a path as a
  UNION of paths without `|`, and the engine under test gets it as it is;
- negated sets, whose duplicates it drops or not as it happens to join: it gets triple patterns with a
  filter, and there are none inside other paths but `*`, `+` and `?`, where no duplicates count;
- a path that may have length zero with an end that is a term not in the graph (W3C tests
  property-path/zero_or_one_set_start and its like, which it fails);
- the start of such a path, which it takes for a resource, and so holds `?start != 5` for true where it is a
  literal: a pattern that matches nothing, in a UNION with the path, tells it that it may be any term.

Filters inside OPTIONAL, EXISTS, MINUS, UNION and sub-selects also speak of the variables around these. Once
they did so by chance, in 6 of 100 variables: a filter of OPTIONAL was about its own group, was moved there,
and was no condition of a join. So three thousand queries did not see that such a condition was printed as
`l.x = r.x AND p OR q`.

Inside EXISTS the recommendation puts the values of the row into the pattern before it is evaluated
(section 18.6), which has no agreed meaning for variables that the pattern itself defines. So there,
BIND, VALUES and paths of length zero keep away from the variables of the row, and there is no MINUS and
no sub-select.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from .data import DEFAULT, Data, Triple
from .expressions import Expressions, Scope
from .vocabulary import (
    EX,
    GRAPHS,
    HOLDERS,
    IRIS,
    LINKS,
    OBJECTS,
    PREDICATE_WEIGHTS,
    PREDICATES,
    VARIABLES,
    Chooser,
    Features,
    short,
)


@dataclass(frozen=True)
class Place:
    """Where a pattern stands: how deep it may still nest, in which graph, inside which EXISTS."""

    depth: int = 3
    graph: str | None = DEFAULT  # None: not known when the query is written
    under_variable: bool = False  # inside GRAPH ?g
    row: frozenset[str] | None = None  # the variables of the row around an EXISTS
    beside: tuple[str, ...] = ()  # those outside of the group that its filters speak of as well

    @property
    def deeper(self) -> Place:
        return replace(self, depth=self.depth - 1, beside=())

    def below(self, scope: Scope) -> Place:
        """Of a group whose filters mostly speak of the variables around it, too."""
        return replace(self.deeper, beside=tuple(scope))


@dataclass(frozen=True)
class Path:
    """A path as written, and the paths without `|` outside of `*`, `+`, `?` that it is the union of."""

    text: str
    options: tuple[str, ...]
    empty: bool = False  # may have length zero
    wide: bool = False  # may reach literals
    forward: tuple[str, ...] = ()  # of a negated set: the predicates it excludes
    backward: tuple[str, ...] = ()


def merge(scope: Scope, other: Scope) -> None:
    """Adds the variables of a pattern that is joined to those already there."""
    for name, certain in other.items():
        scope[name] = scope.get(name, False) or certain


class Patterns:
    """Writes groups.

    `witness` is a term of the data for each variable that was written: a triple pattern mostly follows a
    triple that agrees with it, so that queries have answers. `labels` numbers the blank nodes, which
    must differ between blocks.
    """

    def __init__(self, choose: Chooser, features: Features, data: Data) -> None:
        self.choose = choose
        self.features = features
        self.data = data
        self.labels = 0
        self.witness: dict[str, str] = {}
        self.paths: list[tuple[str, str]] = []

    def spell(self, text: str, reference: bool) -> str:
        """The text with its path patterns filled in, as written or for pyoxigraph."""
        return PLACEHOLDER.sub(lambda found: self.paths[int(found[1])][reference], text)

    # --- groups ----------------------------------------------------------------------------------

    def group(self, place: Place) -> tuple[str, Scope]:
        """A group in braces and the variables that are in scope outside of it."""
        if place.depth > 0 and place.row is None and self.choose.chance(40):
            return self.about_one(place)
        scope: Scope = {}
        elements: list[str] = []
        for index in range(self.choose.weighted({1: 6, 2: 6, 3: 3, 4: 1})):
            element = self.element(place, scope, first=index == 0)
            if element:
                elements.append(element)
        for _ in range(self.choose.weighted({0: 5, 1: 5, 2: 1} if place.beside else {0: 15, 1: 5, 2: 1})):
            elements.insert(self.choose.number(0, len(elements)), f"FILTER ({self.condition(place, scope)})")
        return "{ " + " ".join(elements) + " }", scope

    def about_one(self, place: Place) -> tuple[str, Scope]:
        """A few triple patterns and one operator, whose group is about the same node and has a condition on
        both sides. The more there is in a query, the less each part of it matters to the answer."""
        scope: Scope = {}
        subject = self.subject(place, scope)
        if subject[0] in "[_":  # no blank node stands in two groups
            subject = self.variable(["node"], scope)
        before = " ".join(self.triple(place, scope, subject) for _ in range(self.choose.number(1, 2)))
        inner: Scope = {subject[1:]: True} if subject[0] == "?" else {}
        patterns = " ".join(self.triple(place, inner, subject) for _ in range(self.choose.number(1, 2)))
        below = place.below(scope)
        forms = [*["OPTIONAL"] * 4, "FILTER EXISTS", "FILTER NOT EXISTS", "UNION"]
        if not place.under_variable:
            forms += ["MINUS", "SELECT"]
        form = self.choose.pick(forms)
        if form.endswith("EXISTS"):
            below = replace(below, row=frozenset(scope))
        group = f"{{ {patterns} FILTER ({self.condition(below, inner)}) }}"
        match form:
            case "OPTIONAL":
                scope = {**dict.fromkeys(inner, False), **scope}
                after = f"OPTIONAL {group}"
            case "UNION":
                branches = [group, "{ " + self.triple(place, other := {}, subject) + " }"]
                merge(scope, {name: name in inner and name in other for name in {**inner, **other}})
                after = " UNION ".join(branches)
            case "SELECT":
                merge(scope, inner)
                after = f"{{ SELECT * WHERE {group} }}"
            case _:
                after = f"{form} {group}"
        return f"{{ {before} {after} }}", scope

    def condition(self, place: Place, scope: Scope) -> str:
        """Of a filter. Where it stands in an OPTIONAL or EXISTS, it sees what is around that; elsewhere such
        variables are unbound, and a condition about them is an error or not."""
        outside: Scope = {name: False for name in place.beside if name not in scope}
        write = self.expressions(place)
        if outside and scope and self.choose.chance(80):
            return write.about_both(outside, scope)
        return write.boolean({**outside, **scope})

    def expressions(self, place: Place) -> Expressions:
        def exists(scope: Scope) -> str:
            row = frozenset(scope) | (place.row or frozenset())
            return self.group(replace(place.below(scope), row=row))[0]

        return Expressions(self.choose, self.features, exists if place.depth > 0 else None)

    def expressions_without_exists(self) -> Expressions:
        return Expressions(self.choose, self.features)

    def element(self, place: Place, scope: Scope, first: bool) -> str:
        """One element of a group; `scope` is that of the group so far, and grows."""
        weights = {"triples": 24 if first else 8}
        if place.depth > 0:
            weights |= {"optional": 2 if first else 8, "union": 4, "nested": 2, "graph": 3}
            if place.row is None and not place.under_variable:
                weights |= {"minus": 1 if first else 4, "select": 3}
        if not place.under_variable:
            weights |= {"bind": 1 if first else 4, "values": 2}
        if place.graph != DEFAULT or place.under_variable or len(self.data.triples) == 1:
            weights.pop("graph", None)
        match self.choose.weighted(weights):
            case "triples":
                return self.triples(place, scope)
            case "optional":
                text, inner = self.group(place.below(scope))
                for name in inner:
                    scope.setdefault(name, False)
                return f"OPTIONAL {text}"
            case "union":
                return self.union(place, scope)
            case "nested":
                text, inner = self.group(self.perhaps_below(place, scope))
                merge(scope, inner)
                return text
            case "graph":
                return self.graph(place, scope)
            case "minus":
                return f"MINUS {self.group(self.perhaps_below(place, scope))[0]}"
            case "select":
                return self.sub_select(place, scope)
            case "bind":
                return self.bind(place, scope)
        return self.values(place, scope)

    def perhaps_below(self, place: Place, scope: Scope) -> Place:
        """Of a group whose filters do not see the variables around it, but may speak of them."""
        return place.below(scope) if self.choose.chance(40) else place.deeper

    def union(self, place: Place, scope: Scope) -> str:
        inside = self.perhaps_below(place, scope)
        options = [self.group(inside) for _ in range(self.choose.weighted({2: 4, 3: 1}))]
        names = dict.fromkeys(name for _, inner in options for name in inner)
        merge(scope, {name: all(inner.get(name, False) for _, inner in options) for name in names})
        return " UNION ".join(text for text, _ in options)

    def graph(self, place: Place, scope: Scope) -> str:
        if self.choose.chance(50):
            known = [name for name in GRAPHS if name in self.data.triples]
            name = self.choose.pick(known if known and self.choose.chance(90) else GRAPHS)
            graph = name if place.graph is not None else None
            text, inner = self.group(replace(place.deeper, graph=graph))
            merge(scope, inner)
            return f"GRAPH {short(name)} {text}"
        variable = self.choose.pick(VARIABLES["graph"])
        text, inner = self.group(replace(place.deeper, graph=None, under_variable=True))
        merge(scope, {**inner, variable: True})
        return f"GRAPH ?{variable} {text}"

    def free(self, kinds: list[str], place: Place, scope: Scope) -> list[str]:
        """Names that a BIND, a VALUES or an AS may define here."""
        taken = set(scope) | (place.row or set())
        return [name for kind in kinds for name in VARIABLES[kind] if name not in taken]

    def bind(self, place: Place, scope: Scope) -> str:
        definition = self.definition(place, scope, scope)
        if definition is None:
            return ""
        expression, name = definition
        scope[name] = False
        return f"BIND ({expression} AS ?{name})"

    def definition(self, place: Place, scope: Scope, taken: Scope) -> tuple[str, str] | None:
        """An expression and a free name of its kind."""
        kind = self.choose.weighted({"calc": 4, "text": 3, "bool": 2, "node": 2})
        names = self.free([kind], place, taken)
        if not names:
            return None
        write = self.expressions(place)
        match kind:
            case "calc":
                text = write.number(scope)
            case "text":
                text = write.text(scope)
            case "bool":
                text = write.boolean(scope)
            case _:
                text = write.node(scope)
        return text, self.choose.pick(names)

    def values(self, place: Place, scope: Scope) -> str:
        kinds = ["node", "int", "str", "text", "num"]
        names = [
            name for kind in kinds for name in VARIABLES[kind] if place.row is None or name not in place.row
        ]
        if not names:
            return ""
        chosen = list(dict.fromkeys(self.choose.pick(names) for _ in range(self.choose.number(1, 2))))
        text, certain = self.data_block(chosen)
        merge(scope, certain)
        return f"VALUES {text}"

    def data_block(self, names: list[str]) -> tuple[str, Scope]:
        """The variables and rows of a VALUES."""
        pools = {name: [short(term) for term in VALUE_POOLS[name]] for name in names}
        rows = [
            ["UNDEF" if self.choose.chance(15) else self.choose.pick(pools[name]) for name in names]
            for _ in range(self.choose.weighted({1: 3, 2: 5, 3: 2, 0: 1}))
        ]
        certain = {name: all(row[index] != "UNDEF" for row in rows) for index, name in enumerate(names)}
        if len(names) == 1 and self.choose.chance(50):
            return f"?{names[0]} {{ {' '.join(row[0] for row in rows)} }}", certain
        head = " ".join(f"?{name}" for name in names)
        body = " ".join(f"({' '.join(row)})" for row in rows)
        return f"({head}) {{ {body} }}", certain

    # --- sub-selects -----------------------------------------------------------------------------

    def sub_select(self, place: Place, scope: Scope) -> str:
        from .selects import Selects

        select = Selects(self).select(self.perhaps_below(place, scope))
        merge(scope, select.scope)
        return "{ " + select.text + " }"

    # --- triples and paths -----------------------------------------------------------------------

    def triples(self, place: Place, scope: Scope) -> str:
        """A block of triple patterns that share variables with each other and with the group so far."""
        lines: list[str] = []
        paths: list[str] = []  # at the end: as a UNION they would part the block, and its blank nodes
        subject = self.subject(place, scope)
        for _ in range(self.choose.weighted({1: 4, 2: 5, 3: 2})):
            if lines and self.choose.chance(40):
                subject = self.subject(place, scope)
            if self.choose.chance(18):
                paths.append(self.path_pattern(place, scope))
            else:
                lines.append(self.triple(place, scope, subject))
        return " ".join(lines + paths)

    def subject(self, place: Place, scope: Scope) -> str:
        match self.choose.weighted({"variable": 16, "constant": 2, "blank": 1}):
            case "variable":
                subjects = {triple[0] for triple in self.triples_of(place)}
                names = VARIABLES["node"]
                fitting = [name for name in names if self.witness.get(name) in (None, *subjects)]
                known = [name for name in fitting if name in scope]
                name = self.choose.pick(known if known and self.choose.chance(60) else fitting or names)
                scope[name] = True
                return f"?{name}"
            case "constant":
                return self.constant(place, IRIS)
        self.labels += 1
        return self.choose.pick(["[]", f"_:b{self.labels}"])

    def variable(self, kinds: list[str], scope: Scope, but: Collection[str] = ()) -> str:
        names = [name for kind in kinds for name in VARIABLES[kind] if f"?{name}" not in but]
        known = [name for name in names if name in scope]
        name = self.choose.pick(known if known and self.choose.chance(45) else names)
        scope[name] = True
        return f"?{name}"

    def constant(self, place: Place, otherwise: list[str]) -> str:
        """Mostly a resource that is in the graph."""
        found = self.nodes(place)
        if found and self.choose.chance(80):
            return self.choose.pick(found)
        return short(self.choose.pick(otherwise))

    def nodes(self, place: Place) -> list[str]:
        known = place.graph is not None and place.graph in self.data.triples
        return self.data.nodes(place.graph) if known else []

    def triple(self, place: Place, scope: Scope, subject: str) -> str:
        followed = self.follow(place, subject) if self.choose.chance(93) else None
        if followed is None:
            predicate = self.choose.weighted(PREDICATE_WEIGHTS)
            object = self.choose.pick([term for term in OBJECTS[PREDICATES[predicate]] if term[0] != "_"])
        else:
            predicate, object = followed
        if self.choose.chance(8):
            name = self.variable(["predicate"], scope)
            return f"{subject} {name} {self.object(scope, ['any'], object)} ."
        kind = PREDICATES[predicate]
        if self.choose.chance(10) and object[0] != "_":
            return f"{subject} {predicate} {short(object)} ."
        if kind == "node" and self.choose.chance(5):
            return f"{subject} {predicate} [ {self.choose.pick(LINKS)} {self.variable(['node'], scope)} ] ."
        holders = HOLDERS[kind]
        holder = self.choose.pick([holders[0], holders[0], holders[0], *holders])
        return f"{subject} {predicate} {self.object(scope, [holder], object)} ."

    def triples_of(self, place: Place) -> list[Triple]:
        graphs = [place.graph] if place.graph is not None else GRAPHS
        return [triple for graph in graphs for triple in self.data.triples.get(graph, [])]

    def follow(self, place: Place, subject: str) -> tuple[str, str] | None:
        """Predicate and object of a triple of the graph that agrees with the subject's witness."""
        triples = self.triples_of(place)
        if subject[0] == "?":
            wanted = self.witness.get(subject[1:])
        else:
            wanted = f"<{EX}{subject[1:]}>" if subject[0] == ":" else None
        found = [triple for triple in triples if wanted in (None, triple[0])]
        if not found:
            return None
        chosen = self.choose.pick(found)
        if subject[0] == "?":
            self.witness[subject[1:]] = chosen[0]
        return chosen[1], chosen[2]

    def object(self, scope: Scope, kinds: list[str], term: str) -> str:
        """A variable that the term of the data can witness, or any of the right kind."""
        names = [name for kind in kinds for name in VARIABLES[kind]]
        fitting = [name for name in names if self.witness.get(name, term) == term]
        known = [name for name in fitting if name in scope]
        if not fitting and term[0] != "_":
            return short(term)
        if not fitting or self.choose.chance(3):
            return self.variable(kinds, scope)
        name = self.choose.pick(known if known and self.choose.chance(60) else fitting)
        self.witness[name] = term
        scope[name] = True
        return f"?{name}"

    def path_pattern(self, place: Place, scope: Scope) -> str:
        path = self.path(2, "open" if place.under_variable else "top")
        kinds = ["any"] if path.empty or path.wide else ["node"]
        if path.empty and place.row is not None:
            names = [name for name in VARIABLES["any"] if name not in place.row]
            if not names:
                return ""
            ends = [names[0], self.choose.pick(names[::-1])]
            scope.update(dict.fromkeys(ends, True))
            return self.keep(f"?{ends[0]}", path, f"?{ends[1]}")
        ends = []
        for _ in range(2):
            found = self.nodes(place) if path.options or not ends else []
            if found and self.choose.chance(15):
                ends.append(self.choose.pick(found))
            else:
                ends.append(self.variable(kinds, scope, () if self.choose.chance(10) else ends))
        return self.keep(ends[0], path, ends[1])

    def keep(self, subject: str, path: Path, object: str) -> str:
        """A place holder for a path pattern that has two spellings."""
        parts = [f"{subject} {option} {object} ." for option in path.options]
        parts += [self.unlike(subject, predicates, object) for predicates in [path.forward] if predicates]
        parts += [self.unlike(object, predicates, subject) for predicates in [path.backward] if predicates]
        if path.empty and subject[0] == "?":
            parts.append(f"[] :none {subject} .")
        union = " UNION ".join(f"{{ {part} }}" for part in parts)
        self.paths.append((f"{subject} {path.text} {object} .", union))
        return f"\0{len(self.paths) - 1}\0"

    def unlike(self, subject: str, predicates: tuple[str, ...], object: str) -> str:
        """Any one step but these, with the variable for it hidden in a sub-select."""
        step = f"?step{len(self.paths)}"
        names = " ".join(dict.fromkeys(end for end in (subject, object) if end[0] == "?"))
        members = ", ".join("rdf:type" if name == "a" else name for name in predicates)
        where = f"{{ {subject} {step} {object} FILTER ({step} NOT IN ({members})) }}"
        return f"SELECT {names} {where}"

    def path(self, depth: int, place: str = "open") -> Path:
        """A path; `place` is `top` for a whole one, `repeated` inside `*`, `+`, `?`, else `open`."""
        form = self.choose.weighted(PATH_FORMS) if depth > 0 else "link"
        if form == "not" and place != "open":
            return self.negated_set(place)
        if form in ("link", "not"):
            link = self.choose.pick(LINKS)
            return Path(link, (link,))
        inner = self.path(depth - 1, "repeated" if form in "*+?" or place == "repeated" else "open")
        match form:
            case "sequence":
                other = self.path(depth - 1, place if place == "repeated" else "open")
                options = tuple(f"({a}/{b})" for a in inner.options for b in other.options)
                text = f"({inner.text}/{other.text})"
                return Path(text, options, inner.empty or other.empty, inner.wide or other.wide)
            case "alternative":
                other = self.path(depth - 1, place if place == "repeated" else "open")
                options = inner.options + other.options
                text = f"({inner.text}|{other.text})"
                return Path(text, options, inner.empty or other.empty, inner.wide or other.wide)
            case "inverse":
                options = tuple(f"^({option})" for option in inner.options)
                return replace(inner, text=f"^({inner.text})", options=options)
        text = f"({inner.text}){form}"
        return Path(text, (text,), inner.empty or form != "+", inner.wide)

    def negated_set(self, place: str) -> Path:
        members = [
            self.choose.pick(["", "", "^"]) + self.choose.pick([*LINKS, "a", ":n"])
            for _ in range(self.choose.number(1, 3))
        ]
        text = f"!{members[0]}" if len(members) == 1 else f"!({'|'.join(members)})"
        if place == "repeated":
            return Path(text, (text,), wide=True)
        forward = tuple(member for member in members if member[0] != "^")
        backward = tuple(member[1:] for member in members if member[0] == "^")
        return Path(text, (), wide=True, forward=forward, backward=backward)


PLACEHOLDER = re.compile("\0(\\d+)\0")
PATH_FORMS = {
    "link": 3, "sequence": 4, "alternative": 3, "*": 4, "+": 4, "?": 3, "inverse": 3, "not": 2,
}  # fmt: skip
VALUE_POOLS = {
    name: [term for term in OBJECTS[kind] if not term.startswith("_:")]
    for kind in ("node", "int", "str", "text", "num")
    for name in VARIABLES[kind]
}
