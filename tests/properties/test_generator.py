"""The generator itself: what it writes is SPARQL, all of it comes up, and most of it has an answer."""

from __future__ import annotations

from collections import Counter

import rheos
from tests.conformance.subjects import Oxigraph

from .queries import random_trial
from .vocabulary import Dice

TRIALS = 400
WORDS = [
    "OPTIONAL", "UNION", "MINUS", "FILTER", " EXISTS", "NOT EXISTS", "BIND", "VALUES", "UNDEF", "GRAPH ?",
    "GRAPH :", "GROUP BY", "HAVING", "COUNT", "SUM", "AVG", "MIN(", "MAX(", "GROUP_CONCAT", "SAMPLE",
    "ORDER BY", "LIMIT", "DISTINCT", "REDUCED", "CONSTRUCT", "ASK", "FROM ", ")*", ")+", ")?", "!:", "!(",
    "^(", "|", "{ SELECT", "IF(", "COALESCE", "REGEX", "xsd:double(",
]  # fmt: skip


def test_queries_are_right_and_most_have_an_answer() -> None:
    seen: Counter[str] = Counter()
    for seed in range(TRIALS):
        trial = random_trial(Dice(seed))
        rheos.parse(trial.query)
        subject = Oxigraph()
        subject.load_quads(trial.data)
        answer = subject.query(trial.reference)
        seen["answered"] += bool(answer.rows or answer.triples or answer.boolean)
        seen.update(word for word in WORDS if word in trial.query)
    assert seen["answered"] >= TRIALS * 0.45
    assert [word for word in WORDS if not seen[word]] == []
