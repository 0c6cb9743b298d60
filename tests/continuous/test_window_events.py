"""Events in the windows of RSP-QL against sets of mappings, on random streams cut at random."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from rheos.algebra.rspql import translate_rspql
from rheos.optimize import optimize_csparql
from rheos.runtime.csparql.operator import CSparqlBatch
from rheos.runtime.rspql.operator import RspqlOperator
from rheos.runtime.worker.database import Database
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_query import Bind, Group
from tests.continuous.cases import ONE, SECOND, triple
from tests.continuous.event_algebra import CSparqlOperator, TooLarge
from tests.continuous.event_cases import EventMaker, events
from tests.continuous.event_query import ALLEN, DURATION, END, START, EventPrinter, variables
from tests.continuous.reference import Answer
from tests.continuous.rspql_cases import PREFIX, window
from tests.continuous.rspql_reference import Case, Element, held, merged, moments, query, rows
from tests.spread import spread

KINDS = ["chain", "allen", "not", "runs", "optional", "runs", "nested"]

# Around a window with events, which stands for itself here.
QUERIES = [
    "SELECT * WHERE { @ }",
    "SELECT * WHERE { @ }",
    "SELECT ?a (COUNT(*) AS ?count) WHERE { @ } GROUP BY ?a",
    "SELECT * WHERE { @ WINDOW :w { ?a :p ?other } }",
    "SELECT * WHERE { ?a :static ?known OPTIONAL { @ } }",
    "SELECT DISTINCT ?a WHERE { @ ?a :static ?known }",
]


@dataclass(frozen=True)
class Event(Element):
    start: int = 0


@pytest.fixture(scope="module")
def static() -> StaticGraphs:
    return StaticGraphs()


def group(chance: random.Random, kind: str) -> Group:
    """A group in which nothing is static."""
    while True:
        found = EventMaker(chance, kind).top()
        written = EventPrinter().group(found)
        if not any(word in written for word in ("SELECT", "GRAPH", ":s+", ":s/", ":s|")):
            break
    # Without a word about events it would be plain SPARQL, on a graph.
    if chance.random() < 0.3 or not re.search(rf"{'|'.join(ALLEN)}|SEQ|EQUALS|WITHIN|get|}}[+{{]", written):
        return Group((*found.elements, Bind(chance.choice([START, END, DURATION]), "?when")))
    return found


def values(found: CSparqlOperator, where: Group) -> str:
    """The solutions, each as often as it has intervals."""
    solutions = list(found.group(where))
    names = sorted({*variables(where.elements), *(name for one in solutions for name in one.binding)})
    lines = [f"({' '.join(one.binding.get(name, 'UNDEF') for name in names)})" for one in solutions]
    return f"{{ VALUES ({' '.join(names)}) {{ {' '.join(lines)} }} }}"


def answers(case: Case, where: Group, columns: Any, after: int, until: int) -> list[Answer]:
    """All that is reported: the slow and obvious way."""
    found: list[Answer] = []
    before: Counter[tuple[object, ...]] = Counter()
    whole = case.sparql.replace("@", f"WINDOW :v {EventPrinter().group(where)}")
    for moment in moments(case, after, until):
        windows = [held(case, number, moment) for number in range(2)]
        data = {
            window.name or "": merged(case, elements)
            for window, elements in zip(case.query.windows, windows, strict=True)
        }
        happened = [(*one.triples[0], one.start, one.time) for one in windows[0] if isinstance(one, Event)]
        evaluation = CSparqlOperator(set(happened), (), "unrestricted")
        evaluation.written = whole
        asked = case.sparql.replace("@", values(evaluation, where))
        answer = rows(query(PREFIX, asked, (set(case.static), {}), data), columns)
        gone, new = before - answer, answer - before
        if any(windows) or (case.query.operator == "DSTREAM" and gone):
            found.append(
                (moment.at, {"RSTREAM": answer, "ISTREAM": new, "DSTREAM": gone}[case.query.operator])
            )
            before = answer
    return found


def table(elements: list[Event]) -> pa.Table:
    found = [(*one.triples[0], one.start, one.time, place) for place, one in enumerate(elements, start=1)]
    columns = list(zip(*found, strict=True))
    names = ["s", "p", "o", "start", "time", "place"]
    kinds = [pa.string()] * 3 + [pa.int64()] * 3
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], names=names
    )


def compare(seed: int, static: StaticGraphs) -> None:
    chance = random.Random(f"events in windows {seed}")
    kind = KINDS[seed % len(KINDS)]
    where, outer = group(chance, kind), chance.choice(QUERIES)
    stream = [Event(None, ((s, p, o),), end, start) for s, p, o, start, end in events(chance, 13, kind)]
    clauses = f"FROM NAMED WINDOW :v ON {ONE} {window(chance)} FROM NAMED WINDOW :w ON {ONE} {window(chance)}"
    operator = chance.choice(["RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"])
    inside = f"WINDOW :v {EventPrinter().group(where)}"
    asked = outer.replace("WHERE", f"{clauses} WHERE").replace("@", inside)
    written = f"{PREFIX} REGISTER {operator} <q> AS {asked}"
    known = [triple(chance, ["static", "p"]) for _ in range(4)]
    parsed = translate_rspql(parse(written, "rspql"), "q")
    case = Case(parsed, PREFIX, outer, known, {ONE: stream}, {})
    static.clear()
    static.load(data="".join(f"{' '.join(found)} .\n" for found in known), format="nt")
    compiled = RspqlOperator.of(optimize_csparql(parsed))
    until = (stream[-1].time if stream else 0) + 15 * SECOND
    spans = [-1, *sorted(chance.sample(range(0, until, SECOND // 2), 3)), until]
    try:
        expected = answers(case, where, compiled.statement.columns, -1, until)
    except TooLarge:
        return
    live, given = table(stream), list[Answer]()
    for after, end in itertools.pairwise(spans):
        database = Database(static.connection.cursor())
        database.put("elements", live)
        found = CSparqlBatch(database, {ONE: "elements"}).answers(compiled, after, end)
        counted: dict[int, Counter[tuple[object, ...]]] = {
            row["instant"]: Counter() for row in found.instants.to_pylist()
        }
        for instant, _, *row in zip(*(column.to_pylist() for column in found.rows.columns), strict=True):
            counted[instant][tuple(row)] += 1
        given += zip(found.instants.column("at").to_pylist(), counted.values(), strict=True)
        live = live.filter(pa.array(compiled.live(ONE, {ONE: live}, end)))
    assert given == expected, written


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(4, 2))
def test_agrees_with_sets_of_mappings(block: int, static: StaticGraphs) -> None:
    for seed in range(21 * block, 21 * block + 21):
        compare(seed, static)
