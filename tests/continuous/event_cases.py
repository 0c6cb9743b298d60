"""Random streams and queries of EP-SPARQL to compare with the reference: a seed comes in, a case goes out.

Streams have instants and intervals, equal times, gaps and repeated triples; queries have all the operators,
nested and in chains, with filters on terms and intervals; some have rules, with recursion that comes to an
end, some a schema, some a policy of consumption.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_cases import Maker, P, Q, S, U, V, W, static, triple
from tests.continuous.arrival_query import Aggregate, Bind, Filter, Group, Optional, Pattern, Static, Values
from tests.continuous.conditions import (
    INTEGER_VARIABLES,
    INTEGERS,
    MIXED,
    MIXED_VARIABLES,
    NODES,
    Conditions,
    iri,
)
from tests.continuous.event_algebra import Event, TooLarge
from tests.continuous.event_entailment import DOMAIN, RANGE, SUB_CLASS, SUB_PROPERTY, TYPE
from tests.continuous.event_query import (
    ALLEN,
    DURATION,
    END,
    START,
    As,
    Chain,
    Element,
    Query,
    Run,
    Triples,
    duration_term,
    time_term,
    variables,
)
from tests.continuous.event_reference import Case, answers, is_timeless
from tests.continuous.expressions import SECOND, And, Arithmetic, Bound, Compare, Expression, Not, integer

NUMERIC = ("MIN", "MAX", "SUM", "AVG")
STREAMS = [iri("one"), iri("two")]
M, N = iri("m"), iri("n")  # what rules derive; N are integers where rules count
R = iri("r")  # of which P and Q are parts, if there is a schema
CLASSES = [iri(name) for name in ("top", "middle", "low", "other")]

# Only of background knowledge; the capital letters stand for variables.
STATIC = ["A :s+ B .", "A :s/:w I .", "A :s|:w B .", "GRAPH :g1 { A :s B }", "GRAPH ?g { A :w I }"]

KINDS = [
    "chain", "chain", "optional", "rules", "chain", "aggregate", "recent", "recursive", "chain", "optional",
    "chronological", "entailment", "nested", "construct", "nested", "recursive", "allen", "allen",
    "not", "not", "allen", "runs", "runs", "runs",
]  # fmt: skip

WITH_RULES = ("rules", "recursive", "construct")

OPERATORS = ["SEQ"] * 5 + ["EQUALS"] * 2 + ["OPTIONALSEQ"] * 2 + ["EQUALSOPTIONAL"] * 2 + ["UNION"]
# Hardly ever do two intervals meet by chance, so these have events that last, within a short time.
RELATIONS = [*ALLEN, *ALLEN, "SEQ", "UNION", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"]


def case(seed: int, *, timeless: bool = False) -> Case:
    """With `timeless`, one whose answers depend on when background knowledge finds an option; else none is.

    Of a dozen that would do, it is the first that reports anything.
    """
    chance = random.Random(f"events {seed}")
    kind = "timeless" if timeless else KINDS[seed % len(KINDS)]
    tried = 0
    while True:
        try:
            found = drawn(chance, kind)
            if any(is_timeless(found, number) for number in range(len(found.queries))) is timeless:
                tried += 1
                if tried == 12 or answers(found):
                    return found
        except TooLarge:
            pass


def plain_case(seed: int) -> Case:
    """A query of plain SPARQL, no background knowledge, and a stream in which everything happens at once."""
    chance = random.Random(f"plain {seed}")
    query = EventMaker(chance, "plain").query()
    happening = {(s, p, o) for s, p, o, *_ in events(chance, 20, "plain")}
    return Case([query], {STREAMS[0]: [(*found, SECOND, SECOND) for found in sorted(happening)]})


def drawn(chance: random.Random, kind: str) -> Case:
    maker = EventMaker(chance, kind)
    queries = maker.queries()
    most = 9 if kind in ("rules", "recursive") else 13
    streams = {stream: events(chance, most // len(maker.streams), kind) for stream in maker.streams}
    background = static(chance)
    if kind == "entailment":
        background = [quad for quad in background if not quad[3]] + schema(chance)
    return Case(queries, streams, background, kind == "entailment")


# --- data -------------------------------------------------------------------------------------------------


def events(chance: random.Random, most: int, kind: str) -> list[Event]:
    """In order of end."""
    found: list[Event] = []
    time = chance.choice([0, 0, SECOND // 2, 2 * SECOND])
    for _ in range(chance.randrange(most // 2, most + 1)):
        again = found and chance.random() < 0.15
        s, p, o = chance.choice(found)[:3] if again else triple(chance, [*[P] * 6, *[Q] * 4, V, V, U])
        s = NODES[0] if chance.random() < 0.4 else s  # one of them has more than its share
        if kind == "entailment" and chance.random() < 0.15:
            s, p, o = s, TYPE, chance.choice(CLASSES)
        lasting = [SECOND, 2 * SECOND, 3 * SECOND] * 2 if kind == "allen" else [0, 0, 0]
        length = chance.choice([0, *lasting, SECOND // 2, SECOND, 2 * SECOND])
        length = length if kind != "runs" or chance.random() < 0.3 else 0
        together = found and found[-1][4] == time and chance.random() < 0.6
        found.append((s, p, o, found[-1][3] if together else max(0, time - length), time))
        if kind == "allen":
            time += chance.choice([0, 0, SECOND, SECOND, SECOND // 2])
            continue
        time += chance.choice([0, 0, 0, SECOND // 2, SECOND // 2, SECOND, SECOND, 2 * SECOND, 10 * SECOND])
    return found


def schema(chance: random.Random) -> list[Quad]:
    top, middle, low, other = CLASSES
    always = [(P, SUB_PROPERTY, R), (middle, SUB_CLASS, top), (low, SUB_CLASS, middle)]
    sometimes = [
        (Q, SUB_PROPERTY, P), (S, SUB_PROPERTY, R), (R, DOMAIN, low), (Q, DOMAIN, other), (P, RANGE, middle),
        (V, RANGE, top), (other, SUB_CLASS, low), (NODES[0], TYPE, low), (NODES[1], TYPE, other),
    ]  # fmt: skip
    chosen = chance.sample(sometimes, chance.randrange(2, 6))
    return [(*made, "") for made in (*always, *chosen)]


# --- queries ----------------------------------------------------------------------------------------------


class EventConditions(Conditions):
    """Conditions of terms and, unless they are `plain`, as often of the interval."""

    def __init__(self, chance: random.Random, *, plain: bool) -> None:
        super().__init__(chance)
        self.plain = plain

    def test(self, found: Sequence[str]) -> Expression:
        if self.plain or self.chance.random() < 0.5:
            return super().test(found)
        micros = self.chance.choice([0, SECOND // 2, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND])
        kind = self.chance.random()
        if kind < 0.8:
            operator = self.chance.choice(["<", "<", "<=", "<=", ">", ">=", "=", "!="])
            return Compare(DURATION, operator, duration_term(micros))
        function = self.chance.choice([START, END])
        return Compare(function, self.chance.choice(["<", "<=", ">", ">="]), time_term(micros))


class EventMaker(Maker):
    """Makes the queries of one case. Patterns look for what is in `predicates`."""

    def __init__(self, chance: random.Random, kind: str) -> None:
        super().__init__(chance, kind)
        self.conditions = EventConditions(chance, plain=kind == "plain")
        self.streams = STREAMS[: chance.choice([1, 1, 2])]
        self.predicates = [*[P] * 8, *[Q] * 4, *[V] * 4, U, S, S, W, W]
        self.operators = {"plain": ["UNION"], "allen": RELATIONS}.get(kind, OPERATORS)
        self.named = 0

    def queries(self) -> list[Query]:
        match self.kind:
            case "rules":
                return [*self.rules(), self.query(derived=True)]
            case "recursive":
                return [*self.recursive(), self.query(derived=True)]
            case "construct":
                return [self.rule(self.where(2), M)]
            case "entailment":
                self.predicates += [R, R, R, TYPE, TYPE, TYPE]
        return [self.query()]

    def query(self, derived: bool = False) -> Query:
        self.used = ["?a"]
        if derived:
            self.predicates = [*self.predicates, *[M] * 8, *[N] * 4]
        where = self.top()
        named = self.kind != "plain" and self.chance.random() < 0.2
        streams = (self.chance.choice(self.streams),) if named else ()
        if self.kind == "aggregate":
            return self.aggregate_query(where, streams)
        policy = self.kind if self.kind in ("recent", "chronological") else "unrestricted"
        found = variables(where.elements)
        select: tuple[str | As, ...] = ()
        if self.chance.random() < 0.5:
            select = tuple(self.chance.sample(found, min(len(found), self.chance.choice([1, 2, 3]))))
        numbers = [name for name in found if name in INTEGER_VARIABLES]
        if select and numbers and self.chance.random() < 0.2:
            select += (As(Arithmetic(self.chance.choice(numbers), "+", integer(1)), self.fresh()),)
        return Query(where, select, streams=streams, consumption=policy)

    def aggregate_query(self, where: Group, streams: tuple[str, ...]) -> Query:
        found = variables(where.elements)
        keys = tuple(self.chance.sample(found, min(len(found), self.chance.choice([1, 1, 2]))))
        options = [Aggregate("COUNT", "*", "?n"), Aggregate("COUNT", self.chance.choice(found), "?n")]
        options.append(Aggregate("COUNT", self.chance.choice(found), "?n", distinct=True))
        for variable in sorted(certain(where) & set(INTEGER_VARIABLES)):
            options += [Aggregate(name, variable, "?n") for name in ("SUM", "AVG", "MIN", "MAX")]
        select: list[str | Aggregate] = [*keys, self.chance.choice(options)]
        if self.chance.random() < 0.3:
            select.append(Aggregate("COUNT", "*", "?o"))
        within = self.chance.choice([SECOND // 2, SECOND, 2 * SECOND, 5 * SECOND])
        return Query(where, tuple(select), group_by=keys, within=within, streams=streams)

    # --- groups ---------------------------------------------------------------------------------------

    def top(self) -> Group:
        """What a query of the kind must have at least, and more. Half of those that are about an operator
        show it on its own: the more there is in a query, the less an operator matters to its answer."""
        simple = self.chance.random() < 0.5
        match self.kind:
            case "optional" | "chain" | "recent" | "chronological" | "allen" | "not" if simple:
                return self.about_one()
            case "runs":
                return self.with_run()
            case "chain" | "allen" | "not":
                return Group((self.chain(2),))
            case "recent" | "chronological":
                found = self.chain(2)
                return Group((Chain(found.groups, ("SEQ", *found.operators[1:])),))
        return self.where({"nested": 3, "rules": 1, "recursive": 1}.get(self.kind, 2))

    def with_run(self) -> Group:
        """A run alone, or beside something else."""
        kind = self.chance.choice([P, P, Q, V])
        subject = self.chance.choice(["?a", "?a", NODES[0]])
        inside: list[Element] = [Triples(((subject, kind, "?i" if kind == V else "?b"),))]
        if self.chance.random() < 0.2:
            inside.append(Triples(((subject, Q, "?c"),)))
        if self.chance.random() < 0.2:
            inside.append(Optional(Group((Triples(((subject, self.chance.choice([S, P]), "?d"),)),))))
        aggregates = [Aggregate("COUNT", "*", "?n")]
        value = "?i" if kind == V else "?b"
        aggregates += [Aggregate(name, value, f"?{name.lower()}") for name in ("FIRST", "LAST")]
        aggregates += [Aggregate(name, value, f"?{name.lower()}") for name in NUMERIC if kind == V]
        made = tuple(self.chance.sample(aggregates, self.chance.randrange(len(aggregates))))
        least = self.chance.choice([1, 2, 2, 3])
        most = self.chance.choice([None, None, None, least, least + 1])
        run = Run(Group(tuple(inside)), least if most else 1, most, made)
        within = self.chance.choice([None, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND])
        if self.chance.random() < 0.6:
            return Group((Chain((run,), (), within),))
        other = Group((Triples(((self.chance.choice(["?a", "?e"]), self.chance.choice([P, Q]), "?f"),)),))
        groups = self.chance.sample([run, other], 2)
        how = self.chance.choice(["SEQ", "SEQ", "BEFORE", "DURING", "CONTAINS", "AFTER", "UNION", "OVERLAPS"])
        found: list[Element] = [Chain(tuple(groups), (how,), within)]
        if self.chance.random() < 0.2:
            found.append(Optional(Group((Triples((("?a", Q, "?g"),)),))))
        return Group(tuple(found))

    def about_one(self) -> Group:
        """Two or three things that happen to one node."""
        parts = [
            Group((Triples((("?a", self.chance.choice([P, P, Q]), name),)),))
            for name in ("?b", "?c", "?d")[: self.chance.choice([2, 2, 3])]
        ]
        both = self.conditions.about_both(["?a", "?b"], ["?c", "?d"][: len(parts) - 1])
        condition = [Filter(both)] if self.chance.random() < 0.6 else []
        if self.kind == "optional":
            first, *options = parts
            last = Group((*options.pop().elements, *condition))
            return Group((*first.elements, *map(Optional, (*options, last))))
        options = self.operators if self.kind in ("chain", "allen") else ["SEQ"]
        how = self.chance.choices(options, k=len(parts) - 1)
        if self.kind == "not":
            must_not = self.chance.choice([Q, V, P])
            absent = Group((Triples(((self.chance.choice(["?a", "?a", "?e"]), must_not, "?f"),)),))
            return Group((Chain((parts[0], absent, *parts[1:]), ("SEQ NOT", *how)), *condition))
        return Group((Chain(tuple(parts), tuple(how), self.within()), *condition))

    def where(self, depth: int) -> Group:
        """At its heart a basic graph pattern, or a chain of smaller groups."""
        chained = self.chance.random() < 0.3 * depth
        inside: list[Element] = [self.chain(depth) if chained else self.triples()]
        if self.kind == "timeless":
            inside.insert(0, Triples(((self.node(), S, self.other()),)))
        if self.chance.random() < 0.2:
            more = [self.triples, self.values, self.braces, *([self.static] if self.kind != "plain" else [])]
            inside.append(self.chance.choice(more)())
        if self.chance.random() < (0.8 if self.kind in ("optional", "timeless") and depth else 0.1):
            place = self.chance.choice([1, len(inside), len(inside)])
            inside.insert(place, Optional(self.optional(depth)))
        if self.chance.random() < 0.1:
            inside.append(Bind(self.bindable(variables(inside)), self.fresh()))
        if self.chance.random() < 0.25:
            condition = Filter(self.conditions.about(variables(inside)))
            inside.insert(self.chance.randrange(len(inside) + 1), condition)
        return Group(tuple(inside))

    def chain(self, depth: int) -> Chain:
        operators = self.chance.choices(self.operators, k=self.chance.choice([1, 1, 2, 2, 3]))
        operators = [how for one in operators for how in self.with_not(one)]
        groups = [self.where(depth - 1)]
        for operator in operators:
            if self.chance.random() < 0.08:
                groups.append(Group((self.sub_select(),)))
            elif operator == "EQUALSOPTIONAL":
                groups.append(self.optional(depth))
            else:
                groups.append(self.where(depth - 1))
        return Chain(tuple(groups), tuple(operators), self.within())

    def with_not(self, operator: str) -> list[str]:
        """Some sequences must not be interrupted; with a policy of consumption, and in plain SPARQL, none."""
        possible = operator == "SEQ" and self.kind not in ("plain", "recent", "chronological")
        return ["SEQ NOT", "SEQ"] if possible and self.chance.random() < 0.25 else [operator]

    def within(self) -> int | None:
        if self.kind == "plain" or self.chance.random() < 0.8:
            return None
        return self.chance.choice([SECOND // 2, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND])

    def optional(self, depth: int) -> Group:
        """Most are simple, and have a condition, also on variables outside; beside rules, nothing that they
        derive is in it."""
        kept = self.predicates
        if self.kind in WITH_RULES:
            self.predicates = [predicate for predicate in kept if predicate not in (M, N)]
        simple = depth < 2 or self.chance.random() < 0.7
        inside = [Triples((self.pattern(),))] if simple else [*self.where(depth - 1).elements]
        self.predicates = kept
        if self.chance.random() < 0.6:
            own = variables(inside)
            others = [name for name in (*self.used, *INTEGER_VARIABLES) if name not in own]
            inside.append(Filter(self.conditions.about_both(others, own)))
        return Group(tuple(inside))

    def sub_select(self) -> Query:
        where = self.where(0)
        found = variables(where.elements)
        return Query(where, tuple(self.chance.sample(found, min(len(found), 2))))

    def triples(self) -> Triples:
        return Triples(tuple(self.pattern() for _ in range(self.chance.choice([1, 1, 2]))))

    def pattern(self) -> Pattern:
        """With at least one variable."""
        (subject, object), predicate = self.pair(), self.chance.choice(self.predicates)
        if predicate == TYPE:
            return subject, predicate, self.chance.choice([*CLASSES, object])
        if predicate in (V, W):
            numbers = [*INTEGER_VARIABLES, *INTEGER_VARIABLES, INTEGERS[1]]
            return subject, predicate, self.chance.choice(numbers)
        if predicate == U:
            return subject, predicate, self.chance.choice([*MIXED_VARIABLES, *MIXED_VARIABLES, MIXED[0]])
        kind = self.chance.random()
        if kind < 0.03 and self.kind not in WITH_RULES:
            return subject, "?r", "?z"
        if kind < 0.1:
            return self.chance.choice(NODES), predicate, object
        if kind < 0.2:
            return subject, predicate, self.chance.choice([*NODES, subject])
        return subject, predicate, object

    def braces(self) -> Group:
        return self.where(0)

    def other(self) -> str:
        return self.pair()[1]

    def static(self) -> Static:
        options = STATIC[:3] if self.kind == "entailment" else STATIC
        return Static(self.filled(self.chance.choice(options)))

    def values(self) -> Values:
        return Values(self.node(), tuple(self.chance.sample(NODES, 2)))

    def fresh(self) -> str:
        self.named += 1
        return f"?x{self.named}"

    # --- expressions ----------------------------------------------------------------------------------

    def bindable(self, found: Sequence[str]) -> Expression:
        numbers = [name for name in found if name in INTEGER_VARIABLES]
        if numbers and self.chance.random() < 0.7:
            return Arithmetic(self.chance.choice(numbers), "+", integer(1))
        return self.chance.choice(found)

    # --- rules ----------------------------------------------------------------------------------------

    def rules(self) -> list[Query]:
        """One or two; the second may go on from the first, and has no new blank nodes then."""
        first = self.rule(self.where(1), M)
        if self.chance.random() < 0.5:
            return [first]
        self.used = ["?a"]
        goes_on = self.chance.random() < 0.5
        if goes_on:
            self.predicates = [*self.predicates, M, M, M]
        return [first, self.rule(self.where(1), self.chance.choice([M, N]), blank=not goes_on)]

    def rule(self, where: Group, predicate: str, blank: bool = True) -> Query:
        """Whose template has only variables that are always bound."""
        names = sorted(certain(where) - {*INTEGER_VARIABLES, *MIXED_VARIABLES, "?r", "?z"}) or NODES
        one, other = self.chance.choice(names), self.chance.choice(names)
        template: tuple[Pattern, ...] = ((one, predicate, other),)
        if blank and self.chance.random() < 0.2:
            template = (("_:e", predicate, one), ("_:e", N, other))
        elif self.chance.random() < 0.2:
            template = (*template, (other, N, one))
        return Query(where, template=template)

    def recursive(self) -> list[Query]:
        """What is derived goes on to derive: along a way, by counting, in turns, with new nodes; or it keeps
        more from being derived."""
        way = self.chance.choice(["way", "way", "count", "turns", "nodes", "first"])
        how = self.chance.choice(["SEQ", "SEQ", "SEQ", "EQUALS"])
        limit = self.conditions.about(["?a", "?b"]) if self.chance.random() < 0.3 else None
        # Background knowledge has P too. With it what counts or makes nodes would not come to an end.
        if way == "count":
            step = goes_on("SEQ", ("?a", N, "?i"), ("?a", Q, "?b"), limit, Bind(plus_one("?i"), "?j"))
            return [simple(("?a", V, "?i"), ("?a", N, "?i")), Query(step, template=(("?a", N, "?j"),))]
        if way == "nodes":
            step = goes_on("SEQ", ("?e", M, "?b"), ("?b", Q, "?c"), limit)
            template = (("_:e", M, "?c"), ("_:e", N, "?e"))
            return [simple(("?a", P, "?b"), ("_:e", M, "?b")), Query(step, template=template)]
        if way == "first":
            new = And(Not(Bound("?c")), limit) if limit else Not(Bound("?c"))
            step = goes_on("OPTIONALSEQ", ("?a", M, "?c"), ("?a", Q, "?b"), new)
            return [Query(step, template=(("?a", M, "?b"),))]
        step = goes_on(how, ("?a", M, "?b"), ("?b", P, "?c"), limit)
        if way == "turns":
            back = goes_on("SEQ", ("?a", N, "?b"), ("?b", Q, "?c"), None)
            made = [Query(step, template=(("?a", N, "?c"),)), Query(back, template=(("?a", M, "?c"),))]
        else:
            made = [Query(step, template=(("?a", M, "?c"),))]
        made.insert(self.chance.randrange(len(made) + 1), simple(("?a", P, "?b"), ("?a", M, "?b")))
        return made


def simple(pattern: Pattern, template: Pattern) -> Query:
    return Query(Group((Triples((pattern,)),)), template=(template,))


def goes_on(how: str, one: Pattern, other: Pattern, limit: Expression | None, *more: Element) -> Group:
    groups = (Group((Triples((one,)),)), Group((Triples((other,)),)))
    conditions = () if limit is None else (Filter(limit),)
    return Group((Chain(groups, (how,)), *more, *conditions))


def plus_one(variable: str) -> Expression:
    return Arithmetic(variable, "+", integer(1))


def certain(node: Group | Element) -> set[str]:
    """The variables that every solution binds."""
    match node:
        case Group(inside):
            return {name for element in inside for name in certain(element)}
        case Triples() | Static() | Values():
            return set(variables([node]))
        case Chain((first, *others), operators):
            found = certain(first)
            for operator, group in zip(operators, others, strict=True):
                match operator:
                    case "EQUALSOPTIONAL" | "SEQ NOT":
                        pass
                    case "UNION":
                        found &= certain(group)
                    case "OPTIONALSEQ":
                        found = certain(group)
                    case _:
                        found |= certain(group)
            return found
        case Run(group):
            return certain(group)
        case Query(where):
            return certain(where) & set(variables([node]))
    return set()
