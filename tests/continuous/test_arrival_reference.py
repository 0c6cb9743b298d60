"""The reference of CQELS-QL itself: small cases worked out by hand, and its operators against pyoxigraph's.

Everything that compares the engine with the reference relies on these.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pyoxigraph as ox
import pytest

from rheos.terms import encode
from tests.continuous.arrival_algebra import Quad, Snapshot, Windows, answer_of, bindings_of, store_of
from tests.continuous.arrival_cases import case as random_case
from tests.continuous.arrival_query import (
    Aggregate,
    All,
    Bind,
    Element,
    Exists,
    Filter,
    Group,
    Minus,
    Now,
    Optional,
    Query,
    Range,
    Static,
    Stream,
    Triples,
    Union,
    Values,
    Window,
    clauses,
    monotone,
    parts,
    patterns_text,
    text,
)
from tests.continuous.arrival_reference import (
    Case,
    Tick,
    Timed,
    answers,
    boolean,
    constructed,
    content,
    row_text,
    ticks,
)
from tests.continuous.arrival_reference import reported as reported_rows
from tests.continuous.expressions import SECOND, And, Arithmetic, Bound, Compare, Not, Or, integer
from tests.spread import spread

ONE, TWO = "<http://ex/one>", "<http://ex/two>"


def term(name: str) -> str:
    """`a` is an IRI, `7` an integer, `?x` a variable."""
    if name.startswith("?"):
        return name
    return integer(int(name)) if name.lstrip("-").isdigit() else f"<http://ex/{name}>"


def pattern(written: str) -> tuple[str, str, str]:
    s, p, o = map(term, written.split())
    return s, p, o


def over(window: Window, *patterns: str, iri: str = ONE) -> Stream:
    return Stream(iri, window, tuple(map(pattern, patterns)))


def stream(*elements: tuple[str, float]) -> list[Timed]:
    """Triples, in short, with their seconds."""
    return [(*pattern(written), int(seconds * SECOND)) for written, seconds in elements]


def quads(*triples: str, graph: str = "") -> list[Quad]:
    return [(*pattern(written), graph) for written in triples]


def where(*elements: Element) -> Group:
    return Group(elements)


def short(found: list[tuple[int, list[str]]]) -> list[tuple[float, list[str]]]:
    """Answers with seconds and the local names of terms: `a=x n=1`."""
    return [
        (at / SECOND, [re.sub(r'<http://ex/(\w+)>|"(-?\d+)"\^\^<\S+>|[?]', r"\1\2", row) for row in rows])
        for at, rows in found
    ]


def reported(
    query: Query, elements: list[Timed], static: list[Quad] | None = None, two: list[Timed] | None = None
) -> list[tuple[float, list[str]]]:
    return short(answers(Case(query, {ONE: elements, TWO: two or []}, static or [])))


# --- the paper --------------------------------------------------------------------------------------------


def test_table_1() -> None:
    """Who has just been seen, and who is in a room next to it since two seconds at most."""
    query = Query(
        where(
            over(Now(), "?p1 detectedAt ?l1"),
            over(Range(2 * SECOND), "?p2 detectedAt ?l2"),
            Static("?l1 :conn ?l2 ."),
        ),
        template=(pattern("?p2 reaches ?p1"),),
    )
    people = stream(
        ("m0 detectedAt r1", 0), ("m1 detectedAt r2", 1), ("m2 detectedAt r1", 2), ("m3 detectedAt r2", 3)
    )
    rooms = quads("r1 conn r2", "r1 conn r3", "r2 conn r1", "r3 conn r1")
    assert reported(query, people, rooms) == [
        (1, ["m0 reaches m1 ."]),
        (2, ["m1 reaches m2 ."]),
        (3, ["m2 reaches m3 ."]),
    ]


# --- windows ----------------------------------------------------------------------------------------------


def test_both_ends_of_a_range_are_in_it() -> None:
    query = Query(where(over(Now(), "?a p ?b"), over(Range(2 * SECOND), "?c q ?d")), ("?b", "?d"))
    elements = stream(("x q 1", 0), ("x q 2", 0.001), ("x p 3", 2), ("x p 4", 2.001))
    assert reported(query, elements) == [(2, ["b=3 d=1", "b=3 d=2"]), (2.001, ["b=4 d=2"])]


def test_the_same_triple_at_two_times_is_two_elements() -> None:
    query = Query(where(over(Range(5 * SECOND), "?a p ?b")))
    elements = stream(("x p y", 0), ("x p y", 1))
    assert reported(query, elements) == [(0, ["a=x b=y"]), (1, ["a=x b=y"])]
    counting = replace(query, select=(Aggregate("COUNT", "*", "?n"),))
    assert reported(counting, elements) == [(0, ["n=1"]), (1, ["n=2"])]


def test_one_clause_twice_pairs_every_element_with_every_other() -> None:
    clause = over(All(), "?a p ?b", "?c p ?d")
    elements = stream(("x p 1", 0), ("x p 2", 1))
    assert reported(Query(where(clause), ("?b", "?d")), elements) == [
        (0, ["b=1 d=1"]),
        (1, ["b=1 d=2", "b=2 d=1", "b=2 d=2"]),
    ]


def test_the_last_triples_are_the_last_that_match() -> None:
    query = Query(where(over(Triples(2), "?a p ?b", "?c q ?d")), ("?b", "?d"))
    elements = stream(("x p 1", 0), ("x r 0", 1), ("x q 2", 2), ("x r 0", 3), ("x q 3", 4), ("x p 4", 5))
    # At 4 the last two are q 2 and q 3: nothing of p. At 5 q 3 and p 4.
    assert reported(query, elements) == [(2, ["b=1 d=2"]), (5, ["b=4 d=3"])]


def test_now_holds_what_came_before_at_the_same_time() -> None:
    query = Query(where(over(Now(), "?a p ?b"), over(Now(), "?c q ?d")), ("?b", "?d"))
    elements = stream(("x p 1", 0), ("x q 2", 0), ("x p 3", 0), ("x q 4", 1))
    assert reported(query, elements) == [(0, ["b=1 d=2"]), (0, ["b=3 d=2"])]


def test_streams_of_equal_times_come_in_the_order_of_the_text() -> None:
    first, second = over(Triples(1), "?a p ?b"), over(Triples(1), "?c p ?d", iri=TWO)
    one, two = stream(("x p 1", 1), ("x p 2", 1)), stream(("x p 3", 1))
    assert reported(Query(where(first, second), ("?b", "?d")), one, two=two) == [(1, ["b=2 d=3"])]
    assert reported(Query(where(second, first), ("?b", "?d")), one, two=two) == [
        (1, ["b=1 d=3"]),
        (1, ["b=2 d=3"]),
    ]


SLIDING = over(Range(2 * SECOND, 2 * SECOND), "?a p ?b")


def test_a_sliding_window_moves_at_multiples_after_their_arrivals() -> None:
    query = Query(where(SLIDING), ("?b",))
    elements = stream(("x p 1", 0.5), ("x p 2", 2), ("x p 3", 2), ("x p 4", 3))
    # At 4 the window goes from 2 to 4; what was there at 2 is not new.
    assert reported(query, elements) == [(2, ["b=1", "b=2", "b=3"]), (4, ["b=4"])]


def test_between_moves_a_sliding_window_keeps_its_content() -> None:
    query = Query(where(SLIDING, over(Now(), "?c q ?d")), ("?b", "?d"))
    elements = stream(
        ("x p 1", 1), ("x q 2", 1), ("x p 3", 2.5), ("x q 4", 2.5), ("x q 5", 4), ("x q 6", 4.5)
    )
    # At 2 the window gets p 1, but no q is now; at 2.5 p 1 is there, p 3 not yet. At 4 q 5 comes and meets
    # p 1, then the window moves, and q 5 meets p 3. At 4.5 q 6 meets p 3.
    assert reported(query, elements) == [
        (2.5, ["b=1 d=4"]),
        (4, ["b=1 d=5"]),
        (4, ["b=3 d=5"]),
        (4.5, ["b=3 d=6"]),
    ]


def test_the_clock_goes_on_to_a_multiple_after_the_last_element() -> None:
    query = Query(where(over(Range(SECOND, 5 * SECOND), "?a p ?b")), (Aggregate("COUNT", "*", "?n"),))
    elements = stream(("x p 1", 1), ("x p 2", 9.5))
    # Zero at the first tick; at 5 still zero; at 10, and not before, one.
    assert reported(query, elements) == [(1, ["n=0"]), (10, ["n=1"])]
    assert ticks(Case(query, {ONE: elements}))[-1] == Tick(10 * SECOND, True, 2)


def test_with_two_slides_the_clock_stops_at_the_last_that_is_needed() -> None:
    query = Query(where(SLIDING, over(Range(SECOND, 5 * SECOND), "?a p ?b")))
    found = [tick.at // SECOND for tick in ticks(Case(query, {ONE: stream(("x p 1", 7))})) if tick.by_clock]
    assert found == [8, 10]


# --- what is new ------------------------------------------------------------------------------------------


def test_projection_keeps_duplicates_and_static_solutions_multiply() -> None:
    query = Query(where(over(Now(), "?a p ?b"), Static("?a :s ?c .")), ("?a",))
    assert reported(query, stream(("x p 1", 0)), quads("x s y", "x s z")) == [(0, ["a=x", "a=x"])]


def test_union_filter_bind_and_values() -> None:
    query = Query(
        where(
            Union(
                (where(over(Now(), "?a p ?b")), where(over(Now(), "?a q ?b")), where(Static("?a :s ?b .")))
            ),
            Values("?a", (term("x"), term("y"))),
            Bind(Arithmetic("?b", "+", integer(1)), "?c"),
            Filter(Or(Compare("?c", ">", integer(2)), Compare("?b", "=", term("k")))),
        )
    )
    elements = stream(("z p 5", 0), ("x p 1", 1), ("x q 2", 2), ("y q k", 3))
    # The static branch has no element to wait for. ?c of k is an error, and unbound.
    static = quads("x s 9", "z s 9")
    assert monotone(query)
    assert reported(query, elements, static) == [
        (0, ["a=x b=9 c=10"]),
        (2, ["a=x b=2 c=3"]),
        (3, ["a=y b=k"]),
    ]


def test_an_aggregate_is_reported_when_it_changes() -> None:
    query = Query(
        where(over(Range(2 * SECOND), "?a p ?b")),
        ("?a", Aggregate("SUM", "?b", "?n"), Aggregate("COUNT", "?b", "?m", distinct=True)),
        group_by=("?a",),
    )
    elements = stream(("x p 1", 0), ("y p 5", 1), ("x p 1", 2), ("z q 0", 3), ("z q 0", 5))
    # At 3 the first x has gone. At 5 the other has gone too, and a group that goes reports nothing.
    assert reported(query, elements) == [
        (0, ["a=x m=1 n=1"]),
        (1, ["a=y m=1 n=5"]),
        (2, ["a=x m=1 n=2"]),
        (3, ["a=x m=1 n=1"]),
    ]


def test_having_order_and_limit() -> None:
    clause = over(All(), "?a p ?b")
    elements = stream(("x p 3", 0), ("y p 2", 1), ("y p 1", 2))
    having = Query(where(clause), ("?a", Aggregate("COUNT", "*", "?n")), group_by=("?a",), having=2)
    assert reported(having, elements) == [(2, ["a=y n=2"])]
    least = Query(where(clause), ("?b",), order_by=("?b",), limit=1)
    assert reported(least, elements) == [(0, ["b=3"]), (1, ["b=2"]), (2, ["b=1"])]


def test_optional_reports_the_row_again_when_its_option_goes() -> None:
    query = Query(where(over(All(), "?a p ?b"), Optional(where(over(Range(SECOND), "?b q ?c")))))
    elements = stream(("x p y", 0), ("y q 1", 1), ("z r z", 1.5), ("z r z", 3))
    assert reported(query, elements) == [(0, ["a=x b=y"]), (1, ["a=x b=y c=1"]), (3, ["a=x b=y"])]


def test_the_filter_of_an_optional_part_sees_both_sides() -> None:
    option = where(over(All(), "?c q ?d"), Filter(Compare("?d", ">", "?b")))
    query = Query(where(over(Now(), "?a p ?b"), Optional(option)), ("?b", "?d"))
    elements = stream(("x q 2", 0), ("x q 4", 1), ("x p 3", 2), ("x p 9", 3))
    assert reported(query, elements) == [(2, ["b=3 d=4"]), (3, ["b=9"])]


def test_minus_and_exists() -> None:
    static = quads("x s y", "y s z")
    missing = Exists(where(over(Range(SECOND), "?a p ?c")), negated=True)
    absent = Query(where(Static("?a :s ?b ."), Filter(missing)), ("?a",))
    elements = stream(("x p 1", 0), ("z q 0", 1), ("z q 0", 2))
    # At the first tick y has nothing; at 2 the element of x has gone.
    assert reported(absent, elements, static) == [(0, ["a=y"]), (2, ["a=x"])]
    minus = Query(where(Static("?a :s ?b ."), Minus(where(over(Range(SECOND), "?a p ?c")))), ("?a",))
    assert reported(minus, elements, static) == [(0, ["a=y"]), (2, ["a=x"])]
    # Nothing in common: nothing is taken away, whereas EXISTS holds.
    apart = where(over(All(), "?k p ?l"))
    assert reported(Query(where(over(Now(), "?a p ?b"), Minus(apart))), elements) == [(0, ["a=x b=1"])]
    assert reported(Query(where(over(Now(), "?a p ?b"), Filter(Exists(apart, negated=True)))), elements) == []


def test_distinct_and_sub_select() -> None:
    elements = stream(("x p 1", 0), ("x p 2", 1), ("x q 3", 2), ("y q 4", 3))
    assert reported(Query(where(over(All(), "?a p ?b")), ("?a",), distinct=True), elements) == [(0, ["a=x"])]
    inner = Query(where(over(All(), "?a p ?b")), ("?a", Aggregate("COUNT", "*", "?n")), group_by=("?a",))
    assert reported(Query(where(over(All(), "?a q ?c"), inner)), elements) == [(2, ["a=x c=3 n=2"])]


def test_ask_is_reported_at_first_and_when_it_changes() -> None:
    query = Query(where(over(Range(SECOND), "?a p ?a")), ask=True)
    elements = stream(("x p y", 0), ("x p x", 1), ("y p y", 2), ("x q y", 3), ("x q y", 4), ("x p x", 5))
    assert reported(query, elements) == [(0, ["false"]), (1, ["true"]), (4, ["false"]), (5, ["true"])]


def test_a_template_gives_each_triple_once_for_a_tick() -> None:
    query = Query(where(over(Now(), "?a p ?b"), over(All(), "?c q ?d")), template=(pattern("?a r ?c"),))
    elements = stream(("k q 1", 0), ("k q 2", 0), ("x p 3", 1), ("x p 4", 1))
    assert reported(query, elements) == [(1, ["x r k ."]), (1, ["x r k ."])]


# --- static data that changes -----------------------------------------------------------------------------


def test_a_change_brings_back_no_old_combination() -> None:
    query = Query(where(over(All(), "?a p ?b"), Static("?a :s ?c .")), ("?b", "?c"))
    streams = {ONE: stream(("x p 1", 0), ("x p 2", 1), ("x p 3", 1.5), ("x p 4", 2))}
    changes = [(1 * SECOND, quads("x s n")), (1_700_000, [])]
    found = answers(Case(query, streams, quads("x s o"), changes))
    # The element at the very time of the change comes before it.
    assert short(found) == [(0, ["b=1 c=o"]), (1, ["b=2 c=o"]), (1.5, ["b=3 c=n"])]


def test_a_difference_is_taken_over_the_data_of_its_tick() -> None:
    query = Query(
        where(over(All(), "?a p ?b"), Static("?a :s ?c .")),
        ("?c", Aggregate("COUNT", "*", "?n")),
        group_by=("?c",),
    )
    streams = {ONE: stream(("x p 1", 0), ("y p 2", 1), ("x p 3", 2))}
    found = answers(Case(query, streams, quads("x s o"), [(SECOND // 2, quads("x s m"))]))
    assert short(found) == [(0, ["c=o n=1"]), (2, ["c=m n=2"])]
    asked = answers(Case(Query(query.where, ask=True), streams, [], [(SECOND // 2, quads("x s m"))]))
    assert short(asked) == [(0, ["false"])]


def test_from_chooses_among_the_static_graphs() -> None:
    graph = "<http://ex/g>"
    static = [*quads("x s 1"), *quads("x s 2", graph=graph)]
    elements = stream(("x p 0", 0))
    clause = over(Now(), "?a p ?b")
    plain = Query(where(clause, Static("?a :s ?c .")), ("?c",))
    inside = Query(where(clause, Static("GRAPH :g { ?a :s ?c }")), ("?c",))
    assert reported(plain, elements, static) == [(0, ["c=1"])]
    assert reported(inside, elements, static) == [(0, ["c=2"])]
    assert reported(replace(plain, default=(graph,)), elements, static) == [(0, ["c=2"])]
    assert reported(replace(plain, named=(graph,)), elements, static) == [(0, ["c=1"])]
    assert reported(replace(inside, named=("<http://ex/h>",)), elements, static) == []
    assert reported(replace(inside, default=(graph,)), elements, static) == []


# --- the kinds of queries, and their texts ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(where(SLIDING), ("?a",), order_by=("?a",)), True),
        (Query(where(SLIDING), template=(pattern("?a r ?b"),)), True),
        (Query(where(SLIDING, Filter(Not(Bound("?a"))))), True),
        (Query(where(SLIDING, Filter(And(Bound("?a"), Exists(where(SLIDING)))))), False),
        (Query(where(SLIDING), limit=1), False),
        (Query(where(SLIDING), ask=True), False),
        (Query(where(SLIDING, Static("{ ?a :s ?b OPTIONAL { ?b :s ?c } }"))), False),
        (Query(where(Union((where(SLIDING), where(Optional(where(SLIDING))))))), False),
    ],
)
def test_monotone(query: Query, expected: bool) -> None:
    assert monotone(query) is expected


def test_texts() -> None:
    inner = Query(
        where(over(All(), "?a q ?c")), ("?a", Aggregate("COUNT", "*", "?n")), group_by=("?a",), having=2
    )
    query = Query(
        where(
            over(Range(2_500_000, 500_000), "?a p ?b", "?b p x"),
            Static("?b :s ?c ."),
            Optional(where(over(Triples(3), "?a q 1", iri=TWO), Filter(Compare("?a", "!=", "?b")))),
            inner,
            Filter(Exists(where(over(Now(), "?a p ?b")), negated=True)),
        ),
        ("?a", "?b"),
        distinct=True,
        order_by=("?b",),
        limit=4,
        default=("<http://ex/g>",),
    )
    assert text(query) == (
        "PREFIX : <http://ex/> SELECT DISTINCT ?a ?b FROM <http://ex/g> WHERE { "
        "STREAM <http://ex/one> [RANGE 2s500ms SLIDE 500ms] "
        "{ ?a <http://ex/p> ?b . ?b <http://ex/p> <http://ex/x> } ?b :s ?c . "
        f"OPTIONAL {{ STREAM <http://ex/two> [TRIPLES 3] {{ ?a <http://ex/q> {integer(1)} }} "
        "FILTER ((?a != ?b)) } "
        "{ SELECT ?a (COUNT(*) AS ?n) WHERE { STREAM <http://ex/one> [ALL] { ?a <http://ex/q> ?c } } "
        "GROUP BY ?a HAVING (COUNT(*) >= 2) } "
        "FILTER NOT EXISTS { STREAM <http://ex/one> [NOW] { ?a <http://ex/p> ?b } } } "
        "ORDER BY ?b LIMIT 4"
    )


# --- random cases -----------------------------------------------------------------------------------------


def test_the_random_cases_have_everything_in_them() -> None:
    found: Counter[str] = Counter()
    answered = 0
    for seed in range(100):
        case = random_case(seed)
        query = case.query
        found.update({type(part).__name__ for part in parts(query)})
        found.update(
            name for name in ("ask", "distinct", "template", "group_by", "limit") if getattr(query, name)
        )
        found.update({str(clause.window).split()[0] for clause in clauses(query)})
        found.update({"SLIDE" for clause in clauses(query) if "SLIDE" in str(clause.window)})
        found.update({f"{len(case.streams)} streams", f"monotone {monotone(query)}"})
        answered += bool(answers(case))
    least = {
        "Optional", "Minus", "Exists", "Union", "Bind", "Values", "Static", "ask", "distinct", "template",
        "group_by", "limit", "NOW", "ALL", "TRIPLES", "RANGE", "SLIDE", "2 streams", "3 streams",
    }  # fmt: skip
    assert {name for name in least if found[name] < 4} == set()
    assert found["monotone True"] >= 40
    assert found["monotone False"] >= 40
    assert answered > 85
    assert random_case(7) == random_case(7) != random_case(8)


def test_changes_of_static_data_matter_in_random_cases() -> None:
    cases = [random_case(seed, changes=True) for seed in range(40)]
    assert all(1 <= len(case.changes) <= 2 for case in cases)
    assert sum(answers(case) != answers(replace(case, changes=())) for case in cases) > 10


@pytest.mark.parametrize("seed", spread(150, 50))
def test_operators_agree_with_a_store(seed: int) -> None:
    """Where no triple is twice in a window, a window can be a graph, and the query SPARQL.

    `GRAPH ?g` looks into these graphs too, but only for predicates that no stream has.
    """
    case = random_case(seed)
    query = case.query
    graphs = {clause: f"<http://ex/window{number}>" for number, clause in enumerate(clauses(query))}
    named = (*query.named, *graphs.values()) if query.default or query.named else ()
    written = replace(query, default=(), named=())
    sparql = text(written, lambda clause: f"GRAPH {graphs[clause]} {{ {patterns_text(clause.patterns)} }}")
    for tick in ticks(case):
        windows = {clause: content(case, clause, tick) for clause in graphs}
        static = case.static_at(tick.at)
        if any(len(set(found.values())) < len(found) for found in windows.values()):
            continue
        solutions = Snapshot(windows, static, query).solutions(query)
        store = store_of(static)
        for clause, found in windows.items():
            for s, p, o in (triple for triples in found.values() for triple in triples):
                store.load(f"{s} {p} {o} {graphs[clause]} .", format=ox.RdfFormat.N_QUADS)
        result = answer_of(store, sparql, query.default, named)
        if isinstance(result, ox.QueryBoolean):
            assert boolean(solutions) == ("true" if result else "false")
        elif isinstance(result, ox.QueryTriples):
            triples = {f"{encode(s)} {encode(p)} {encode(o)} ." for s, p, o in result}
            assert constructed(query, [solution.binding for solution in solutions]) == triples
        else:
            expected = Counter(map(row_text, bindings_of(result)))
            assert Counter(row_text(solution.binding) for solution in solutions) == expected, sparql


@pytest.mark.parametrize("seed", range(30))
def test_what_grows_reports_every_new_row(seed: int) -> None:
    """And perhaps more: a combination that goes while another comes can leave the answer as it was."""
    case = random_case(seed)
    if not monotone(case.query) or case.query.template:
        return
    before: Windows = {}
    for tick in ticks(case):
        static = case.static_at(tick.at)
        windows = {clause: content(case, clause, tick) for clause in clauses(case.query)}
        bags = [
            Counter(
                row_text(solution.binding)
                for solution in Snapshot(seen, static, case.query).solutions(case.query)
            )
            for seen in (windows, before or {clause: {} for clause in windows})
        ]
        found = Counter(reported_rows(case.query, windows, before or None, static))
        assert bags[0] - bags[1] <= found <= bags[0]
        before = windows
