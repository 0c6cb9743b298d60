"""Random queries of every form as a hypothesis strategy: data, text and what of the answer is determined."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from .data import Data, random_data
from .expressions import Scope
from .patterns import VALUE_POOLS, Patterns, Place
from .selects import Selects
from .vocabulary import GRAPHS, KIND, PROLOGUE, Chooser, Features, short


@dataclass(frozen=True)
class Trial:
    """A query on a data set, and what of its answer is determined."""

    data: str
    query: str
    reference: str  # the query as pyoxigraph gets it
    as_sets: bool = False  # REDUCED
    count_only: bool = False  # LIMIT or OFFSET: any of the rows will do
    order: list[tuple[str, bool]] = field(default_factory=list)  # variables of ORDER BY, and descending

    def __str__(self) -> str:
        return f"{self.data}\n{self.query}"


@st.composite
def trials(draw: st.DrawFn, deepest: int = 3) -> Trial:
    return random_trial(Chooser(draw), deepest)


def random_trial(choose: Chooser, deepest: int = 3) -> Trial:
    """A query whose groups nest at most `deepest` levels, and its data."""
    features = Features(derived=choose.chance(10), dense=choose.chance(40))
    data = random_data(choose, features)
    patterns = Patterns(choose, features, data)
    place, clause = dataset(choose, deepest)
    match choose.weighted({"select": 16, "construct": 2, "ask": 1}):
        case "select":
            return select(choose, patterns, place, clause, data)
        case "construct":
            where, scope = patterns.group(place)
            text = f"CONSTRUCT {{ {template(choose, scope)} }} {clause}WHERE {where}"
        case _:
            where, _ = patterns.group(place)
            text = f"ASK {clause}{where}"
    text = PROLOGUE + text
    return Trial(data.text, patterns.spell(text, reference=False), patterns.spell(text, reference=True))


def dataset(choose: Chooser, deepest: int) -> tuple[Place, str]:
    """Mostly the whole data set, sometimes FROM and FROM NAMED."""
    depth = min(choose.weighted({1: 5, 2: 6, 0: 2, 3: 1}), deepest)
    if not choose.chance(7):
        return Place(depth), ""
    # one FROM: pyoxigraph counts a triple once for each of them that holds it, where RDF merges
    clauses = [f"FROM {short(choose.pick(GRAPHS))} " for _ in range(choose.number(0, 1))]
    clauses += [f"FROM NAMED {short(choose.pick(GRAPHS))} " for _ in range(choose.number(0, 1))]
    # a path of length zero at a constant needs to know the graph: see `patterns`
    return Place(depth, graph=None), "".join(clauses)


def select(choose: Chooser, patterns: Patterns, place: Place, clause: str, data: Data) -> Trial:
    chosen = Selects(patterns).select(place, reduced=True)
    body = chosen.text.replace(" WHERE ", f" {clause}WHERE ", 1) if clause else chosen.text
    # Without ORDER BY for pyoxigraph: where values have no order it aborts the whole process.
    ordering, order, tail = "", [], ""
    if chosen.scope and choose.chance(25):
        conditions, order = order_by(choose, patterns, chosen.scope)
        ordering = f" ORDER BY {conditions}"
    count_only = False
    if not chosen.reduced and choose.chance(10):
        count_only = True
        tail = choose.pick([" LIMIT 3", " LIMIT 0", " OFFSET 1", " LIMIT 2 OFFSET 1", " OFFSET 2 LIMIT 100"])
    elif choose.chance(5):
        # only what the pattern binds: a variable of SELECT (... AS ?v) must not be in scope before it
        names = [name for name, certain in chosen.scope.items() if certain and name in VALUE_POOLS]
        if names:
            tail = f" VALUES {patterns.data_block([choose.pick(names)])[0]}"
    query = patterns.spell(PROLOGUE + body + ordering + tail, reference=False)
    reference = patterns.spell(PROLOGUE + body + tail, reference=True)
    return Trial(data.text, query, reference, chosen.reduced, count_only, order)


def order_by(choose: Chooser, patterns: Patterns, scope: Scope) -> tuple[str, list[tuple[str, bool]]]:
    """Conditions, and those leading ones that are plain variables: their order can be checked."""
    texts: list[str] = []
    order: list[tuple[str, bool]] = []
    for _ in range(choose.number(1, 2)):
        descending = choose.chance(40)
        if choose.chance(70):
            name = choose.pick(list(scope))
            texts.append(f"DESC(?{name})" if descending else choose.pick([f"?{name}", f"ASC(?{name})"]))
            if len(order) == len(texts) - 1:
                order.append((name, descending))
        else:
            expression = patterns.expressions_without_exists().value(scope, 1)
            texts.append(f"{'DESC' if descending else 'ASC'}({expression})")
    return " ".join(texts), order


def template(choose: Chooser, scope: Scope) -> str:
    """Triples from the variables in scope, constants and blank nodes; some are no triples at all."""
    nodes = [f"?{name}" for name in scope if KIND[name] in ("node", "any", "graph")] or [":a"]
    triples: list[str] = []
    for _ in range(choose.number(1, 3)):
        subject = choose.pick([*nodes, *nodes, "_:t", "[]", ":c"])
        predicate = choose.pick([":p", ":made", *(f"?{name}" for name in scope if KIND[name] == "predicate")])
        objects = [f"?{name}" for name in scope] or [":b"]
        triples.append(f"{subject} {predicate} {choose.pick([*objects, *objects, '_:t', '7', ':d'])} .")
    return " ".join(triples)
