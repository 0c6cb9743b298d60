"""The city of the demo: its streams are right, and speak of what the static data knows."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

import rheos
from rheos.demo import world
from rheos.demo.catalogue import NAMES, queries
from rheos.demo.city import SECOND, STREAMS, City
from rheos.demo.telling import told
from rheos.sources.lines import read_lines

START = 1_790_000_000 * SECOND


def lived(seconds: int) -> dict[str, bytes]:
    city, found = City(), dict.fromkeys(STREAMS, b"")
    for start in range(START, START + seconds * SECOND, SECOND // 4):
        for name, lines in city.between(start, start + SECOND // 4).items():
            found[name] += lines
    return found


def test_every_line_is_an_element_in_the_order_of_time() -> None:
    streams = lived(60)
    for name in STREAMS:
        text = streams[name].decode()
        chunk = read_lines(streams[name], "http://ex/", "test")
        assert chunk.elements.num_rows == text.count("\n") > 20, name
        assert not chunk.bad
        times = chunk.elements.column("start").to_pylist()
        assert times == sorted(times)
        assert START <= times[0] <= times[-1] < START + 60 * SECOND


def test_the_same_seed_gives_the_same_life() -> None:
    assert lived(10) == lived(10)


def test_streams_speak_of_what_is_known() -> None:
    known = {
        str(term) for quad in ox.parse(world.turtle(), format=ox.RdfFormat.TURTLE) for term in quad.triple
    }
    streams = lived(30)
    for name, at in (("tollgates", 0), ("badges", 0), ("badges", 2), ("prices", 0), ("buoys", 0)):
        said = {line.split(" ")[at] for line in streams[name].decode().splitlines()}
        assert said <= known, name


def test_there_is_something_to_see() -> None:
    """Waves, crashes and cars that are too fast come within a minute."""
    streams = {name: text.decode().splitlines() for name, text in lived(60).items()}
    levels = [float(line.split('"')[1]) for line in streams["buoys"]]
    assert max(levels) > 10_070 > sorted(levels)[len(levels) // 2]
    acme = [float(line.split('"')[1]) for line in streams["prices"] if "Borea" in line or "Cirrus" in line]
    assert min(acme) < max(acme) * 0.92
    assert sum(int(line.split('"')[1]) > 85 for line in streams["cameras"] if "speed" in line) > 3


def test_queries_have_their_names_and_say_what_they_are_about() -> None:
    found = queries()
    assert len(found) >= 8
    for query in found:
        tree = rheos.parse(query.text, base="http://ex/")
        assert tree.registration is not None
        assert tree.registration.name == query.name
        assert len(query.about) > 20
    assert {query.language for query in found} == {"csparql", "cqels", "epsparql", "rspql"}
    assert [query.name for query in found] == list(NAMES)
    assert [query.name for query in found if query.entailment == "rdfs"] == ["sightings"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            {"row": {"x": {"type": "uri", "value": "http://ex/a"}, "n": {"type": "literal", "value": "3"}}},
            "a 3",
        ),
        ({"triple": '<http://ex/a> <http://ex/p> "b c" .'}, "a p b c"),
        ({"boolean": True}, "yes"),
    ],
)
def test_answers_are_told_in_short(answer: dict[str, object], text: str) -> None:
    assert told([answer, answer]) == f"{text} · {text}"
