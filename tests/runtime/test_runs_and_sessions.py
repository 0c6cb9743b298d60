"""Runs of EP-SPARQL, sessions of C-SPARQL and events in windows of RSP-QL, on a whole run of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos import Engine

LINE = '<http://ex/{}> <http://ex/{}> "{}"'
LINE += ' "2026-03-02T09:00:{:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
ELEMENTS = [
    ("a", "v", 1, 1),
    ("a", "v", 2, 3),
    ("b", "v", 7, 4),
    ("a", "v", 3, 5),
    ("a", "w", 0, 20),
    ("a", "v", 5, 31),
    ("b", "v", 8, 33),
]
RUNS = """PREFIX : <http://ex/> SELECT ?s ?n ?first ?last
          WHERE { { ?s :v ?v }+ AS (COUNT(*) AS ?n, FIRST(?v) AS ?first, LAST(?v) AS ?last)%s }"""


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.nq"
    path.write_text("".join(LINE.format(*element) for element in ELEMENTS))
    return path


def test_runs_and_sessions(spark: object, stream: Path) -> None:
    with Engine(spark=spark) as engine:
        engine.add_stream("http://ex/s", stream)
        limited = engine.register(RUNS % " WITHIN PT10S", name="limited")
        whole = engine.register(RUNS % "", name="whole")
        sessions = engine.register(
            "REGISTER QUERY sessions AS PREFIX : <http://ex/> SELECT ?s (COUNT(*) AS ?n)"
            " FROM STREAM <http://ex/s> [SESSION PT3S PER SUBJECT] WHERE { ?s :v ?v } GROUP BY ?s"
        )
        windows = engine.register(
            "PREFIX : <http://ex/> REGISTER RSTREAM <windows> AS SELECT ?s (COUNT(*) AS ?n)"
            " FROM NAMED WINDOW :w ON <http://ex/s> [RANGE PT10S]"
            " WHERE { WINDOW :w { { ?s :v ?v } SEQ { ?s :v ?w } } } GROUP BY ?s"
        )
        engine.run()
        # One that lasts at most 10 seconds is known when these are over, and at the end all are.
        assert told(limited) == [
            (11, 1, 5, "a", "3", "1", "3"),
            (14, 4, 4, "b", "1", "7", "7"),
            (33, 31, 31, "a", "1", "5", "5"),
            (33, 33, 33, "b", "1", "8", "8"),
        ]
        assert told(whole) == [(33, 1, 31, "a", "4", "1", "5"), (33, 4, 33, "b", "2", "7", "8")]
        assert told(sessions) == [
            (7, None, None, "b", "1"),
            (8, None, None, "a", "3"),
            (23, None, None),
            (34, None, None, "a", "1"),
            (36, None, None, "b", "1"),
        ]
        assert told(windows) == [
            (10, None, None, "a", "3"),
            (20, None, None),
            (40, None, None),
        ]


def told(query: object) -> list[tuple[object, ...]]:
    """When each row was reported, from when to when it is, and its terms; answers without rows, too."""
    found: list[tuple[object, ...]] = []
    for answer in query.results:  # type: ignore[attr-defined]
        times = [None if time is None else time.second for time in (answer.at, answer.start, answer.end)]
        rows = [
            [row[name].value.removeprefix("http://ex/") for name in answer.variables] for row in answer.rows
        ]
        found += [(*times, *row) for row in rows or [[]]]
    return found
