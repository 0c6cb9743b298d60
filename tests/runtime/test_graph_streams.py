"""Streams of graphs: from documents through chunks, segments, buffers and logs to windows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.rspql import translate_rspql
from rheos.answers.continuous import time_text
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.segments import Segments, load, save
from rheos.runtime.state.store import Store
from rheos.runtime.worker.batch import Arrivals
from rheos.sources.chunks import LIVE, Chunk, judge
from rheos.sources.documents import read_document
from rheos.sources.push import PushLog
from rheos.store import formats
from rheos.syntax import parse
from tests.continuous import rspql_reference as reference
from tests.continuous.cases import ONE, SECOND
from tests.continuous.rspql_cases import PREFIX, QUERIES, Text, graphs, window
from tests.continuous.rspql_reference import Element
from tests.runtime.arrivals import arrivals
from tests.runtime.batches import Batches, Line, reported
from tests.spread import spread

TRIG = """
@prefix : <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g1 prov:generatedAtTime "2026-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
:g2 prov:generatedAtTime "2026-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
:g1 { :a :p :b } :g2 { :a :p :c . :a :q :c } :g1 { :a :q :b }
"""


def quads(elements: Sequence[Element], first: int) -> bytes:
    """Graphs as an N-Quads document; a graph needs a name, for its time."""
    found = []
    for at, element in enumerate(elements, start=first):
        assert element.name is not None
        # The same name at two times would be one graph, so each document has one.
        found.append((at, element))
    lines = []
    for _, element in found:
        time = f'"{time_text(element.time)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines += [f"{' '.join(triple)} {element.name} .\n" for triple in element.triples]
        lines.append(f"{element.name} <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n")
    return "".join(lines).encode()


def chunk_of(element: Element) -> Chunk:
    if element.name is None:
        found = chunk_of(replace(element, name="<http://ex/none>"))
        marks = [mark[0] for mark in found.elements.column("graph").to_pylist()]
        graph = pa.array(marks, pa.string())
        return replace(found, elements=found.elements.set_column(6, "graph", graph))
    return read_document(quads([element], 0), "", "", format=formats.N_QUADS)


def table(elements: Sequence[Element]) -> pa.Table:
    parts = [judge(chunk_of(element)).elements.select(LIVE.names) for element in elements]
    return pa.Table.from_batches(parts, LIVE)


def test_a_document_keeps_its_graphs_together() -> None:
    chunk = read_document(TRIG.encode(), "", "", format=formats.TRIG)
    found = [(row["o"][-2], row["graph"]) for row in chunk.elements.to_pylist()]
    assert found == [
        ("b", "+<http://ex/g1>"), ("b", "=<http://ex/g1>"),
        ("c", "+<http://ex/g2>"), ("c", "=<http://ex/g2>"),
    ]  # fmt: skip
    placed = Buffer(pa.Table.from_batches([judge(chunk).elements]).select(LIVE.names)).placed
    assert placed.column("element").to_pylist() == [1, 1, 2, 2]
    assert placed.column("graph").to_pylist() == ["<http://ex/g1>"] * 2 + ["<http://ex/g2>"] * 2


def test_a_stream_of_triples_has_no_more_than_triples() -> None:
    elements = pa.table(
        {
            "s": ["<a>"],
            "p": ["<b>"],
            "o": ["<c>"],
            "start": [1],
            "time": [1],
            "graph": [None],
            "partition": [0],
        },
        schema=LIVE,
    )
    assert Buffer(elements, 7).placed.column_names == ["s", "p", "o", "start", "time", "place"]
    assert Segments().plus([]).dropped_graphs is None


@pytest.mark.parametrize("seed", spread(20, 5))
def test_graphs_keep_their_numbers_in_segments_and_buffers(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    elements = graphs(chance, 0.7)
    store = Store(tmp_path.as_uri())
    numbers = [number for number, element in enumerate(elements, start=1) for _ in element.triples]
    segments, buffer, position = Segments(), Buffer.empty(), 0
    while position < len(elements):
        size = chance.randrange(1, 4)
        more = table(elements[position : position + size])
        position += size
        buffer = buffer.with_more([more])
        segments = segments.plus([save(more, f"{position}.arrow", store)])
        if chance.random() < 0.4:
            time = chance.choice(elements[:position]).time
            buffer, segments = buffer.since(time), segments.since(time, store)
        loaded = load(segments, store)
        for found in (buffer, loaded):
            last = sum(len(element.triples) for element in elements[:position])
            expected = numbers[last - len(found.elements) : last]
            assert found.graph_numbers.tolist() == expected
        assert (buffer.dropped, buffer.elements) == (loaded.dropped, loaded.elements)


def test_a_log_remembers_graphs(tmp_path: Path) -> None:
    log = PushLog(tmp_path / "log", ahead=None)
    elements = graphs(random.Random(3), 0.8)
    for element in elements:
        log.append(chunk_of(element).elements)
    [part] = log.source.parts({"position": 0}, {"position": log.position})
    [chunk] = log.source.read(part)
    log.close()
    assert not chunk.bad
    expected = pa.Table.from_batches([chunk_of(element).elements for element in elements])
    for name in ("s", "p", "o", "time", "graph"):
        assert chunk.elements.column(name).to_pylist() == expected.column(name).to_pylist()


# --- through batches ----------------------------------------------------------------------------------------


def run(texts: Sequence[str], elements: Sequence[Element], cuts: Sequence[int]) -> list[Line]:
    """What queries report when graphs come in batches of these sizes, and then all the rest."""
    batches = Batches(["http://ex/one"], texts)
    left, found = list(elements), list[Line]()
    for size in (*cuts, len(left)):
        now, left = left[:size], left[size:]
        given = Arrivals(arrivals([chunk_of(element) for element in now], 0), ended=not left)
        outcome = batches.given({ONE: given})
        found += reported(outcome)
        if not left:
            break
    return found


def expected(
    case: reference.Case, columns: Sequence[str], until: int
) -> Counter[tuple[str, tuple[object, ...]]]:
    found: Counter[tuple[str, tuple[object, ...]]] = Counter()
    for at, rows in reference.answers(case, columns, -1, until):
        for row, count in rows.items():
            found[time_text(at), row] += count
    return found


@pytest.mark.parametrize("seed", spread(2, 1))
@pytest.mark.parametrize("text", [text for text in QUERIES if text.head != "ASK"], ids=str)
def test_batches_agree_with_stores_of_windows(text: Text, seed: int) -> None:
    chance = random.Random(f"batches {text}{seed}")
    elements = graphs(chance, 0.5)
    operator = chance.choice(["RSTREAM", "ISTREAM", "DSTREAM"])
    clauses = f"FROM NAMED WINDOW :v ON {ONE} {window(chance)} FROM NAMED WINDOW :w ON {ONE} {window(chance)}"
    query = f"{PREFIX} REGISTER {operator} q AS {text.head} {clauses} WHERE {text.where} {text.tail}"
    # Many are about static triples; there are none here.
    case = reference.Case(
        translate_rspql(parse(query, "rspql"), "q"),
        PREFIX,
        f"{text.head} WHERE {text.where} {text.tail}",
        [],
        {ONE: elements},
        {},
    )
    cuts = [chance.randrange(1, 6) for _ in range(4)]
    found = run([query], elements, cuts)
    operators = Batches(["http://ex/one"], [query]).streaming.registry.handles
    names = operators["q"].registered.operator.statement.columns  # type: ignore[attr-defined]
    assert Counter((at, row) for _, at, row in found) == expected(case, names, reference.end(case))


def test_what_a_query_constructs_at_an_instant_is_one_graph() -> None:
    texts = [
        f"{PREFIX} REGISTER RSTREAM <made> AS CONSTRUCT {{ ?a :made ?b }}"
        f" FROM NAMED WINDOW :v ON {ONE} [RANGE PT5S] WHERE {{ WINDOW :v {{ ?a :p ?b }} }}",
        f"{PREFIX} REGISTER QUERY counted AS SELECT (COUNT(*) AS ?n)"
        " FROM NAMED WINDOW :v ON <http://ex/made> [ELEMENTS 1] WHERE { WINDOW :v { ?a :made ?b } }",
    ]
    a, b, p = "<http://ex/a>", "<http://ex/b>", "<http://ex/p>"
    elements = [
        Element(None, ((a, p, b), (a, p, a)), SECOND),
        Element(None, ((b, p, b),), 2 * SECOND),
        Element(None, ((b, p, a),), 7 * SECOND),
    ]
    for cuts in ([], [1], [1, 1]):
        found = [(at, row[0]) for name, at, row in run(texts, elements, cuts) if name == "counted"]
        assert [(at[17:19], str(row)[1]) for at, row in found] == [("05", "3"), ("10", "1")]
