"""The reference of EP-SPARQL itself: small cases worked out by hand, and the two principles of the paper.

Everything that compares the engine with the reference relies on these.
"""

from __future__ import annotations

import pytest

from tests.continuous.arrival_algebra import bindings_of, store_of
from tests.continuous.arrival_query import Aggregate, Bind, Filter, Group, Optional, Static, Values
from tests.continuous.arrival_reference import row_text
from tests.continuous.event_cases import case as random_case
from tests.continuous.event_cases import plain_case
from tests.continuous.event_query import (
    DURATION,
    END,
    OPERATORS,
    START,
    As,
    Chain,
    Query,
    Triples,
    chain,
    duration_term,
    elements,
    text,
    time_term,
)
from tests.continuous.event_reference import Case, answers, answers_until, is_timeless
from tests.continuous.event_shorthand import (
    ONE,
    TWO,
    group,
    quads,
    reported,
    seconds,
    seq,
    short,
    stream,
    term,
)
from tests.continuous.expressions import SECOND, And, Arithmetic, Bound, Compare, Not, integer
from tests.spread import spread

# --- patterns and joins -----------------------------------------------------------------------------------


def test_an_event_is_a_solution() -> None:
    events = stream(("x p y", 1), ("x p z", 2, 4))
    assert reported(group("x p ?b"), events) == ["1-1 b=y", "2-4 b=z"]


def test_a_pattern_spans_its_events() -> None:
    events = stream(("x p y", 1), ("y q z", 0, 3), ("x p y", 5))
    assert reported(group("?a p ?b", "?b q ?c"), events) == ["0-3 a=x b=y c=z", "0-5 a=x b=y c=z"]


def test_solutions_are_a_set() -> None:
    """The same mapping and interval once, whatever it was made of; the same mapping at two times twice."""
    events = stream(("x p y", 1), ("x p z", 1), ("x p y", 1), ("x p y", 2))
    assert reported(Query(group("?a p ?b"), ("?a",)), events) == ["1-1 a=x", "2-2 a=x"]


def test_background_knowledge_adds_nothing_to_the_interval() -> None:
    events = stream(("x p y", 1, 2))
    assert reported(group("?a p ?b", "?b s ?c"), events, quads("y s z")) == ["1-2 a=x b=y c=z"]


def test_without_an_event_there_is_nothing_to_report() -> None:
    assert reported(group("?a s ?b"), stream(("x p y", 1)), quads("x s y")) == []


def test_a_triple_may_be_known_and_happen() -> None:
    events = stream(("x p y", 3), ("x q y", 1))
    assert reported(group("?a p ?b", "?a q ?b"), events, quads("x p y")) == ["1-1 a=x b=y", "1-3 a=x b=y"]


def test_paths_that_repeat_see_background_knowledge_only() -> None:
    events = stream(("x p y", 1), ("z s w", 1))
    where = group("?a p ?b", Static("?b :s+ ?c ."))
    assert reported(where, events, quads("y s z")) == ["1-1 a=x b=y c=z"]


def test_inline_data_has_no_interval() -> None:
    events = stream(("x p y", 1), ("z p y", 2))
    assert reported(group("?a p ?b", Values("?a", (term("x"),))), events) == ["1-1 a=x b=y"]


def test_streams_are_one_unless_they_are_named() -> None:
    streams = {ONE: stream(("x p y", 1)), TWO: stream(("y q z", 2), ("x p y", 1))}
    where = group("?a p ?b", Optional(group("?b q ?c")))
    assert short(answers(Case([Query(group("?a ?r ?b"))], streams))) == ["1-1 a=x b=y r=p", "2-2 a=y b=z r=q"]
    assert short(answers(Case([Query(group("?a ?r ?b"), streams=(ONE,))], streams))) == ["1-1 a=x b=y r=p"]
    assert short(answers(Case([Query(where, streams=(ONE,))], streams))) == ["1-1 a=x b=y"]


# --- SEQ and EQUALS ---------------------------------------------------------------------------------------


def test_seq_is_strictly_after() -> None:
    events = stream(("x p y", 1, 2), ("x q z", 2, 3), ("x q w", 2.5, 3))
    assert reported(group(seq(group("?a p ?b"), group("?a q ?c"))), events) == ["1-3 a=x b=y c=w"]


def test_seq_of_three() -> None:
    """The middle one is after the first and before the last, not merely one of them."""
    events = stream(("x p 1", 1), ("x p 2", 2), ("x p 3", 3))
    where = group(seq(group("x p ?a"), group("x p ?b"), group("x p ?c")))
    assert reported(where, events) == ["1-3 a=1 b=2 c=3"]
    assert len(reported(group(seq(group("x p ?a"), group("x p ?b"))), events)) == 3


