"""What a batch gives beside the right rows: order, names of new nodes, and work that is done once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.operator import Answers, End
from rheos.runtime.worker.database import NO_SETTINGS, Database
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse

SECOND = 1_000_000
STREAM = "<http://ex/s>"


def evaluation(
    text: str, window: str = "[RANGE 10s STEP 5s]", registration: str = "QUERY q"
) -> CSparqlOperator:
    head, where = text.split("{", 1) if not text.startswith("CONSTRUCT") else text.rsplit("{", 1)
    query = f"REGISTER {registration} AS PREFIX : <http://ex/> {head} FROM STREAM {STREAM} {window} {{{where}"
    return CSparqlOperator.of(translate_csparql(parse(query, "csparql"), "q"))


def elements(*found: tuple[str, float]) -> pa.Table:
    """Triples, in short, with their seconds."""
    rows = [(*(f"<http://ex/{name}>" for name in triple.split()), seconds) for triple, seconds in found]
    s, p, o, seconds = zip(*rows, strict=True)
    times = pa.array([int(second * SECOND) for second in seconds], pa.int64())
    return pa.table({"s": s, "p": p, "o": o, "time": times, "place": pa.array(range(1, len(rows) + 1))})


class Counting(Database):
    """A place that remembers what it was asked to do."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        super().__init__(cursor)
        self.done: list[str] = []

    def run(self, sql: str) -> duckdb.DuckDBPyConnection:
        self.done.append(sql)
        return super().run(sql)


def batch(found: pa.Table) -> tuple[CSparqlBatch, Counting]:
    place = Counting(StaticGraphs().connection.cursor())
    place.cursor.register("elements", found)
    return CSparqlBatch(place, {STREAM: "elements"}), place


def answer(asked: CSparqlOperator, found: pa.Table, after: float = -1, until: float = 100) -> Answers:
    return batch(found)[0].answers(asked, int(after * SECOND), int(until * SECOND))


def test_a_second_query_on_the_same_window_makes_nothing_anew() -> None:
    shared, place = batch(elements(("a p b", 1), ("a p c", 2), ("a p b", 3)))
    shared.answers(evaluation("SELECT ?a { ?a :p ?b }"), -1, 10 * SECOND)
    place.done.clear()
    shared.answers(evaluation("SELECT ?b { ?a :p ?b }"), -1, 10 * SECOND)
    assert len(place.done) == 1


def test_physical_windows_are_shared_too() -> None:
    shared, place = batch(elements(("a p b", 1), ("a p c", 2), ("a p b", 3)))
    shared.answers(evaluation("SELECT ?a { ?a :p ?b }", "[RANGE TRIPLES 2]"), -1, 10 * SECOND)
    place.done.clear()
    shared.answers(evaluation("SELECT ?b { ?a :p ?b }", "[RANGE TRIPLES 2]"), -1, 10 * SECOND)
    assert len(place.done) == 1


def test_rows_come_in_an_order_that_nothing_else_decides() -> None:
    asked = evaluation("SELECT ?o ?s { ?s :p ?o }", "[RANGE 5s TUMBLING]")
    found = elements(("b p y", 1), ("c p x", 2), ("a p y", 3), ("z p z", 8), ("a p x", 9))
    rows = answer(asked, found).rows.to_pylist()
    ends = [(row["at"] // SECOND, row["o"][-2], row["s"][-2]) for row in rows]
    assert ends == [(5, "x", "c"), (5, "y", "a"), (5, "y", "b"), (10, "x", "a"), (10, "z", "z")]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SELECT ?s ?o { ?s :p ?o } ORDER BY ?o LIMIT 2", [("a", "y"), ("b", "y")]),
        ("SELECT ?o ?s { ?s :p ?o } LIMIT 2", [("y", "a"), ("y", "b")]),
        ("SELECT ?o ?s { ?s :p ?o } ORDER BY DESC(?o) OFFSET 3", [("y", "c"), ("y", "d")]),
        ("SELECT ?o { { SELECT ?o ?s { ?s :p ?o } ORDER BY ?s LIMIT 1 } }", [("y",)]),
        ("SELECT DISTINCT ?s { ?s :p ?o } ORDER BY ?o LIMIT 1", [("a",)]),
    ],
)
def test_what_limit_cuts_off_does_not_depend_on_arrival(text: str, kept: list[tuple[str, ...]]) -> None:
    triples = ["c p y", "a p z", "b p y", "d p y", "a p y"]
    for first in range(5):
        found = elements(*((triple, 1) for triple in triples[first:] + triples[:first]))
        rows = answer(evaluation(text, "[RANGE 5s TUMBLING]"), found).rows.to_pylist()
        assert [tuple(row[name][-2] for name in row if name not in ("instant", "at")) for row in rows] == kept


