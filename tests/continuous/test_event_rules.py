"""The reference of EP-SPARQL itself: consumption, rules and entailment, worked out by hand."""

from __future__ import annotations

import pytest

from tests.continuous.arrival_query import Bind, Filter, Group, Optional
from tests.continuous.event_algebra import Event
from tests.continuous.event_query import (
    DURATION,
    As,
    Chain,
    Element,
    Query,
    chain,
)
from tests.continuous.event_reference import Case, Endless, answers
from tests.continuous.event_shorthand import (
    ONE,
    group,
    pattern,
    quads,
    reported,
    seconds,
    seq,
    short,
    stream,
)
from tests.continuous.expressions import And, Arithmetic, Bound, Compare, Not, integer

# --- consumption ------------------------------------------------------------------------------------------


def consuming(policy: str, *predicates: str) -> Query:
    names = "bcde"
    parts = [group(f"?a {predicate} ?{names[at]}") for at, predicate in enumerate(predicates)]
    return Query(group(seq(*parts)), consumption=policy)


EVENTS = (("x p 1", 1), ("x p 2", 2), ("y p 3", 3), ("x q 4", 4), ("x q 5", 5), ("x p 6", 5), ("x q 7", 7))


def test_recent() -> None:
    """Each on the right takes the last before it; one on the left may be taken again."""
    assert reported(consuming("recent", "p", "q"), stream(*EVENTS)) == [
        "2-4 a=x b=2 c=4", "2-5 a=x b=2 c=5", "5-7 a=x b=6 c=7",
    ]  # fmt: skip


def test_chronological() -> None:
    """Each on the right takes the first that is left."""
    assert reported(consuming("chronological", "p", "q"), stream(*EVENTS)) == [
        "1-4 a=x b=1 c=4", "2-5 a=x b=2 c=5", "5-7 a=x b=6 c=7",
    ]  # fmt: skip
    assert len(reported(consuming("unrestricted", "p", "q"), stream(*EVENTS))) == 7


def test_the_last_is_by_end_then_start_then_terms() -> None:
    left = (("x p 1", 0, 3), ("x p 2", 1, 2), ("x p 5", 1, 3), ("x p 4", 1, 3))
    events = stream(*left, ("x q 6", 4))
    assert reported(consuming("recent", "p", "q"), events) == ["1-4 a=x b=5 c=6"]
    assert reported(consuming("chronological", "p", "q"), events) == ["1-4 a=x b=2 c=6"]


def test_every_seq_uses_up_its_own() -> None:
    """Of two in a chain, the second takes from what the first made."""
    events = stream(("x p 1", 1), ("x p 2", 2), ("x q 3", 3), ("x q 4", 4), ("x r 5", 5), ("x r 6", 6))
    assert reported(consuming("chronological", "p", "q", "r"), events) == [
        "1-5 a=x b=1 c=3 d=5", "2-6 a=x b=2 c=4 d=6",
    ]  # fmt: skip
    assert reported(consuming("recent", "p", "q", "r"), events) == [
        "2-5 a=x b=2 c=4 d=5", "2-6 a=x b=2 c=4 d=6",
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["recent", "chronological"])
def test_background_knowledge_is_not_consumed(policy: str) -> None:
    events = stream(("x p 1", 1), ("x q 2", 2), ("x q 3", 3))
    found = reported(consuming(policy, "p", "q"), events, quads("x p 9", "x q 8"))
    always = ["1-1 a=x b=1 c=8", "2-2 a=x b=9 c=2", "3-3 a=x b=9 c=3"]
    chosen = ["1-2 a=x b=1 c=2"] + ["1-3 a=x b=1 c=3"] * (policy == "recent")
    assert sorted(found) == sorted([*always, *chosen])


# --- rules ------------------------------------------------------------------------------------------------


def rule(template: str, *parts: str | Element) -> Query:
    return Query(group(*parts), template=tuple(map(pattern, template.split(", "))))