def test_operators_associate_to_the_left() -> None:
    """(p EQUALS q) SEQ r, and p SEQ (q EQUALS r) only where braces say so."""
    events = stream(("x p y", 1), ("x q y", 1), ("x r y", 2))
    mixed = Chain((group("?a p ?b"), group("?a q ?b"), group("?a r ?b")), ("EQUALS", "SEQ"))
    assert reported(group(mixed), events) == ["1-2 a=x b=y"]
    inner = group(chain("SEQ", group("?a q ?b"), group("?a r ?b")))
    assert reported(group(chain("EQUALS", group("?a p ?b"), inner)), events) == []


def test_equals_is_exactly_simultaneous_also_for_instants() -> None:
    events = stream(("x p y", 1, 3), ("x q z", 1, 3), ("x q w", 1, 2), ("x p y", 4), ("x q v", 4))
    where = group(chain("EQUALS", group("?a p ?b"), group("?a q ?c")))
    assert reported(where, events) == ["1-3 a=x b=y c=z", "4-4 a=x b=y c=v"]


def test_a_side_without_an_interval_always_fits() -> None:
    events = stream(("x p y", 1, 2))
    known = quads("x s y")
    for operator in ("SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"):
        for sides in (("?a p ?b", "?a s ?b"), ("?a s ?b", "?a p ?b")):
            where = group(chain(operator, *map(group, sides)))
            assert reported(where, events, known) == ["1-2 a=x b=y"], (operator, sides)


# --- optional parts ---------------------------------------------------------------------------------------


def test_optional_may_end_together_but_not_later() -> None:
    events = stream(("x p y", 2), ("x q 1", 1), ("x q 2", 2), ("x q 3", 3), ("z p y", 2))
    where = group("?a p ?b", Optional(group("?a q ?c")))
    assert reported(where, events) == ["1-2 a=x b=y c=1", "2-2 a=x b=y c=2", "2-2 a=z b=y"]


def test_an_option_may_start_earlier() -> None:
    events = stream(("x q y", 0, 2), ("x p y", 1, 2))
    assert reported(group("?a p ?b", Optional(group("?a q ?c"))), events) == ["0-2 a=x b=y c=y"]


def test_the_condition_of_an_option_sees_both() -> None:
    """Mappings and intervals: the option of 1 makes it too long, so that of 2 is the only one."""
    events = stream(("x q 1", 1), ("x q 2", 2), ("x p 2", 3), ("y q 1", 1), ("y p 2", 3))
    inside = group("?a q ?c", Filter(Compare(DURATION, "<=", seconds(1))))
    assert reported(group("?a p ?b", Optional(inside)), events) == ["2-3 a=x b=2 c=2", "3-3 a=y b=2"]
    alike = group("?a q ?c", Filter(Compare("?b", "=", "?c")))
    assert reported(group("?a p ?b", Optional(alike)), events) == ["2-3 a=x b=2 c=2", "3-3 a=y b=2"]


def test_a_condition_in_braces_of_its_own_sees_only_the_option() -> None:
    events = stream(("x q 1", 1), ("x p 2", 3))
    inside = group(group("?a q ?c", Filter(Compare(DURATION, "<=", seconds(1)))))
    assert reported(group("?a p ?b", Optional(inside)), events) == ["1-3 a=x b=2 c=1"]


def test_optionalseq_has_its_option_first() -> None:
    events = stream(("x q 1", 1), ("x q 2", 2), ("x p y", 2, 3), ("z p y", 3))
    where = group(chain("OPTIONALSEQ", group("?a q ?c"), group("?a p ?b")))
    assert reported(where, events) == ["1-3 a=x b=y c=1", "3-3 a=z b=y"]


def test_optionalseq_with_conditions() -> None:
    """They are those of the option, and see both; those of the mandatory part are its own."""
    events = stream(("x q 1", 1), ("x q 2", 2), ("x p y", 3))
    near = group("?a q ?c", Filter(Compare(DURATION, "<", seconds(2))))
    assert reported(group(chain("OPTIONALSEQ", near, group("?a p ?b"))), events) == ["2-3 a=x b=y c=2"]
    nearer = group("?a q ?c", Filter(Compare(DURATION, "<", seconds(1))))
    assert reported(group(chain("OPTIONALSEQ", nearer, group("?a p ?b"))), events) == ["3-3 a=x b=y"]
    short_one = group("?a p ?b", Filter(Compare(DURATION, "<", seconds(1))))
    both = ["1-3 a=x b=y c=1", "2-3 a=x b=y c=2"]
    assert reported(group(chain("OPTIONALSEQ", group("?a q ?c"), short_one)), events) == both