def test_instants_with_no_row_are_reported() -> None:
    found = answer(evaluation("SELECT ?s { ?s :q ?o }", "[RANGE 5s TUMBLING]"), elements(("a p b", 1)))
    assert found.instants.column("at").to_pylist() == [5 * SECOND]
    assert found.rows.num_rows == 0
    assert found.rows.column_names == ["instant", "at", "s"]


def test_no_instant_at_all() -> None:
    asked = evaluation("ASK { ?s :q ?o }", "[RANGE 5s TUMBLING]")
    found = answer(asked, elements(("a p b", 1)), after=5)
    assert found.instants.num_rows == found.rows.num_rows == 0
    assert found.rows.schema.field("found").type == pa.bool_()


class Planned(Database):
    """A place that remembers the plan of what it was asked last."""

    def ask(self, sql: str, settings: Mapping[str, str] = NO_SETTINGS) -> pa.Table:
        with self.set(sql, settings):
            self.plan = "".join(row[1] for row in self.run(f"EXPLAIN {sql}").fetchall())
        return super().ask(sql, settings)


@pytest.mark.parametrize(("number", "joined"), [(150, "NESTED_LOOP_JOIN"), (1500, "IE_JOIN")])
def test_many_instants_are_sorted_not_looked_at_for_every_row(number: int, joined: str) -> None:
    place = Planned(StaticGraphs().connection.cursor())
    place.put("elements", elements(*((f"a{at} p g{at % 7}", at / 100) for at in range(number))))
    counted = evaluation("SELECT ?o (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?o", "[RANGE TRIPLES 100 STEP 1]")
    found = CSparqlBatch(place, {STREAM: "elements"}).answers(counted, -1, 100 * SECOND)
    assert joined in place.plan
    at_end = {row["o"][-2]: row["n"] for row in found.rows.to_pylist() if row["instant"] == number}
    last = Counter(str(at % 7) for at in range(number - 100, number))
    assert {group: int(count.split('"')[1]) for group, count in at_end.items()} == last


def labels(found: Answers) -> set[str]:
    return {
        row[name] for row in found.rows.to_pylist() for name in ("subject", "object") if row[name][0] == "_"
    }


NEW = "CONSTRUCT { _:x :of ?s . _:x :to ?o } { ?s :p ?o }"
SOME = elements(("a p b", 1), ("a p c", 1), ("b p c", 1), ("a p b", 4), ("c p d", 7))


def test_new_blank_nodes_are_new_in_every_solution_and_at_every_instant() -> None:
    found = answer(evaluation(NEW, "[RANGE 4s STEP 2s]", "STREAM q"), SOME)
    assert len(labels(found)) == found.rows.num_rows // 2
    physical = answer(evaluation(NEW, "[RANGE TRIPLES 2]", "STREAM q"), SOME)
    assert len(labels(physical)) == physical.rows.num_rows // 2 == 1 + 2 + 2 + 2 + 2