def test_a_rule_adds_to_the_stream() -> None:
    events = stream(("x p y", 1), ("y q z", 2), ("z r w", 3))
    made = rule("?a made ?c", seq(group("?a p ?b"), group("?b q ?c")))
    assert reported(made, events) == ["1-2 x made z ."]
    assert reported(group(seq(group("?a made ?c"), group("?c r ?d"))), events, None, made) == [
        "1-3 a=x c=z d=w"
    ]


def test_a_rule_sees_what_it_derives() -> None:
    events = stream(("a p b", 1), ("b p c", 2), ("c p d", 3))
    first = rule("?a far ?b", "?a p ?b")
    again = rule("?a far ?c", seq(group("?a far ?b"), group("?b p ?c")))
    assert reported(group("a far ?x"), events, None, first, again) == ["1-1 x=b", "1-2 x=c", "1-3 x=d"]
    backwards = list(stream(("c p d", 1), ("b p c", 2)))
    assert reported(group("b far ?x"), backwards, None, first, again) == ["2-2 x=c"]


def test_rules_need_no_order() -> None:
    """At one time as well; a rule without SEQ works at an instant."""
    events = stream(("a p b", 1), ("b p c", 1), ("c p d", 1))
    rules = [rule("?a far ?c", "?a far ?b", "?b far ?c"), rule("?a far ?b", "?a p ?b")]
    expected = ["1-1 x=b", "1-1 x=c", "1-1 x=d"]
    assert reported(group("a far ?x"), events, None, *rules) == expected
    assert reported(group("a far ?x"), events, None, *reversed(rules)) == expected


def test_blank_nodes_are_those_of_a_solution() -> None:
    events = stream(("x p 1", 1), ("x p 2", 1))
    made = rule("_:e of ?a, _:e value ?b", "?a p ?b")
    assert reported(group("?e of ?a", "?e value ?b"), events, None, made) == [
        "1-1 a=x b=1 e=_:",
        "1-1 a=x b=2 e=_:",
    ]
    same = rule("_:e of ?a", Query(group("?a p ?b"), ("?a",)))
    assert reported(group("?e of ?a"), events, None, same) == ["1-1 a=x e=_:"]


def test_a_template_needs_all_its_variables() -> None:
    events = stream(("x p y", 1), ("z p y", 1), ("z q w", 1))
    made = rule("?a has ?b, ?a with ?c", "?a p ?b", Optional(group("?a q ?c")))
    assert reported(made, events) == ["1-1 z has y .", "1-1 z with w ."]


def test_a_rule_without_an_event_derives_nothing() -> None:
    made = rule("?a made ?b", "?a s ?b")
    assert reported(group("?a made ?b"), stream(("x p y", 1)), quads("x s y"), made) == []


def test_rules_without_end_are_cut_off() -> None:
    endless = rule("?a p ?n", "?a p ?b", Bind(Arithmetic("?b", "+", integer(1)), "?n"))
    with pytest.raises(Endless):
        reported(group("?a p ?b"), stream(("x p 1", 1)), None, endless)
    counting = rule(
        "?a p ?n", seq(group("?a p ?b"), group("?a q ?c")), Bind(Arithmetic("?b", "+", integer(1)), "?n")
    )
    events = stream(("x p 1", 1), ("x q 0", 2), ("x q 0", 3))
    assert reported(group("?a p ?b"), events, None, counting) == [
        "1-1 a=x b=1", "1-2 a=x b=2", "1-3 a=x b=2", "1-3 a=x b=3",
    ]  # fmt: skip


def test_an_option_that_rules_derive_at_the_same_time_is_refused() -> None:
    paradox = rule("?a q ?b", "?a p ?b", Optional(group("?a q ?c")), Filter(Not(Bound("?c"))))
    with pytest.raises(AssertionError):
        Case([paradox], {ONE: []})
    earlier = rule(
        "?a q ?b", chain("OPTIONALSEQ", group("?a q ?c"), group("?a p ?b")), Filter(Not(Bound("?c")))
    )
    assert reported(earlier, stream(("x p 1", 1), ("x p 2", 2))) == ["1-1 x q 1 ."]