def test_a_chain_as_an_option() -> None:
    """(p SEQ q) OPTIONALSEQ r: the filter of q is that of q alone."""
    events = stream(("x p 1", 1), ("x q 2", 2), ("x r 3", 3))
    last = group("?a q ?c", Filter(Compare(DURATION, "=", seconds(0))))
    where = group(Chain((group("?a p ?b"), last, group("?a r ?d")), ("SEQ", "OPTIONALSEQ")))
    assert reported(where, events) == ["1-3 a=x b=1 c=2 d=3"]


def test_equalsoptional() -> None:
    events = stream(("x p y", 1, 3), ("x q 1", 1, 3), ("x q 2", 2, 3), ("z p y", 1, 3), ("z q 1", 3))
    where = group(chain("EQUALSOPTIONAL", group("?a p ?b"), group("?a q ?c")))
    assert reported(where, events) == ["1-3 a=x b=y c=1", "1-3 a=z b=y"]


def test_negation() -> None:
    """Nothing in between, as queries (5) and (6) of the paper say it."""
    events = stream(("x p 1", 1), ("x q 0", 2), ("x p 2", 3), ("x p 3", 4))
    both = (group("?a p ?b"), group("?a p ?c"))
    between = group(seq(both[0], group("?a q ?d"), both[1]))
    where = group(Chain((*both, between), ("SEQ", "EQUALSOPTIONAL")), Filter(Not(Bound("?d"))))
    assert reported(where, events) == ["3-4 a=x b=2 c=3"]


def test_what_has_no_time_is_reported_as_it_is_at_the_time() -> None:
    """The mandatory part is background knowledge; a later option takes nothing back."""
    events = stream(("x q 1", 1), ("x p 2", 3), ("x q 1", 4))
    where = group("?a s ?b", Optional(group("?a p ?c")), "?a q ?d")
    case = Case([Query(where)], {ONE: events}, quads("x s y"))
    assert short(answers(case)) == ["1-1 a=x b=y d=1", "1-3 a=x b=y c=2 d=1", "3-4 a=x b=y c=2 d=1"]
    assert is_timeless(case)
    assert short(answers_until(case, 4 * SECOND)) == ["1-3 a=x b=y c=2 d=1", "3-4 a=x b=y c=2 d=1"]


# --- the other operators ----------------------------------------------------------------------------------


def test_union_and_filter() -> None:
    events = stream(("x p 1", 1), ("x q 2", 2, 4), ("y q 2", 3, 4))
    where = group(
        chain("UNION", group("?a p ?b"), group("?a q ?b")), Filter(Compare(DURATION, ">", seconds(1)))
    )
    assert reported(where, events) == ["2-4 a=x b=2"]


def test_the_functions_of_an_interval() -> None:
    events = stream(("x p 1", 1), ("x q 2", 3.5))
    names = (As(DURATION, "?d"), As(START, "?s"), As(END, "?e"))
    found = reported(Query(group(seq(group("?a p ?b"), group("?a q ?c"))), names), events)
    assert found == ["1-3.5 d=PT2.5S e=1970-01-01T00:00:03.5Z s=1970-01-01T00:00:01Z"]
    later = Filter(And(Compare(START, ">=", time_term(SECOND)), Compare(END, "<", time_term(2 * SECOND))))
    assert reported(group("?a ?r ?b", later), events) == ["1-1 a=x b=1 r=p"]


def test_the_functions_of_no_interval_fail() -> None:
    events = stream(("x p y", 1))
    where = group("?a p ?b", group("?b s ?c", Bind(DURATION, "?d")))
    assert reported(where, events, quads("y s z")) == ["1-1 a=x b=y c=z"]
    where = group("?a p ?b", group("?b s ?c", Filter(Compare(DURATION, ">=", seconds(0)))))
    assert reported(where, events, quads("y s z")) == []


