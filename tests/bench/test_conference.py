"""The generated conference: exact in size, the same for a seed, with answers to the paper's queries."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from pathlib import Path

import pyoxigraph as ox
import pytest

from rheos_bench import conference
from rheos_bench.conference import bibliography, building, vocabulary

N_TRIPLES = ox.RdfFormat.N_TRIPLES


def triples(lines: list[str]) -> set[ox.Quad]:
    return set(ox.parse("".join(lines), format=N_TRIPLES))


# --- the building -----------------------------------------------------------------------------------------


def test_the_floor_plan_has_172_triples(tmp_path: Path) -> None:
    path = conference.write_floor_plan(tmp_path / "plan.nt")
    assert len(triples([path.read_text(encoding="utf-8")])) == 172


def test_every_room_can_be_reached_and_has_a_name() -> None:
    rooms = building.neighbours()
    reached, front = {0}, {0}
    while front:
        front = {other for number in front for other in rooms[number]} - reached
        reached |= front
    assert reached == set(range(building.ROOMS))
    predicates = Counter(line.split()[1] for line in building.floor_plan())
    each = building.ROOMS
    assert predicates == {
        f"<{vocabulary.LV}{name}>": number
        for name, number in (("name", each), ("desc", each), ("floor", each), ("connected", 172 - 3 * each))
    }


def test_connections_lead_both_ways() -> None:
    pairs = {(one, other) for one, others in enumerate(building.neighbours()) for other in others}
    assert pairs == {(other, one) for one, other in pairs}
    assert len(pairs) == 2 * len(building.doors())


def test_the_stream_is_exact_in_number_and_rate() -> None:
    lines = list(building.detections(250, people=30, per_second=100))
    assert len(lines) == 250
    times = [line.split('"')[1] for line in lines]
    assert times == sorted(set(times))
    assert (times[0], times[99], times[-1]) == (
        "2026-01-01T00:00:00.010000Z",
        "2026-01-01T00:00:01.000000Z",
        "2026-01-01T00:00:02.500000Z",
    )
    assert {line.split()[0] for line in lines} == {vocabulary.person(number) for number in range(30)}


def test_people_walk_through_doors() -> None:
    rooms = building.neighbours()
    ways = {
        (vocabulary.room(one), vocabulary.room(other)) for one in range(len(rooms)) for other in rooms[one]
    }
    seen = defaultdict(list)
    for line in building.detections(2000, people=10):
        who, _, where, *_ = line.split()
        seen[who].append(where)
    steps = [pair for places in seen.values() for pair in itertools.pairwise(places)]
    moved = [step for step in steps if step[0] != step[1]]
    assert set(moved) <= ways
    assert 0.2 < len(moved) / len(steps) < 0.4


def test_the_same_seed_gives_the_same_stream(tmp_path: Path) -> None:
    one, same, other = (
        conference.write_stream(tmp_path / f"{at}.nq", 300, seed=seed).read_bytes()
        for at, seed in enumerate((1, 1, 2))
    )
    assert one == same != other


# --- the bibliography -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 10_000, 50_000])
def test_exactly_so_many_different_triples(size: int, tmp_path: Path) -> None:
    path = conference.write_bibliography(tmp_path / "papers.nt", size)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == len(set(lines)) == size


def test_it_is_n_triples() -> None:
    assert len(triples(list(bibliography.lines(10_000)))) == 10_000


def test_the_same_seed_gives_the_same_and_more_of_it() -> None:
    small, large = list(bibliography.lines(3000, seed=1)), list(bibliography.lines(6000, seed=1))
    assert small == large[:3000]
    assert small != list(bibliography.lines(3000, seed=2))


def test_too_large_a_bibliography_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        bibliography.lines(10**9)


def test_no_two_authors_share_a_name() -> None:
    assert len({conference.author_name(number) for number in range(100_000)}) == 100_000


def test_authors_bring_enough_triples_for_the_names_to_last() -> None:
    assert all(
        len(volume) > 6 * bibliography.NEW_AUTHORS
        for volume in itertools.islice(bibliography.volumes(bibliography.random.Random(3)), 100)
    )


def papers_of(size: int) -> Counter[str]:
    creators = (line.split() for line in bibliography.lines(size) if "/creator>" in line)
    return Counter(author for _, _, author, _ in creators)


def test_authors_do_not_grow_with_the_data() -> None:
    """Ten times the data: ten times the authors, about as many papers of each, and some with many."""
    small, large = papers_of(40_000), papers_of(400_000)
    assert 8 < len(large) / len(small) < 12
    first = [vocabulary.person(number) for number in range(conference.PEOPLE)]
    grown = sum(large[who] for who in first) / sum(small[who] for who in first)
    assert 1 < grown < 2.5
    papers = sorted(large.values(), reverse=True)
    assert papers[0] < 300
    tenth = len(papers) // 10
    assert sum(papers[:tenth]) > 0.3 * sum(papers)


# --- the queries ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ox.Store:
    """All of it in one store, thirty seconds of the stream as a named graph."""
    folder = tmp_path_factory.mktemp("conference")
    store = ox.Store()
    store.bulk_load(path=conference.write_bibliography(folder / "papers.nt", 40_000))
    plan = ox.NamedNode(conference.FLOOR_PLAN)
    store.bulk_load(path=conference.write_floor_plan(folder / "plan.nt"), to_graph=plan)
    detected = (" ".join(line.split()[:3]) + " .\n" for line in building.detections(3000))
    store.load("".join(detected), format=N_TRIPLES, to_graph=ox.NamedNode(conference.RFID))
    return store


def plain(text: str) -> str:
    """A query over that store: windows are graphs."""
    return re.sub(r"STREAM (<\S+>) \[[^]]*\]", r"GRAPH \1", text).replace("FROM NAMED <", "#")


def finds(store: ox.Store, text: str) -> bool:
    found = store.query(plain(text))
    assert isinstance(found, ox.QuerySolutions | ox.QueryTriples)
    return any(True for _ in found)


@pytest.mark.parametrize("template", conference.TEMPLATES)
def test_the_templates_find_something(template: int, store: ox.Store) -> None:
    assert ("$Name$" in conference.TEMPLATES[template]) == (template != 2)
    texts = {conference.instance(template, author) for author in range(10)}
    assert len(texts) == (1 if template == 2 else 10)
    assert sum(finds(store, text) for text in texts) >= len(texts) * 0.7


def shape(text: str) -> str:
    """A text without its constants."""
    return re.sub(r'"[^"]*"|<http://example\.org/[^>]*>|\b\d+', "_", text)


def test_the_256_queries_have_different_shapes(store: ox.Store) -> None:
    texts = conference.different()
    assert texts == conference.different()
    assert len({shape(text) for text in texts}) == len(texts) == 256
    assert not any("$" in text for text in texts)
    assert sum(finds(store, text) for text in texts) > 150
    costly = [text for text in texts if re.search("DISTINCT|COUNT|OPTIONAL|NOT EXISTS", text)]
    assert 30 < len(costly) < 80