def test_the_average_of_the_paper() -> None:
    """Queries (5) and (6): counts and sums go on from price to price while the window lasts; an average is
    told when the price before would make it too long. The paper leaves out how a count begins."""
    limit = 10
    price, before = group("acme price ?price"), group("?point count ?n", "?point sum ?s")
    between = group("acme price ?between")
    alone = Not(Bound("?between"))
    begin = rule("_:p count ?one, _:p sum ?price", *price.elements, Bind(integer(1), "?one"))
    go_on = rule(
        "_:p count ?count, _:p sum ?sum",
        Query(
            group(
                Chain((before, price, group(seq(before, between, price))), ("SEQ", "EQUALSOPTIONAL")),
                Filter(And(alone, Compare(DURATION, "<", seconds(limit)))),
            ),
            (As(Arithmetic("?n", "+", integer(1)), "?count"), As(Arithmetic("?s", "+", "?price"), "?sum")),
        ),
    )
    average = Query(
        group(
            Chain((price, before, group(seq(price, between, before))), ("SEQ", "EQUALSOPTIONAL")),
            Filter(And(alone, Compare(DURATION, ">", seconds(limit)))),
        ),
        (As(Arithmetic("?s", "/", "?n"), "?average"),),
    )
    events = stream(
        *((f"acme price {value}", at) for at, value in ((0, 10), (4, 20), (8, 30), (12, 60), (30, 5)))
    )
    # 12: of 4, 8 and 12, because 0 is too long ago. 30: of 30 alone.
    assert reported(average, events, None, begin, go_on) == [
        "0-12 average=36.666666666666666666", "12-30 average=5",
    ]  # fmt: skip


# --- entailment -------------------------------------------------------------------------------------------


def entailing(where: Group, events: list[Event], *static: str) -> list[str]:
    return short(answers(Case([Query(where)], {ONE: events}, quads(*static), entailment=True)))


def test_classes_of_background_knowledge() -> None:
    schema = ("oak subClassOf tree", "tree subClassOf plant", "x a oak", "y a stone")
    events = stream(("x seen here", 1), ("y seen here", 2))
    assert entailing(group("?a seen here", "?a a plant"), events, *schema) == ["1-1 a=x"]


def test_what_follows_from_an_event_has_its_interval() -> None:
    schema = (
        "bought subPropertyOf has",
        "has subPropertyOf knows",
        "has domain owner",
        "owner subClassOf person",
    )
    events = stream(("x bought y", 1, 2))
    assert entailing(group("?a knows ?b"), events, *schema) == ["1-2 a=x b=y"]
    assert entailing(group("?a a person"), events, *schema) == ["1-2 a=x"]


def test_ranges_are_not_those_of_literals() -> None:
    events = stream(("x p y", 1), ("x p 5", 2))
    assert entailing(group("?a a thing"), events, "p range thing") == ["1-1 a=y"]


def test_the_schema_is_static() -> None:
    events = stream(("oak subClassOf tree", 1), ("x a oak", 2))
    assert entailing(group("?a a tree"), events, "y a oak") == []
    assert entailing(group("?a subClassOf ?b"), events, "tree subClassOf plant") == ["1-1 a=oak b=tree"]


def test_what_rules_derive_entails_too() -> None:
    made = rule("?a bought ?b", "?a p ?b")
    case = Case(
        [made, Query(group("?a has ?b"))],
        {ONE: stream(("x p y", 1))},
        quads("bought subPropertyOf has"),
        True,
    )
    assert short(answers(case)) == ["1-1 a=x b=y"]
    assert short(answers(case, 0)) == ["1-1 x bought y ."]
