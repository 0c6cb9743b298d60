"""Random streams and queries of CQELS-QL to compare with the reference: a seed comes in, a case goes out.

Streams have equal times, gaps and repeated triples; a query has several windows of all kinds, on one stream
or on up to three. Half of the queries only join, filter and unite; the others have one or two of the things
that make an answer shrink.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.continuous.arrival_algebra import Quad, Triple
from tests.continuous.arrival_query import (
    Aggregate,
    All,
    Bind,
    Element,
    Exists,
    Filter,
    Group,
    Minus,
    Node,
    Now,
    Optional,
    Pattern,
    Query,
    Range,
    Static,
    Stream,
    Triples,
    Union,
    Values,
    Window,
    clauses,
)
from tests.continuous.arrival_reference import Case, Timed, answers
from tests.continuous.conditions import (
    INTEGER_VARIABLES,
    INTEGERS,
    MIXED,
    MIXED_VARIABLES,
    NODES,
    Conditions,
    iri,
)
from tests.continuous.expressions import SECOND, Arithmetic, Expression, integer

STREAMS = [iri("one"), iri("two"), iri("three")]
GRAPHS = [iri("g1"), iri("g2")]
# Streams have P, Q, V and U, static data S, W and P; V and W are integers, U are terms of all kinds.
P, Q, V, U, S, W = map(iri, "pqvusw")

NODE_VARIABLES = ["?a", "?b", "?c", "?d", "?e"]

# What static data is asked for; the capital letters stand for variables.
STATIC = ["A :s B .", "A :s B .", "A :w I .", "A :s/:w I .", "A :s+ B .", "{ A :s B } UNION { B :p A }"]
IN_GRAPHS = ["GRAPH :g1 { A :s B }", "GRAPH :g2 { A :w I }", "GRAPH ?g { A :s B }", "GRAPH ?g { A :w I }"]
SHRINKING = [
    "{ A :s B OPTIONAL { B :w ?k } }",
    "{ A :s B FILTER NOT EXISTS { B :w ?k } }",
    "{ A :s B MINUS { A :w ?k } }",
    "{ SELECT DISTINCT A { A :s ?k } }",
    "{ SELECT A (COUNT(*) AS ?k) { A :s ?x } GROUP BY A }",
]

# What a query has at least; growing ones only join, filter and unite, or bind.
KINDS = [
    "growing", "optional", "growing", "aggregate", "growing", "exists", "growing", "distinct", "growing",
    "minus", "growing", "sub-select", "growing", "aggregate", "growing", "static", "growing", "limit",
    "optional", "ask",
]  # fmt: skip


def case(seed: int, *, changes: bool = False) -> Case:
    """A query with its streams and static data; with `changes`, of data that changes once or twice.

    Every second query reports nothing at all, and shows little: of five, it is the first that does.
    """
    chance = random.Random(f"arrivals {seed}")
    for _ in range(5):
        found = drawn(chance, KINDS[seed % len(KINDS)], changes)
        if answers(found):
            break
    return found


def drawn(chance: random.Random, kind: str, changes: bool) -> Case:
    query = Maker(chance, kind).query()
    streams = {stream: elements(chance) for stream in dict.fromkeys(clause.iri for clause in clauses(query))}
    last = max(found[-1][3] for found in streams.values())
    moments = range(0, last + SECOND, SECOND // 4)
    chosen = sorted(chance.sample(moments, chance.choice([1, 2]))) if changes else []
    return Case(query, streams, static(chance), [(at, static(chance)) for at in chosen])


# --- data -------------------------------------------------------------------------------------------------


def elements(chance: random.Random) -> list[Timed]:
    found: list[Timed] = []
    time = chance.choice([0, 0, SECOND // 2, 2 * SECOND])
    for _ in range(chance.randrange(6, 22)):
        again = found and chance.random() < 0.2
        s, p, o = chance.choice(found)[:3] if again else triple(chance, [*[P] * 6, Q, Q, V, V, U])
        found.append((s, p, o, time))
        time += chance.choice(
            [0, 0, 0, SECOND // 2, SECOND // 2, SECOND, 2 * SECOND, 20 * SECOND * (chance.random() < 0.2)]
        )
    return found


def triple(chance: random.Random, predicates: Sequence[str]) -> Triple:
    predicate = chance.choice(predicates)
    objects = {V: INTEGERS, W: INTEGERS, U: MIXED}.get(predicate, NODES)
    return chance.choice(NODES), predicate, chance.choice(objects)


def static(chance: random.Random) -> list[Quad]:
    """Also triples that are in streams, where no pattern of a stream may find them."""
    found: dict[Quad, None] = {}
    for graph, most in (("", 20), (GRAPHS[0], 14), (GRAPHS[1], 14)):
        for _ in range(chance.randrange(most // 2, most)):
            found[(*triple(chance, [S, S, S, W, W, P]), graph)] = None
    return list(found)


# --- queries ----------------------------------------------------------------------------------------------


class Maker:
    """Makes one query of a kind. It has one slide, or now and then two."""

    def __init__(self, chance: random.Random, kind: str) -> None:
        self.chance = chance
        self.kind = kind
        self.conditions = Conditions(chance)
        slides = chance.sample([SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND // 2], 2)
        self.slides = slides if chance.random() < 0.15 else slides[:1]
        self.streams = chance.sample(STREAMS, chance.choice([1, 1, 2, 3]))
        self.next = 0
        self.used = ["?a"]

    def query(self) -> Query:
        inside: list[Element] = [self.stream() for _ in range(self.chance.choice([1, 1, 2, 2, 3]))]
        inside += [self.static() for _ in range(self.chance.choice([0, 1, 1, 2]))]
        self.chance.shuffle(inside)
        query = self.growing(inside) if self.kind == "growing" else self.shrinking(inside)
        if self.chance.random() < 0.85:
            return query
        default = (GRAPHS[0],) if self.chance.random() < 0.6 else ()
        named = self.chance.sample(GRAPHS, self.chance.choice([0, 1, 2] if default else [1, 2]))
        return replace(query, default=default, named=tuple(named))

    # --- the two kinds --------------------------------------------------------------------------------

    def growing(self, inside: list[Element]) -> Query:
        """Joins, and what keeps them growing."""
        if self.chance.random() < 0.25:
            outside = variables(Group(tuple(inside)))
            inside.append(Union((self.small_group(outside), self.small_group(outside, static=0.2))))
        if self.chance.random() < 0.15:
            inside.append(Values(self.node(), tuple(self.chance.sample(NODES, 2))))
        self.with_bind_and_filter(inside)
        where = Group(tuple(inside))
        if self.chance.random() < 0.2:
            return Query(where, template=self.template())
        select = self.selected(where) if self.chance.random() < 0.5 else ()
        return Query(where, select, order_by=select[: self.chance.randrange(2)])

    def shrinking(self, inside: list[Element]) -> Query:
        """One or two ways in which an answer can lose rows."""
        outside = variables(Group(tuple(inside)))
        ways: dict[str, Callable[[], Element]] = {
            "optional": lambda: Optional(self.small_group(outside, condition=0.7)),
            "minus": lambda: Minus(self.small_group(outside)),
            "exists": lambda: Filter(self.exists(outside)),
            "sub-select": lambda: self.sub_select(outside),
            "static": lambda: Static(self.filled(self.chance.choice(SHRINKING))),
        }
        forms = {"distinct": self.distinct, "aggregate": self.aggregate, "limit": self.limit, "ask": self.ask}
        chosen = [self.kind] if self.kind in ways else []
        if self.chance.random() < 0.3:
            chosen.append(self.chance.choice([name for name in ways if name != self.kind]))
        inside += [ways[name]() for name in chosen]
        if chosen and self.chance.random() < 0.2:
            inside.append(self.stream())  # after an OPTIONAL, the order counts
        self.with_bind_and_filter(inside)
        return forms.get(self.kind, self.plain)(Group(tuple(inside)))

    def plain(self, where: Group) -> Query:
        if self.chance.random() < 0.2:
            return Query(where, template=self.template())
        return Query(where, self.selected(where) if self.chance.random() < 0.3 else ())

    def distinct(self, where: Group) -> Query:
        return Query(where, self.selected(where), distinct=True)

    def limit(self, where: Group) -> Query:
        """By all its columns, so that what is left does not depend on chance."""
        select = self.selected(where)
        return Query(where, select, order_by=select, limit=self.chance.choice([1, 2, 3]))

    def ask(self, where: Group) -> Query:
        return Query(where, ask=True)

    def aggregate(self, where: Group) -> Query:
        found = variables(where)
        keys = tuple(self.chance.sample(found, min(len(found), self.chance.choice([0, 1, 1, 2]))))
        options = [Aggregate("COUNT", "*", "?n"), Aggregate("COUNT", self.chance.choice(found), "?n")]
        options.append(Aggregate("COUNT", self.chance.choice(found), "?n", distinct=True))
        for variable in always_integers(where):
            options += [Aggregate(name, variable, "?n") for name in ("SUM", "MIN", "MAX")]
        select: list[str | Aggregate] = [*keys, self.chance.choice(options)]
        if self.chance.random() < 0.3:
            select.append(Aggregate("COUNT", "*", "?o"))
        having = self.chance.choice([None, None, None, None, None, 2])
        return Query(where, tuple(select), group_by=keys, having=having)

    # --- parts ----------------------------------------------------------------------------------------

    def node(self) -> str:
        return self.chance.choice(self.used)

    def pair(self) -> list[str]:
        """Two variables, at least one of them from another pattern, and often one that is new."""
        one = self.node()
        others = [name for name in NODE_VARIABLES if name not in self.used]
        if not others or self.chance.random() < 0.4:
            others = [name for name in self.used if name != one] or others
        other = self.chance.choice(others)
        self.used = sorted({*self.used, other})
        return self.chance.sample([one, other], 2)

    def filled(self, text: str) -> str:
        a, b = self.pair()
        names = {"A": a, "B": b, "I": self.chance.choice(INTEGER_VARIABLES)}
        return re.sub(r"(?<![\w?:])[ABI]\b", lambda found: names[found[0]], text)

    def static(self) -> Static:
        return Static(self.filled(self.chance.choice(STATIC if self.chance.random() < 0.7 else IN_GRAPHS)))

    def stream(self) -> Stream:
        patterns = tuple(self.pattern() for _ in range(self.chance.choice([1, 1, 1, 2])))
        self.next += 1
        return Stream(self.streams[self.next % len(self.streams)], self.window(), patterns)

    def window(self) -> Window:
        kind = self.chance.random()
        if kind < 0.15:
            return Now()
        if kind < 0.3:
            return All()
        if kind < 0.5:
            return Triples(self.chance.choice([1, 2, 3, 5]))
        length = self.chance.choice([SECOND // 2, 2 * SECOND, 3 * SECOND, 5 * SECOND, 8 * SECOND, 8 * SECOND])
        return Range(length, self.chance.choice(self.slides) if kind < 0.7 else None)

    def pattern(self) -> Pattern:
        """With at least one variable."""
        (subject, object), predicate = self.pair(), self.chance.choice([*[P] * 6, Q, Q, V, V, U])
        if self.chance.random() < 0.05:
            return subject, "?r", "?z"
        if predicate == V:
            return (
                subject,
                predicate,
                self.chance.choice([*INTEGER_VARIABLES, *INTEGER_VARIABLES, INTEGERS[1]]),
            )
        if predicate == U:
            return subject, predicate, self.chance.choice([*MIXED_VARIABLES, *MIXED_VARIABLES, MIXED[0]])
        kind = self.chance.random()
        if kind < 0.1:
            return self.chance.choice(NODES), predicate, object
        if kind < 0.2:
            return subject, predicate, self.chance.choice([*NODES, subject])
        return subject, predicate, object

    def small_group(self, outside: Sequence[str], static: float = 0.4, condition: float = 0.3) -> Group:
        """One clause or one static part, and perhaps a filter, which also speaks of variables outside: in
        OPTIONAL and EXISTS it sees them."""
        inside: list[Element] = [self.static() if self.chance.random() < static else self.stream()]
        if self.chance.random() < condition:
            own = variables(Group(tuple(inside)))
            others = [name for name in outside if name not in own]
            inside.append(Filter(self.conditions.about_both(others, own)))
        return Group(tuple(inside))

    def exists(self, outside: Sequence[str]) -> Exists:
        group = self.small_group(outside, static=0.3, condition=0.5)
        return Exists(group, negated=self.chance.random() < 0.7)

    def sub_select(self, outside: Sequence[str]) -> Query:
        clause = self.stream()
        found = variables(clause)
        key = self.chance.choice(found)
        inside: list[Element] = [clause]
        if self.chance.random() < 0.4:
            inside.append(Filter(self.conditions.about_both(found, outside)))
        if self.chance.random() < 0.5:
            return Query(Group(tuple(inside)), (key,), distinct=True)
        return Query(Group(tuple(inside)), (key, Aggregate("COUNT", "*", "?m")), group_by=(key,))

    def template(self) -> tuple[Pattern, ...]:
        return tuple((self.node(), iri("made"), self.node()) for _ in range(self.chance.choice([1, 2])))

    def selected(self, where: Group) -> tuple[str, ...]:
        found = variables(where)
        return tuple(self.chance.sample(found, min(len(found), self.chance.choice([1, 2, 3]))))

    def with_bind_and_filter(self, inside: list[Element]) -> None:
        found = variables(Group(tuple(inside)))
        if self.chance.random() < 0.2:
            value: Expression = self.chance.choice(found)
            numbers = [name for name in found if name in INTEGER_VARIABLES]
            if numbers and self.chance.random() < 0.7:
                value = Arithmetic(self.chance.choice(numbers), "+", integer(1))
            inside.append(Bind(value, "?x"))
            found.append("?x")
        if self.chance.random() < 0.4:
            condition = Filter(self.conditions.about(found))
            inside.insert(self.chance.randrange(len(inside) + 1), condition)


# --- variables --------------------------------------------------------------------------------------------


def variables(node: Node) -> list[str]:
    """Those in scope: not the ones of MINUS and EXISTS, and of a sub-select only what it selects."""
    found: dict[str, None] = {}
    for part in visible(node):
        match part:
            case Stream(_, _, patterns):
                found.update((place, None) for pattern in patterns for place in pattern if place[0] == "?")
            case Static(text):
                # ?k and ?x are of no use outside: some texts do not show them.
                found.update((name, None) for name in re.findall(r"\?\w+", text) if name not in ("?k", "?x"))
            case Values(variable) | Bind(_, variable):
                found[variable] = None
            case Query():
                found.update((item if isinstance(item, str) else item.name, None) for item in part.select)
    return sorted(found)


def visible(node: Node) -> list[Node]:
    match node:
        case Group(inside):
            return [part for element in inside for part in visible(element)]
        case Union(branches):
            return [part for branch in branches for part in visible(branch)]
        case Optional(group):
            return visible(group)
        case Minus() | Filter():
            return []
    return [node]


def always_integers(where: Group) -> list[str]:
    """Variables that have an integer in every solution."""
    found = set()
    for element in where.elements:
        if isinstance(element, Stream):
            found |= {o for _, p, o in element.patterns if p == V}
        if isinstance(element, Static) and re.fullmatch(
            r"(GRAPH \S+ \{ )?\?\w :(s/:)?w \?\w( \}| \.)", element.text
        ):
            found |= set(INTEGER_VARIABLES) & set(re.findall(r"\?\w", element.text))
    return sorted(found & set(INTEGER_VARIABLES))
