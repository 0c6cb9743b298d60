"""What one query does wrong stays its own: the batch is completed for all the others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from rheos.errors import EvaluationError, TimeLimitError, UnsupportedError
from rheos.runtime.cqels.operator import CqelsBatch
from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.driver import rehearsal
from rheos.runtime.operator import Answers
from rheos.runtime.plan import Control
from tests.runtime.arrivals import NO_STORE
from tests.runtime.batches import Batches, Line
from tests.runtime.streams import Element

S = "http://ex/s"
PREFIX = "PREFIX : <http://ex/>"
FIRST: list[Element] = [("a", "p", "b", 1), ("a", "p", "c", 4)]
SECOND: list[Element] = [("a", "p", "d", 7), ("b", "p", "e", 11)]


def windowed(name: str, where: str = "?s :p ?o", stream: str = S) -> str:
    clause = f"FROM STREAM <{stream}> [RANGE 5s STEP 5s]"
    return f"REGISTER QUERY {name} AS {PREFIX} SELECT ?o {clause} WHERE {{ {where} }}"


def arriving(name: str, subject: str) -> str:
    return (
        f"REGISTER QUERY {name} AS {PREFIX} SELECT ?o WHERE {{ STREAM <{S}> [NOW] {{ :{subject} :p ?o }} }}"
    )


def of(found: Sequence[Line], query: str) -> list[tuple[str, str | None]]:
    return [(time[14:19], row[0]) for name, time, row in found if name == query]


EXPECTED = [
    ("00:05", "<http://ex/b>"),
    ("00:05", "<http://ex/c>"),
    ("00:10", "<http://ex/d>"),
    ("00:15", "<http://ex/e>"),
]


class Bad:
    """Has the evaluation of a query of some name raise an error."""

    def __init__(self, name: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        answers = CSparqlBatch.answers

        def failing(batch: CSparqlBatch, evaluation: CSparqlOperator, *more: Any) -> Answers:
            if evaluation.query.name == name:
                self.times += 1
                raise error
            return answers(batch, evaluation, *more)

        # Not when it is rehearsed.
        monkeypatch.setattr(rehearsal, "rehearse", lambda *_: None)
        monkeypatch.setattr("rheos.runtime.driver.service.rehearse", lambda *_: None)
        monkeypatch.setattr(CSparqlBatch, "answers", failing)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            EvaluationError("DuckDB could not run the query: Binder Error"),
            "DuckDB could not run the query: Binder Error",
        ),
        (MemoryError("no more"), "MemoryError: no more"),
        (KeyError("a bug of ours"), "KeyError: 'a bug of ours'"),
        (duckdb.OutOfMemoryException("failed to allocate"), "OutOfMemoryException: failed to allocate"),
    ],
)
def test_a_query_that_fails_is_stopped_alone(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Bad("bad", error, monkeypatch)
    batches = Batches([S], [windowed("before"), windowed("bad"), windowed("after")])
    found = batches.run([{S: FIRST}, {S: SECOND}])
    assert of(found, "before") == of(found, "after") == EXPECTED
    assert batches.failures == {"bad": reason}
    assert bad.times == 1
    handle = batches.streaming.registry.handles["bad"]
    assert (handle.failure, handle.running) == (reason, False)


def test_who_waits_when_a_query_has_used_up_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Bad("bad", TimeLimitError("too long"), monkeypatch)
    batches = Batches([S], [windowed("before"), windowed("bad"), windowed("after")])
    first = batches.batch({S: [*FIRST, ("a", "p", "d", 7)]})
    # It was in the middle; the one behind it waits for the next batch, so that this one ends.
    assert (first.failures, first.deferred) == ({"bad": "too long"}, {"after"})
    assert [report.query for report in first.reports] == ["before"]
    # In that, those that are proven come first, and new ones wait once more.
    second = batches.batch({S: [("b", "p", "e", 11)]})
    assert [report.query for report in second.reports] == ["before"]
    assert second.deferred == {"after"}
    third = batches.batch({}, {S})
    assert not third.deferred
    assert [report.query for report in third.reports] == ["after"]  # the other one has nothing new
    assert bad.times == 1


def test_a_new_query_that_takes_much_of_its_time_is_the_last_of_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise the others would wait for the sum of all that are hardly quick enough.
    answers = CSparqlBatch.answers

    def sleeping(batch: CSparqlBatch, evaluation: CSparqlOperator, *more: Any) -> Answers:
        if evaluation.query.name.startswith("slow"):
            time.sleep(0.6)
        return answers(batch, evaluation, *more)

    texts = [windowed(name) for name in ("slow1", "slow2", "after")]
    batches = Batches([S], texts, 2.0, Control(0, {}, NO_STORE, limit=2.0))
    monkeypatch.setattr(CSparqlBatch, "answers", sleeping)
    first = batches.batch({S: [*FIRST, ("a", "p", "d", 7)]})
    assert (first.failures, first.deferred) == ({}, {"slow2", "after"})
    second = batches.batch({S: [("b", "p", "e", 11)]})  # nobody waits for two of them, one after the other
    assert ([report.query for report in second.reports], second.deferred) == (["slow1"], {"slow2", "after"})
    third = batches.batch({})
    assert ([report.query for report in third.reports], third.deferred) == (["slow2"], {"after"})
    batches.batch({})
    last = batches.batch({}, {S})
    assert "after" in [report.query for report in last.reports]
    assert not batches.failures


def test_nothing_is_lost_for_those_that_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    Bad("bad", TimeLimitError("too long"), monkeypatch)
    batches = Batches([S], [windowed("bad"), windowed("before"), windowed("after")])
    found = batches.run([{S: FIRST}, {S: SECOND}])
    assert of(found, "before") == of(found, "after") == EXPECTED


def test_readers_do_not_wait_for_a_maker_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    Bad("made", KeyError("a bug"), monkeypatch)
    maker = windowed("made").replace("QUERY", "STREAM").replace("SELECT ?o", "CONSTRUCT { ?s :p ?o }")
    both = windowed("both").replace("WHERE", "FROM STREAM <http://ex/made> [RANGE 5s STEP 5s] WHERE")
    found = Batches([S], [maker, both]).run([{S: FIRST}, {S: SECOND}])
    assert of(found, "both") == EXPECTED


def families(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Batches:
    """A family of eight, of which one makes every evaluation fail that it is part of."""
    novelty = CqelsBatch.novelty

    def failing(
        batch: CqelsBatch, prepared: Any, after: int, until: int, since: Any, constants: Any, *more: Any
    ) -> Any:
        if "<http://ex/f>" in constants.column("c2").to_pylist():
            raise error
        return novelty(batch, prepared, after, until, since, constants, *more)

    batches = Batches([S], [arriving(f"q{number}", "abcdefgh"[number]) for number in range(8)])
    monkeypatch.setattr(CqelsBatch, "novelty", failing)
    return batches


@pytest.mark.parametrize("error", [EvaluationError("it fails"), TimeLimitError("too long")])
def test_of_a_family_only_the_one_is_stopped_that_makes_it_fail(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = families(monkeypatch, error)
    found = batches.run([{S: FIRST}, {S: SECOND}])
    assert batches.failures == {"q5": str(error)}
    assert [row for _, row in of(found, "q0")] == [f"<http://ex/{o}>" for o in "bcd"]
    assert [row for _, row in of(found, "q1")] == ["<http://ex/e>"]


def test_a_query_that_cannot_be_evaluated_is_refused_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise duckdb.BinderException("no such thing\nand more")

    monkeypatch.setattr(CSparqlBatch, "answers", refused)
    text = "\n" + windowed("bad")
    with pytest.raises(UnsupportedError, match="the query cannot be evaluated: no such thing") as found:
        Batches([S], [text])
    assert (found.value.line, found.value.column) == (2, 1)


@pytest.mark.parametrize("where", ['FILTER(STR(?o) != "\\u0000")', 'FILTER(STR(?o) != "a\\u0000\\nb\'")'])
def test_a_character_that_sql_cannot_have(where: str) -> None:
    found = Batches([S], [windowed("odd", f"?s :p ?o {where}")]).run([{S: FIRST}, {S: SECOND}])
    assert of(found, "odd") == EXPECTED


@pytest.mark.slow
def test_what_a_policy_of_consumption_keeps_has_the_same_name_in_every_process() -> None:
    script = """
from tests.runtime.batches import Batches
text = '''REGISTER QUERY q CONSUMPTION RECENT AS PREFIX : <http://ex/>
SELECT * FROM STREAM <http://ex/s> FROM STREAM <http://ex/t> { { ?a :p ?b } SEQ { ?a :q ?c } }'''
batches = Batches(["http://ex/s", "http://ex/t"], [text])
print(batches.streaming.registry.handles["q"].registered.states)
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in range(4)
    }
    assert len(said) == 1
    assert "left" in said.pop()