def test_new_blank_nodes_do_not_depend_on_batches() -> None:
    for window in ("[RANGE 4s STEP 2s]", "[RANGE TRIPLES 2]"):
        asked = evaluation(NEW, window, "STREAM q")
        whole = answer(asked, SOME)
        kept = SOME.filter(pa.array(asked.live(STREAM, {STREAM: SOME}, 2 * SECOND)))
        parts = labels(answer(asked, SOME, until=2)) | labels(answer(asked, kept, after=2))
        assert parts == labels(whole)


def test_two_queries_never_make_the_same_blank_node() -> None:
    one, two = (answer(evaluation(NEW, registration=f"STREAM {name}"), SOME) for name in "qr")
    assert labels(one).isdisjoint(labels(two))


def test_what_is_kept_is_what_can_still_be_seen() -> None:
    found = elements(*((f"a p x{second}", second) for second in range(20)))

    def kept(window: str, until: float) -> list[int]:
        asked = evaluation("SELECT * { ?s ?p ?o }", window)
        live = asked.live(STREAM, {STREAM: found}, int(until * SECOND))
        return [time // SECOND for time in found.filter(pa.array(live)).column("time").to_pylist()]

    assert kept("[RANGE 10s STEP 5s]", 12) == [*range(6, 20)]
    assert kept("[RANGE 5s STEP 5s]", 15) == [*range(16, 20)]
    assert kept("[RANGE 2s STEP 5s]", 11) == [14, 15, 19]
    assert kept("[RANGE TRIPLES 3]", 11) == [*range(9, 20)]
    assert len(kept("[RANGE TRIPLES 3 STEP 4]", 11)) <= 3 + 4 + 8


def test_the_end_is_the_first_instant_that_has_seen_all() -> None:
    last = {STREAM: End(12 * SECOND, before=5, count=6)}
    for window, registration, end in (
        ("[RANGE 10s STEP 5s]", "QUERY q", 15),
        ("[RANGE 10s STEP 5s]", "QUERY q COMPUTED EVERY 2s", 16),
        ("[RANGE 10s STEP 4s]", "QUERY q COMPUTED EVERY 7s", 14),
        ("[RANGE TRIPLES 3]", "QUERY q", 12),
        ("[RANGE TRIPLES 3]", "QUERY q COMPUTED EVERY 5s", 15),
    ):
        asked = evaluation("SELECT * { ?s ?p ?o }", window, registration)
        assert asked.end(last) == end * SECOND
        assert asked.end({}) is None


def test_computed_every_between_the_steps_of_a_window() -> None:
    asked = evaluation("SELECT ?o { ?s ?p ?o }", "[RANGE 4s STEP 4s]", "QUERY q COMPUTED EVERY 3s")
    found = answer(asked, elements(("a p b", 1), ("a p c", 6)))
    seen = [(row["at"] // SECOND, row["o"][-2]) for row in found.rows.to_pylist()]
    # At 6 s the window is still the one that ended at 4 s, at 9 s that of 8 s; at 12 s it is empty.
    assert seen == [(6, "b"), (9, "c")]
    assert [at // SECOND for at in found.instants.column("at").to_pylist()] == [6, 9]


def test_a_few_triples_that_come_again_among_many_that_do_not() -> None:
    others = [(f"a p x{number}", 1.0) for number in range(50)]
    found = elements(("a p b", 0.5), *others, ("a p b", 4), ("a p b", 11))
    asked = evaluation("SELECT ?o (timestamp(?o) AS ?t) { ?s :p ?o FILTER(?o = :b) }")
    rows = answer(asked, found).rows.to_pylist()
    # In the windows of 5 s and 10 s it is there twice, once as a triple of a set, with its latest time.
    times = [(row["at"] // SECOND, row["t"][1:21]) for row in rows]
    first, second = "1970-01-01T00:00:04Z", "1970-01-01T00:00:11Z"
    assert times == [(5, first), (10, first), (15, second), (20, second)]
