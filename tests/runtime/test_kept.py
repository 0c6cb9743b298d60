"""Static parts as tables: what families share is computed once, and for all of their constants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.runtime.cqels.operator import CqelsFamily, CqelsOperator
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.plan import Registered
from rheos.runtime.state.store import Store
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse

NAMES = "".join(f'<http://ex/{name}> <http://ex/name> "{name}" .\n' for name in "abcd")


@pytest.fixture
def tables(tmp_path: Path) -> StaticTables:
    graphs = StaticGraphs()
    graphs.load(data=NAMES, format="nt")
    return StaticTables(graphs, Store(uri_of(tmp_path)), lambda: Local(graphs))


def family(window: str, names: str, more: str = "") -> CqelsFamily:
    """A query for each of the names, that asks where somebody is seen."""
    found = []
    for name in names:
        where = (
            f'STREAM <http://ex/s> [{window}] {{ ?who <http://ex/in> ?room }} ?who <http://ex/name> "{name}"'
        )
        query = translate_cqels(parse(f"SELECT * {{ {where} {more} }}", "cqels"), name, "http://ex/", ())
        found.append(Registered(QueryInfo(name, "select"), CqelsOperator.of(query)))
    return CqelsFamily.of(found)


def filled(tables: StaticTables, families: Sequence[CqelsFamily]) -> list[pa.Table]:
    kept = tables.up_to_date(part for one in families for part in one.static_parts)
    return [tables.store.table(table.file) for table in kept.values()]


def people(table: pa.Table) -> list[str]:
    """Of the column that has IRIs."""
    [column] = [terms for terms in map(pa.ChunkedArray.to_pylist, table.columns) if terms[0].startswith("<")]
    return sorted(term[-2] for term in column)


def test_families_with_the_same_part_and_other_constants(tables: StaticTables) -> None:
    one, two = filled(tables, [family("NOW", "ab"), family("TRIPLES 1", "bc")])
    assert people(one) == ["a", "b"]
    assert people(two) == ["b", "c"]


def test_a_part_is_computed_again_when_constants_change(tables: StaticTables) -> None:
    [table] = filled(tables, [family("NOW", "ab")])
    assert people(table) == ["a", "b"]
    took = tables.milliseconds
    assert took > 0
    [table] = filled(tables, [family("NOW", "ab")])
    assert tables.milliseconds == took
    [table] = filled(tables, [family("NOW", "abd")])
    assert people(table) == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ("VALUES ?who { <http://ex/a> <http://ex/b> }", ["a", "b"]),
        ("FILTER (?who IN (<http://ex/a>, <http://ex/b>))", ["a", "b"]),
        ("FILTER (STR(?who) != ?name)", ["a", "b", "c", "d"]),
        ("FILTER (?name != ?room)", ["a", "b", "c", "d"]),
        ("FILTER (RAND() < 2 && ?who = ?who)", ["a", "b", "c", "d"]),
        ("FILTER (?name > 'b')", ["c", "d"]),
    ],
)
def test_what_a_query_is_about_restricts_its_part(about: str, found: list[str], tables: StaticTables) -> None:
    stream = "STREAM <http://ex/s> [NOW] { ?who <http://ex/in> ?room }"
    text = f"SELECT * {{ {stream} ?who <http://ex/name> ?name . {about} }}"
    query = translate_cqels(parse(text, "cqels"), "q", "http://ex/", ())
    [table] = filled(
        tables, [CqelsFamily.of([Registered(QueryInfo("q", "select"), CqelsOperator.of(query))])]
    )
    assert people(table) == found
