"""Golden tests: what each query becomes on its way, kept beside it and compared to the letter.

A one-shot query is shown in both dialects of SQL, a continuous one as `rheos explain` shows it.

`make golden` writes the files anew; the change is then there to be read in the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rheos import Engine
from rheos.algebra.printer import show
from rheos.algebra.translate import translate
from rheos.optimize import optimize
from rheos.optimize.statistics import PredicateCount, Statistics
from rheos.sql.duckdb import DUCKDB
from rheos.sql.spark import SPARK
from rheos.sql.statement import Statement, compile_query
from rheos.syntax import parse
from rheos.terms import RDF

HERE = Path(__file__).parent
QUERIES = sorted((HERE / "queries").glob("*.rq"))
CONTINUOUS = sorted((HERE / "continuous").glob("*/*.rq"))  # in a folder for each language

# A made-up town of a million triples: many people, few cities.
STATISTICS = Statistics(
    1_000_000,
    {
        f"<{RDF}type>": PredicateCount(100_000, 100_000, 5),
        "<http://ex/name>": PredicateCount(100_000, 100_000, 60_000),
        "<http://ex/age>": PredicateCount(90_000, 90_000, 100),
        "<http://ex/knows>": PredicateCount(600_000, 80_000, 90_000),
        "<http://ex/city>": PredicateCount(100_000, 100_000, 200),
        "<http://ex/size>": PredicateCount(5_000, 5_000, 300),
        "<http://ex/limit>": PredicateCount(5_000, 5_000, 10),
    },
)


def statement_text(statement: Statement) -> str:
    views = (
        f"-- {closure.view}: edges\n{closure.edges}\n"
        + (f"-- {closure.view}: seeds\n{closure.seeds}\n" if closure.seeds else "")
        for closure in statement.closures
    )
    return "".join(views) + statement.sql


def stages(text: str) -> str:
    algebra = translate(parse(text))
    plan = optimize(algebra, STATISTICS)
    parts = {
        "algebra": show(algebra),
        "optimised": show(plan),
        "duckdb": statement_text(compile_query(plan, DUCKDB)),
        "spark": statement_text(compile_query(plan, SPARK)),
    }
    return "".join(f"=== {name}\n{content}\n" for name, content in parts.items())


def kept(golden: Path, found: str) -> str:
    """What a golden file says; it is written anew if that is asked for."""
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found)
    return golden.read_text()


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_stages(query: Path) -> None:
    found = stages(query.read_text())
    assert found == kept(HERE / "stages" / f"{query.stem}.txt", found)


@pytest.mark.parametrize("query", CONTINUOUS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_continuous(query: Path) -> None:
    with Engine() as engine:
        explained = engine.explain(query.read_text(), base="http://ex/", dialect=query.parent.name)
    assert explained == kept(query.with_suffix(".txt"), explained)


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in (HERE / "stages").glob("*.txt")} == {path.stem for path in QUERIES}
    shown = (HERE / "continuous").glob("*/*.txt")
    assert {path.with_suffix(".rq") for path in shown} == set(CONTINUOUS)
