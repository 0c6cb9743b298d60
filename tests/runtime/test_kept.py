"""Static parts as tables: what families share is computed once, and for all of their constants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.arriving import translate_arriving
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.runtime.arriving import Arrival
from rheos.runtime.kept import KeptTables, read_kept
from rheos.runtime.plan import Registered, Relatives
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse

NAMES = "".join(f'<http://ex/{name}> <http://ex/name> "{name}" .\n' for name in "abcd")


@pytest.fixture
def tables(tmp_path: Path) -> KeptTables:
    graphs = StaticGraphs()
    graphs.load(data=NAMES, format="nt")
    return KeptTables(graphs, tmp_path, lambda: Local(graphs))


def family(window: str, names: str, more: str = "") -> Relatives:
    """A query for each of the names, that asks where somebody is seen."""
    found = []
    for name in names:
        where = (
            f'STREAM <http://ex/s> [{window}] {{ ?who <http://ex/in> ?room }} ?who <http://ex/name> "{name}"'
        )
        query = translate_arriving(parse(f"SELECT * {{ {where} {more} }}", "cqels"), name, "http://ex/", ())
        found.append(Registered(QueryInfo(name, "select"), Arrival.of(query)))
    return Relatives.of(found)


def filled(tables: KeptTables, families: Sequence[Relatives]) -> list[pa.Table]:
    kept = tables.up_to_date((one.family, part) for one in families for part in one.prepared.parts)
    return [read_kept(table) for table in kept.values()]


def people(table: pa.Table) -> list[str]:
    """Of the column that has IRIs."""
    [column] = [terms for terms in map(pa.ChunkedArray.to_pylist, table.columns) if terms[0].startswith("<")]
    return sorted(term[-2] for term in column)


def test_families_with_the_same_part_and_other_constants(tables: KeptTables) -> None:
    one, two = filled(tables, [family("NOW", "ab"), family("TRIPLES 1", "bc")])
    assert people(one) == ["a", "b"]
    assert people(two) == ["b", "c"]


def test_a_part_is_computed_again_when_constants_change(tables: KeptTables) -> None:
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
def test_what_a_query_is_about_restricts_its_part(about: str, found: list[str], tables: KeptTables) -> None:
    stream = "STREAM <http://ex/s> [NOW] { ?who <http://ex/in> ?room }"
    text = f"SELECT * {{ {stream} ?who <http://ex/name> ?name . {about} }}"
    query = translate_arriving(parse(text, "cqels"), "q", "http://ex/", ())
    [table] = filled(tables, [Relatives.of([Registered(QueryInfo("q", "select"), Arrival.of(query))])])
    assert people(table) == found
