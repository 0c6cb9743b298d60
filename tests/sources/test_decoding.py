"""Messages whose payload is RDF: every format, every clock, and what is wrong with single ones."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from rheos.errors import RheosError
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Messages, decoder
from tests.runtime.streams import NEW_YEAR, line, moment

PROV = "http://www.w3.org/ns/prov#generatedAtTime"
TRIG = f"""@prefix ex: <http://ex/> .
ex:g <{PROV}> {moment(3)} .
ex:g {{ ex:a ex:p _:x . _:x ex:q 1 }}
"""
JSON_LD = """{"@context": {"@vocab": "http://ex/"}, "@id": "http://ex/g",
"http://www.w3.org/ns/prov#generatedAtTime":
  {"@value": "2026-01-01T00:00:04Z", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"},
"@graph": [{"@id": "http://ex/b", "p": "text"}]}
"""
QUADS = f'<http://ex/g> <{PROV}> {moment(5)} .\n<http://ex/c> <http://ex/p> "1" <http://ex/g> .\n'
PLAIN = "<http://ex/a> <http://ex/p> <http://ex/o> .\n"


def seconds(chunk: Chunk) -> list[float]:
    return [time / 1e6 - NEW_YEAR for time in chunk.elements.column("time").to_pylist()]


def told(chunk: Chunk) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in chunk.bad]


def times(*values: float | None) -> pa.Array:
    return pa.array([None if v is None else int((NEW_YEAR + v) * 1e6) for v in values], pa.int64())


def test_each_message_shows_its_format() -> None:
    payloads = [line("a", "p", "b", 1), TRIG, line("c", "p", "d", 2) * 2, JSON_LD, QUADS]
    chunk = decoder().decode(Messages.of(text.encode() for text in payloads), "m", "here", first=True)
    assert chunk.elements.column("line").to_pylist() == [1, 2, 2, 3, 3, 4, 5]
    assert seconds(chunk) == [1, 3, 3, 2, 2, 4, 5]
    assert (chunk.bad, chunk.lines, chunk.place, chunk.first) == ((), 5, "here", True)


@pytest.mark.parametrize(
    ("format", "text"),
    [("lines", line("a", "p", "b", 1)), ("trig", TRIG), ("jsonld", JSON_LD), ("nquads", QUADS)],
)
def test_the_format_can_be_said(format: str, text: str) -> None:
    found = decoder(format=format).decode(Messages.of([text.encode()]), "")
    assert found.elements.equals(decoder().decode(Messages.of([text.encode()]), "").elements)
    assert found.elements.num_rows


def test_graphs_without_prefixes_are_documents_too() -> None:
    text = f"<http://ex/g> {{ <http://ex/a> <http://ex/p> 1 }} <http://ex/g> <{PROV}> {moment(3)} ."
    assert seconds(decoder().decode(Messages.of([text.encode()]), "")) == [3]


def test_a_bad_message_is_a_dead_letter_and_the_others_are_taken() -> None:
    payloads = [
        b"nonsense",
        line("a", "p", "b", 1).encode(),
        b'{"@id": ',
        b"",
        None,
        b"\xff\xfe",
        PLAIN.encode(),
    ]
    chunk = decoder().decode(Messages.of(payloads, line=pa.array([10, 11, 12, 13, 14, 15, 16])), "")
    assert chunk.elements.column("line").to_pylist() == [11]
    bad = {item.line: item for item in chunk.bad}
    assert list(bad) == [10, 12, 15, 16]
    assert bad[10].text == "nonsense\n"
    assert bad[12].text == '{"@id": '
    assert bad[16].reason == "there is no time after the triple"


def test_good_lines_of_a_message_are_taken_without_the_bad_one() -> None:
    text = line("a", "p", "b", 1) + "nonsense\n" + line("a", "p", "c", 1)
    chunk = decoder().decode(Messages.of([text.encode()]), "")
    assert chunk.elements.num_rows == 2
    assert [item.text for item in chunk.bad] == ["nonsense\n"]


def test_blank_nodes_are_those_of_their_message() -> None:
    text = f"_:x <http://ex/p> _:x {moment(1)} .\n".encode()
    many = [text] * 500  # enough for the columnar way
    chunk = decoder().decode(Messages.of(many), "m")
    subjects = chunk.elements.column("s").to_pylist()
    assert subjects == chunk.elements.column("o").to_pylist()
    assert subjects[:2] == ["_:m1_x", "_:m2_x"]
    assert len(set(subjects)) == 500


@pytest.mark.parametrize("clock", ["message", "arrival"])
@pytest.mark.parametrize("payload", [PLAIN, line("a", "p", "o", 99), TRIG, QUADS, JSON_LD])
def test_the_time_may_be_that_of_the_message(clock: str, payload: str) -> None:
    given = {"time" if clock == "message" else "arrival": times(7, None)}
    messages = Messages.of([payload.encode(), payload.encode()], **given)
    chunk = decoder(time=clock).decode(messages, "")
    assert set(seconds(chunk)) == {7}
    assert set(chunk.elements.column("line").to_pylist()) == {1}
    assert told(chunk) == [(2, f"the message has no time: {clock} is not known")]


@pytest.mark.parametrize("clock", ["message", "arrival"])
def test_lines_with_the_time_of_their_message_are_one_graph(clock: str) -> None:
    """As the same message in Turtle is."""
    lines = "".join(PLAIN.replace("/o>", f"/o{number}>") for number in range(3))
    payloads = [
        lines,
        PLAIN,
        lines + "nonsense\n",
        f"@prefix : <http://ex/> .\n{lines}",
        line("a", "p", "o", 9) * 2,
    ]
    given = {"time" if clock == "message" else "arrival": times(7, 7, 7, 7, 7)}
    messages = Messages.of([payload.encode() for payload in payloads], **given)
    chunk = decoder(time=clock).decode(messages, "")
    marks = [first is None or first.startswith("+") for first in chunk.elements.column("graph").to_pylist()]
    of_message = chunk.elements.column("line").to_pylist()
    assert of_message == [1, 1, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5]
    assert marks == [True, False, False, True, True, False, False, True, False, False, True, False]
    alone = decoder(time=clock).decode(messages.take(np.array([1])), "")
    assert alone.elements.column("graph").null_count == 1


def test_lines_with_times_of_their_own_are_alone() -> None:
    found = decoder().decode(Messages.of([(line("a", "p", "b", 1) * 2).encode()]), "")
    assert found.elements.column("graph").null_count == 2


def test_the_time_may_be_a_property() -> None:
    text = f"<http://ex/o1> <http://ex/at> {moment(6)} .\n<http://ex/o1> <http://ex/v> <http://ex/x> .\n"
    twice = text + f"<http://ex/o2> <http://ex/at> {moment(9)} .\n"
    trig = f"@prefix ex: <http://ex/> . ex:g ex:at {moment(8)} . ex:g {{ ex:a ex:p ex:b }}"
    messages = Messages.of(item.encode() for item in (text, trig, PLAIN, twice))
    chunk = decoder(time="property:http://ex/at").decode(messages, "")
    assert seconds(chunk) == [6, 6, 8]
    reasons = dict(told(chunk))
    assert reasons[3] == "the triple is in no graph that has a <http://ex/at>"
    assert reasons[4] == "its graph has more than one <http://ex/at>"


@pytest.mark.parametrize("clock", [None, f"property:{PROV}"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_graph_with_two_times_is_a_dead_letter(clock: str | None, inside: bool) -> None:
    """Which of them came last does not matter, nor in which graph they stand. The same time twice is one."""
    said = "<http://ex/about> { %s }" if inside else "%s"
    texts = [f"<http://ex/g1> <{PROV}> {moment(at)}" for at in (3, 9, 3)]
    graphs = (
        "<http://ex/g1> { <http://ex/a> <http://ex/p> 1 } <http://ex/g2> { <http://ex/a> <http://ex/p> 2 }"
    )
    common = f"<http://ex/g2> <{PROV}> {moment(5)} . {graphs}"
    twice = f"{said % ' . '.join(texts[:2])} . {common}".replace("} .", "}")
    same = f"{said % ' . '.join(texts[::2])} . {common}".replace("} .", "}")
    messages = Messages.of(text.encode() for text in (twice, same))
    chunk = decoder(time=clock, format="trig").decode(messages, "")
    assert seconds(chunk) == [5, 3, 5]
    [(line, reason)] = told(chunk)
    assert (line, reason) == (1, "its graph has more than one prov:generatedAtTime")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"time": "noon"},
            "the time of a stream is one of field:NAME, property:IRI, message or arrival, not 'noon'",
        ),
        ({"time": "field:ts"}, "RDF has no fields"),
        ({"time": "property:a b"}, "is not an IRI"),
        ({"format": "csv"}, "csv is not RDF: the stream needs a mapping"),
        ({"format": "rdfxml"}, "RDF/XML has no graphs"),
        ({"format": "docx"}, "unknown format 'docx'"),
    ],
)
def test_what_cannot_be_decoded_is_refused_by_name(given: dict[str, str], reason: str) -> None:
    with pytest.raises(RheosError, match=reason):
        decoder(**given)


@pytest.mark.parametrize("levels", [50, 10_000])
def test_json_that_is_nested_too_deeply_is_a_dead_letter(levels: int) -> None:
    """pyoxigraph would take the process with it."""
    text = '{"http://ex/p": ' * levels + "1" + "}" * levels
    chunk = decoder(time="arrival").decode(Messages.of([text.encode()], arrival=times(0)), "")
    deep = [(1, "JSON that is nested deeper than 100 levels is not read")]
    assert told(chunk) == (deep if levels > 100 else [])
    assert bool(chunk.elements.num_rows) == (levels <= 100)


def test_a_decoder_travels() -> None:
    made = decoder(time="property:http://ex/at", format="trig")
    assert pickle.loads(pickle.dumps(made)) == made
