"""Queries of CQELS-QL side by side: each reports what it would if it were alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rheos.algebra.arriving import translate_arriving
from rheos.algebra.nodes import KINDS
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.runtime.arriving import Arrival, ArrivingBatch
from rheos.runtime.buffers import NEVER
from rheos.runtime.kept import KeptTables, load_kept
from rheos.runtime.place import DuckPlace
from rheos.runtime.plan import Registered, Relatives, relatives
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.test_arriving import table

SEEN = [("a", "x", 1), ("b", "x", 2), ("a", "y", 3), ("c", "y", 5)]
NAMES = "@prefix : <http://ex/> . :a :name 'A' . :b :name 'B' . :c :name 'C' ."

BY_NAME = "SELECT ?room { STREAM :s [NOW] { ?who :at ?room } ?who :name '$' }"
RECENT = "SELECT ?room { STREAM :s [RANGE 1s] { ?who :at ?room } ?who :name '$' }"
COUNT = "SELECT (COUNT(*) AS ?n) { STREAM :s [NOW] { ?who :at :y } }"
ASKED = "ASK { STREAM :s [NOW] { ?who :at :y } }"


def registered(name: str, text: str) -> Registered:
    query = translate_arriving(parse(f"PREFIX : <http://ex/> {text}", "cqels"), name, "http://ex/", ())
    return Registered(QueryInfo(name, KINDS[type(query.query.form)]), Arrival.of(query))


def reported(texts: Sequence[str], folder: Path) -> list[list[tuple[object, ...]]]:
    """What each of the queries reports: the time of a tick and what is new, row by row."""
    queries = [registered(f"q{number}", text) for number, text in enumerate(texts)]
    families = relatives(queries)
    elements = [(f"<http://ex/{who}>", "<http://ex/at>", f"<http://ex/{room}>", t) for who, room, t in SEEN]
    graphs = StaticGraphs()
    graphs.load(data=NAMES, format="turtle")
    tables = KeptTables(graphs, folder, lambda: Local(graphs))
    kept = tables.up_to_date((some.family, part) for some in families for part in some.prepared.parts)
    found: dict[str, list[tuple[object, ...]]] = {query.name: [] for query in queries}
    with graphs.connection.cursor() as cursor:
        load_kept(cursor, kept, {})
        batch = ArrivingBatch(DuckPlace(cursor), {"<http://ex/s>": table(elements)})
        for some in families:
            for name, row in rows_of(some, batch):
                found[name].append(row)
    return list(found.values())


def rows_of(family: Relatives, batch: ArrivingBatch) -> list[tuple[str, tuple[object, ...]]]:
    new = batch.novelty(family.prepared, NEVER, SEEN[-1][2], constants=family.constants(family.members))
    rows = zip(*(column.to_pylist() for column in new.rows.columns), strict=True)
    return [(family.members[member], tuple(row)) for member, _, *row in rows]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([BY_NAME.replace("$", name) for name in "ABC"], id="constants"),
        pytest.param(
            [text.replace("$", name) for text, names in ((BY_NAME, "AB"), (RECENT, "BC")) for name in names],
            id="two families with the same static part",
        ),
        pytest.param([COUNT, COUNT], id="the same aggregate of all rows"),
        pytest.param([ASKED, ASKED], id="the same ASK"),
        pytest.param([f"{BY_NAME} LIMIT 1".replace("$", "A")] * 2, id="the same LIMIT"),
    ],
)
def test_together_as_alone(texts: list[str], tmp_path: Path) -> None:
    alone = [reported([text], tmp_path)[0] for text in texts]
    assert all(alone)
    assert reported(texts, tmp_path) == alone
