"""The generator itself: what it writes is SPARQL, and most of it has an answer."""

from __future__ import annotations

from collections import Counter

from hypothesis import Phase, given, settings

import rheos
from tests.conformance.subjects import Oxigraph

from .queries import Trial, trials

SEEN: Counter[str] = Counter()
WORDS = [
    "OPTIONAL", "UNION", "MINUS", "FILTER", " EXISTS", "NOT EXISTS", "BIND", "VALUES", "UNDEF", "GRAPH ?",
    "GRAPH :", "GROUP BY", "HAVING", "COUNT", "SUM", "AVG", "MIN(", "MAX(", "GROUP_CONCAT", "SAMPLE",
    "ORDER BY", "LIMIT", "DISTINCT", "CONSTRUCT", "ASK", "FROM ", ")*", ")+", ")?", "!:", "!(", "^",
]  # fmt: skip


@settings(max_examples=300, phases=[Phase.generate])
@given(trials())
def record(trial: Trial) -> None:
    subject = Oxigraph()
    subject.load_quads(trial.data)
    answer = subject.query(trial.reference)
    rheos.parse(trial.query)
    SEEN["trials"] += 1
    SEEN["answered"] += bool(answer.rows or answer.triples or answer.boolean)
    for word in WORDS:
        SEEN[word] += word in trial.query


def test_queries_are_right_and_most_have_an_answer() -> None:
    SEEN.clear()
    record()
    assert SEEN["answered"] >= SEEN["trials"] / 2
    assert [word for word in WORDS if not SEEN[word]] == []
