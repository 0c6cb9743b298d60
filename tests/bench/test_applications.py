"""The generated data of the EP-SPARQL applications: the same for a seed, in order, with answers in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pyoxigraph as ox
import pytest

from rheos_bench import applications
from rheos_bench.applications import delivery, plants, stocks, tsunami
from rheos_bench.applications.elements import DAY, HOUR


def times(lines: Iterable[str]) -> list[str]:
    return [line.split('"')[-2] for line in lines]


def triples(lines: Iterable[str]) -> set[ox.Quad]:
    return set(ox.parse("".join(lines), format=ox.RdfFormat.N_TRIPLES))


# --- all of them ------------------------------------------------------------------------------------------

STREAMS: dict[str, Callable[[int], Iterator[str]]] = {
    "stocks": lambda seed: stocks.lines(100, seed),
    "prices": lambda seed: stocks.prices(100, seed),
    "sightings": lambda seed: plants.lines(100, seed=seed),
    "traffic": lambda seed: delivery.lines(30, seed=seed),
    "pressure": lambda seed: tsunami.lines(2, seed=seed),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    """The same for a seed, in order of time, and N-Quads but for the time."""
    one, same, other = (list(STREAMS[name](seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert times(one) == sorted(times(one))
    assert triples(re.sub(r' "[^"]*"\S*dateTime> \.$', " .", line) for line in one)
    assert all(re.search(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\^\^<\S+dateTime> \.\n$', line) for line in one)


def test_files(tmp_path: Path) -> None:
    written = {
        applications.write_stocks(tmp_path / "stocks.nq", 20): stocks.lines(20),
        applications.write_prices(tmp_path / "prices.nq", 20): stocks.prices(20),
        applications.write_classes(tmp_path / "classes.nt", 40, 10): plants.static_lines(40, 10),
        applications.write_sightings(tmp_path / "sightings.nq", 20): plants.lines(20),
        applications.write_city(tmp_path / "city.nt", 4): delivery.static_lines(4),
        applications.write_traffic(tmp_path / "traffic.nq", 5, 4): delivery.lines(5, 4),
        applications.write_places(tmp_path / "places.nt"): tsunami.static_lines(),
        applications.write_pressure(tmp_path / "pressure.nq", 1): tsunami.lines(1),
    }
    for path, lines in written.items():
        assert path.read_text(encoding="utf-8") == "".join(lines)


def test_queries_have_no_holes() -> None:
    for text in (
        text
        for queries in (applications.STOCKS, applications.PLANTS, applications.DELIVERY, applications.TSUNAMI)
        for text in queries.values()
    ):
        assert text.count("{") == text.count("}")
        assert "None" not in text
        assert "{{" not in text


# --- stocks -----------------------------------------------------------------------------------------------


def test_prices_crash_and_soar_and_stay_reasonable() -> None:
    prices = [float(line.split('"')[1]) for line in stocks.prices(5000)]
    changes = [later / earlier for earlier, later in zip(prices, prices[3:], strict=False)]
    assert sum(change < 0.5 for change in changes) > 20
    assert sum(change > 1.5 for change in changes) > 20
    assert 1 < min(prices) < max(prices) < 5000


def test_prices_come_every_day_and_ratings_now_and_then() -> None:
    lines = list(stocks.lines(365, companies=4))
    predicates = Counter(line.split()[1].split("#")[1][:-1] for line in lines)
    assert predicates["hasStockPrice"] == 4 * 365
    assert predicates["of"] == predicates["by"] == predicates["grade"] > 100
    assert predicates["hasAcquired"] > 10
    assert len(list(stocks.lines(10, companies=4, every=DAY // 2))) > 80


# --- plants -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [40, 400, plants.CLASSES])
def test_the_tree_has_eight_levels(classes: int) -> None:
    depths = [0]
    for above in plants.parents(classes):
        depths.append(depths[above] + 1)
    assert len(depths) == classes + 1
    assert max(depths) == 8
    assert plants.parents(classes) == plants.parents(classes + 100)[:classes]


def test_half_of_the_specimens_are_in_the_tree() -> None:
    store = ox.Store()
    store.load("".join(plants.static_lines(400, 100)), format=ox.RdfFormat.N_TRIPLES)
    path = "a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>*"
    (found,) = store.query(f"SELECT (COUNT(DISTINCT ?x) AS ?n) {{ ?x {path} {plants.ROOT} }}")
    assert found["n"].value == "50"


# --- delivery ---------------------------------------------------------------------------------------------


def test_roads_lead_away() -> None:
    assert len(delivery.roads(4)) == 24
    assert all(sum(end) == sum(start) + 1 for start, end in delivery.roads(4))
    for tour in delivery.tours():
        assert all(x <= u and y <= v for (x, y), (u, v) in pairwise(tour))


def test_agents_go_on_when_a_road_is_open() -> None:
    """They are where their roads lead, and take none that is closed; most roads are closed."""
    closed: set[str] = set()
    share, at, moved = [], {}, 0
    closed_when_asked: dict[str, set[str]] = {}
    named = {delivery.place(end): end for road in delivery.roads() for end in road}
    for line in delivery.lines(300):
        s, p, o, *_ = line.split()
        if p.endswith("#turns>"):
            (closed.add if o.endswith("#Blocked>") else closed.discard)(s)
            share.append(len(closed) / len(delivery.roads()))
        if p.endswith("#by>"):
            closed_when_asked[o] = set(closed)
        if p.endswith("#isAt>"):
            if s in at:
                along = (named[at[s]], named[o])
                assert along in delivery.roads()
                assert delivery.road(along) not in closed_when_asked[s]
                moved += 1
            at[s] = o
    assert moved > 50
    assert 0.5 < sum(share[200:]) / len(share[200:]) < 0.6


# --- tsunamis ---------------------------------------------------------------------------------------------


def differences(waves: list[float]) -> list[float]:
    """What is observed without what is predicted, at every reading that has both."""
    values = [float(line.split('"')[1]) for line in tsunami.lines(60, waves)]
    steps = HOUR // tsunami.EVERY
    found = []
    for at in range(3 * steps, len(values) - tsunami.AHEAD // tsunami.EVERY):
        predicted = sum(weight * values[at - hour * steps] for hour, weight in enumerate(tsunami.WEIGHTS))
        found.append(values[at + tsunami.AHEAD // tsunami.EVERY] - predicted)
    return found


def test_the_weights_are_those_of_newton() -> None:
    """They extrapolate a polynomial of degree three: here, by AHEAD of an hour."""
    assert sum(tsunami.WEIGHTS) == pytest.approx(1)
    part = tsunami.AHEAD / HOUR
    assert sum(weight * -(hour**3) for hour, weight in enumerate(tsunami.WEIGHTS)) == pytest.approx(part**3)


def test_the_tide_is_predicted_and_a_tsunami_is_not() -> None:
    assert max(map(abs, differences([]))) < 10
    assert max(map(abs, differences([30.5]))) > 2 * tsunami.THRESHOLD
