"""Random queries of CQELS-QL on random streams through the whole runtime, in both ways of running and in
batches of random size, against all combinations of elements. Elements arrive in disorder, within the lateness
allowed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.answers.continuous import Answer, time_text
from rheos.terms import encode
from tests.continuous.arrival_cases import KINDS, STREAMS, Maker, elements, static
from tests.continuous.arrival_query import SECOND, clauses, text
from tests.continuous.arrival_reference import Case, Timed, answers, row_text, triple_text
from tests.runtime.test_random import ways

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATENESS = 3 * SECOND
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def in_disorder(found: list[Timed], chance: random.Random) -> list[Timed]:
    """The elements as they arrive: none is later than allowed."""
    return sorted(found, key=lambda element: element[3] + chance.randrange(LATENESS))


def drawn(chance: random.Random, number: int, streams: dict[str, list[Timed]]) -> dict[str, Case]:
    """Queries of all kinds over the same streams, most of which have something to report."""
    data = static(chance)
    found: dict[str, Case] = {}
    kinds = chance.sample(KINDS, len(KINDS)) * 2
    while len(found) < number:
        case = Case(Maker(chance, kinds[len(found)]).query(), streams, data)
        if answers(case) or chance.random() < 0.1:
            found[f"q{len(found)}"] = case
    return found


def told(answer: Answer) -> tuple[int, list[str]]:
    """As the reference writes it."""
    if answer.boolean is not None:
        rows = [str(answer.boolean).lower()]
    elif answer.triples is not None:
        rows = [triple_text([encode(term) for term in triple]) for triple in answer.triples]
    else:
        rows = [row_text({f"?{name}": encode(row[name]) for name in row}) for row in answer.rows or []]
    return round(answer.at.timestamp() * 1e6), sorted(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shards", "by", "number", "seed"),
    [(1, None, 30, 0), (1, None, 20, 1), (2, "time", 3, 2), (2, "variable", 20, 3), (None, "kept", 25, 4)],
)
def test_agrees_with_all_combinations(
    shards: int | None, by: str | None, number: int, seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    arriving = {name: in_disorder(elements(chance), chance) for name in STREAMS}
    ordered = {name: sorted(found, key=lambda element: element[3]) for name, found in arriving.items()}
    cases = drawn(chance, number, ordered)
    size = chance.randrange(800, 2500) if shards != 2 else 3000
    with Engine(spark, **ways(shards, by), batch_bytes=size) as engine:
        (data,) = {tuple(case.static) for case in cases.values()}
        engine.load(data="".join(f"{' '.join(quad)} .\n" for quad in data), format="nq")
        for at, (name, found) in enumerate(arriving.items()):
            path = tmp_path / f"{at}.nq"
            path.write_text(
                "".join(f'{s} {p} {o} "{time_text(t)}"^^<{DATE_TIME}> .\n' for s, p, o, t in found)
            )
            engine.add_stream(name[1:-1], path, lateness=LATENESS)
        handles = {name: engine.register(text(case.query), name=name) for name, case in cases.items()}
        assert engine.run()
        assert engine.metrics.batches > 1
        assert not any(metrics.dead for metrics in engine.metrics.streams.values())
        for name, case in cases.items():
            streams = {clause.iri for clause in clauses(case.query)}
            assert handles[name].registered.streams == streams
            assert list(map(told, handles[name].results)) == answers(case), text(case.query)