@pytest.mark.parametrize(
    ("micros", "written"),
    [
        (0, "PT0S"), (1, "PT0.000001S"), (90 * SECOND, "PT1M30S"), (3600 * SECOND, "PT1H"),
        (10 * 86400 * SECOND, "P10D"), (86400 * SECOND + SECOND // 2, "P1DT0.5S"),
    ],
)  # fmt: skip
def test_durations(micros: int, written: str) -> None:
    assert duration_term(micros) == f'"{written}"^^<http://www.w3.org/2001/XMLSchema#duration>'


def test_bind_and_sub_select() -> None:
    """A sub-select shows what it selects, as a set."""
    events = stream(("x p 1", 1), ("x p 2", 1), ("x q 3", 2))
    inner = Query(group("?a p ?b"), ("?a",))
    where = group(inner, "?a q ?c", Bind(Arithmetic("?c", "+", integer(1)), "?d"))
    assert reported(where, events) == ["1-2 a=x c=3 d=4"]


def test_aggregates_of_the_last_time() -> None:
    """More than d before is out, exactly d before too."""
    events = stream(("x p 1", 1), ("x p 2", 2), ("x p 4", 3), ("y p 7", 3), ("x p 5", 9))
    query = Query(
        group("?a p ?b"),
        ("?a", Aggregate("SUM", "?b", "?n"), Aggregate("AVG", "?b", "?m")),
        group_by=("?a",),
        within=2 * SECOND,
    )
    assert reported(query, events) == [
        "1-1 a=x m=1 n=1", "1-2 a=x m=1.5 n=3", "2-3 a=x m=3 n=6", "3-3 a=y m=7 n=7", "9-9 a=x m=5 n=5",
    ]  # fmt: skip


def test_aggregates_of_what_ends_together() -> None:
    """One row for an end and a group, that starts with the first of them; a set of solutions is counted."""
    events = stream(("x p 1", 0, 2), ("x p 2", 1, 2), ("x p 2", 1, 2), ("x q 3", 2))
    count = (Aggregate("COUNT", "*", "?n"), Aggregate("COUNT", "?b", "?k", distinct=True))
    query = Query(group("?a p ?b"), ("?a", *count), group_by=("?a",), within=SECOND)
    assert reported(query, events, quads("x p 9")) == ["0-2 a=x k=2 n=2"]


# --- the two principles of the paper, and random cases ----------------------------------------------------


@pytest.mark.parametrize("block", spread(8))
def test_timewise_monotonicity(block: int) -> None:
    """What is an answer at a time stays one, and what ends by then is one already. That does not hold for
    `{A}+`: that a run is over is known only when something else comes."""
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed)
        for number, query in enumerate(case.queries):
            if "}+" in text(query):
                continue
            given = answers(case, number)
            for time in case.ends:
                until = [answer for answer in given if answer[0] <= time]
                assert until == answers_until(case, time, number), (seed, text(case.queries[number]))


@pytest.mark.parametrize("block", spread(4, 1))
def test_downward_compatibility(block: int) -> None:
    """Plain SPARQL over a stream in which all happens at one time has the answers of SPARQL at that time."""
    for seed in range(60 * block, 60 * block + 60):
        case = plain_case(seed)
        given = answers(case)
        assert {answer[:2] for answer in given} <= {(SECOND, SECOND)}
        (events,) = case.streams.values()
        solutions = store_of([(*event[:3], "") for event in events]).query(text(case.queries[0]))
        expected = {row_text(binding) for binding in bindings_of(solutions)}
        assert {row for *_, row in given} == expected, (seed, text(case.queries[0]))
        assert len(given) == len(expected)


def test_random_cases_have_everything() -> None:
    """Most of them have answers, and together they have all the operators."""
    cases = [random_case(seed) for seed in range(64)]
    assert sum(bool(answers(case)) for case in cases) > 55
    parts = [part for case in cases for query in case.queries for part in elements(query)]
    more = [random_case(seed) for seed in range(600)]  # there are many operators
    chains = [part for case in more for query in case.queries for part in elements(query)]
    chained = {operator for part in chains if isinstance(part, Chain) for operator in part.operators}
    assert chained == set(OPERATORS)
    assert {type(part) for part in parts} == {
        Triples, Chain, Static, Values, Bind, Filter, Group, Optional, Query,
    }  # fmt: skip
    assert {query.consumption for case in cases for query in case.queries} == {
        "unrestricted", "recent", "chronological",
    }  # fmt: skip


def test_random_cases_without_time() -> None:
    """They are what they should be: some of them report what is no answer in the end."""
    cases = [random_case(seed, timeless=True) for seed in range(20)]
    assert all(map(is_timeless, cases))
    assert any(answers(case) != answers_until(case, case.ends[-1]) for case in cases)


# --- text -------------------------------------------------------------------------------------------------


def test_text() -> None:
    query = Query(
        group(
            "?a p ?b",
            Chain((group("?a p ?c"), group("?a q ?d"), group("?a q ?e")), ("SEQ", "EQUALSOPTIONAL")),
            Filter(Compare(DURATION, "<", seconds(5))),
        ),
        ("?a", Aggregate("COUNT", "*", "?n")),
        group_by=("?a",),
        within=3 * SECOND,
        streams=(ONE, TWO),
        consumption="recent",
    )
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert text(query).replace("<http://ex/", "<") == (
        "REGISTER QUERY q CONSUMPTION RECENT AS PREFIX : <> SELECT ?a (COUNT(*) AS ?n) FROM STREAM <one>"
        " FROM STREAM <two> WHERE { ?a <p> ?b . { ?a <p> ?c . } SEQ { ?a <q> ?d . } EQUALSOPTIONAL"
        f' {{ ?a <q> ?e . }} FILTER ((getDURATION() < "PT5S"^^<{xsd}duration>)) }}'
        f' GROUP BY ?a WITHIN "PT3S"^^<{xsd}duration>'
    )
