"""Random queries on random streams through the whole runtime, in both ways of running and in batches of
random size, against a store per evaluation. Elements arrive in disorder, within the lateness allowed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rheos import Engine
from rheos.algebra.csparql import translate_csparql
from rheos.algebra.streams import LogicalWindow
from rheos.answers.continuous import Answer, time_text
from rheos.runtime.driver.handle import Handle
from rheos.syntax import parse
from rheos.terms import encode
from tests.continuous import reference
from tests.continuous.cases import ONE, PREFIX, QUERIES, SECOND, TIMED, TWO, Text, stream, triple, window
from tests.continuous.reference import Case, Element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATENESS = 2 * SECOND
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def in_disorder(elements: list[Element], chance: random.Random) -> list[Element]:
    """The elements as they arrive: none is later than allowed."""
    return sorted(elements, key=lambda element: element[3] + chance.randrange(LATENESS))


def clauses(chance: random.Random) -> str:
    first = f"FROM STREAM {ONE} {window(chance)}"
    if chance.random() < 0.5:
        return first
    return f"{first} FROM {chance.choice(['', 'NAMED '])}STREAM {TWO} {window(chance)}"


def registered(name: str, text: Text, chance: random.Random) -> str:
    every = chance.choice(["", "", "COMPUTED EVERY 4s"])
    head = f"REGISTER QUERY {name} {every} AS {PREFIX} {text.head}"
    return f"{head} {clauses(chance)} WHERE {text.where} {text.tail}"


def ways(shards: int | None, by: str | None) -> dict[str, Any]:
    """How an engine shares out its work; `kept`: not at all, but with what workers keep between batches."""
    return {"incremental": True} if by == "kept" else {"shards": shards, "shard_by": by}


def end(case: Case) -> int:
    """Where the clock stops: the first evaluation at which every window is past its last element."""
    last = {name: elements[-1][3] for name, elements in case.streams.items()}
    latest = max(last.values())
    steps = [
        (last[w.stream], w.window.step) for w in case.query.windows if isinstance(w.window, LogicalWindow)
    ]
    for moment in reference.moments(case, latest - 1, latest + 100 * SECOND):
        if all(moment.at // step * step >= time for time, step in steps):
            return moment.at
    return latest


def reported(handle: Handle) -> list[reference.Answer]:
    return [(round(answer.at.timestamp() * 1e6), rows(answer)) for answer in handle.results]


def rows(answer: Answer) -> Counter[tuple[object, ...]]:
    if answer.boolean is not None:
        return Counter([(answer.boolean,)])
    if answer.triples is not None:
        return Counter(tuple(encode(term) for term in triple) for triple in answer.triples)
    return Counter(
        tuple(encode(row[name]) if name in row else None for name in answer.variables)
        for row in answer.rows or []
    )


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])  # read where they are evaluated, or by tasks of their own
@pytest.mark.parametrize(
    ("shards", "by", "number", "seed"),
    [(1, None, 20, 0), (1, None, 20, 1), (2, "time", 4, 2), (2, "variable", 20, 3), (None, "kept", 25, 4)],
)
def test_agrees_with_a_store_per_evaluation(
    shards: int | None,
    by: str | None,
    number: int,
    seed: int,
    large: bool,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if large:
        monkeypatch.setattr("rheos.runtime.driver.loop.LARGE_BATCH", -1)
    chance = random.Random(seed)
    arriving = {ONE: in_disorder(stream(chance), chance), TWO: in_disorder(stream(chance), chance)}
    ordered = {name: sorted(found, key=lambda element: element[3]) for name, found in arriving.items()}
    static = [triple(chance, ["static", "p", "other"]) for _ in range(5)]
    texts = chance.sample([*QUERIES, *TIMED], number)
    queries = {f"q{at}": registered(f"q{at}", text, chance) for at, text in enumerate(texts)}
    size = chance.randrange(200, 1500) if shards != 2 else 3000
    with Engine(spark, **ways(shards, by), batch_bytes=size) as engine:
        engine.load(data="".join(f"{' '.join(triple)} .\n" for triple in static), format="nt")
        for at, (name, elements) in enumerate(arriving.items()):
            path = tmp_path / f"{at}.nq"
            path.write_text(
                "".join(f'{s} {p} {o} "{time_text(t)}"^^<{DATE_TIME}> .\n' for s, p, o, t in elements)
            )
            engine.add_stream(name[1:-1], path, lateness=LATENESS)
        handles = {name: engine.register(query) for name, query in queries.items()}
        assert engine.run()
        assert engine.metrics.batches > 1
        assert not any(metrics.dead for metrics in engine.metrics.streams.values())
        for (name, handle), text in zip(handles.items(), texts, strict=True):
            head, where, tail = text.same_as or text[:3]
            continuous = translate_csparql(parse(queries[name], "csparql"), name)
            read = {w.stream for w in continuous.windows}
            case = Case(
                continuous,
                f"{PREFIX} {head} WHERE {where} {tail}",
                static,
                {stream: elements for stream, elements in ordered.items() if stream in read},
                {},
            )
            columns = list(handle.variables)
            expected = reference.answers(case, columns, -1, end(case))
            assert reported(handle) == expected, queries[name]
