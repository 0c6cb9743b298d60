"""What one client does wrong stays its own: elements far ahead of the clock, streams that are reset, and what
/health says of it; through a real socket."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from rheos.runtime.driver.metrics import StreamMetrics
from rheos.server import health
from rheos.server.config import Config, StreamConfig
from rheos.server.health import Health
from rheos.server.limits import Limits
from rheos.sources.lines import read_lines
from rheos.sources.push import PushLog
from tests.runtime.streams import line, lines
from tests.server.city import City, healthy, values, wait
from tests.server.test_restart import BASE, SELECT, life

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAR = line("a", "p", "far", 10**9)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "old.nq").write_text(line("a", "p", "b", 1))
    streams = (
        StreamConfig("s"),
        StreamConfig("free", ahead=None),
        StreamConfig("old", source=str(tmp_path / "old.nq")),
    )
    return Config(port=0, base=BASE, state=tmp_path / "state", streams=streams)


@pytest.fixture
def city(spark: SparkSession, config: Config) -> Iterator[City]:
    with life(config, spark) as city:
        yield city


def counts(city: City, stream: str, text: str) -> dict[str, Any]:
    found = city.push(stream, text).json()
    assert found.pop("bad") == []
    return dict(found)


def test_an_element_far_ahead_spoils_nothing(city: City, config: Config) -> None:
    assert healthy(city.http)
    assert city.put("all", SELECT).status_code == 201
    assert counts(city, "s", line("a", "p", "b", 1) + FAR) == {"accepted": 1, "late": 0, "ahead": 1}
    with city.events("all", "0") as events:
        assert counts(city, "s", line("a", "p", "c", 11)) == {"accepted": 1, "late": 0, "ahead": 0}
        assert values(next(events), "o") == ("00:10", "b")
    letters = config.state / "dead-letters.ndjson"
    wait(lambda: bool(letters.read_text()), "the dead letter is written")
    [letter] = map(json.loads, letters.read_text().splitlines())
    assert (letter["stream"], letter["kind"], letter["text"]) == (f"{BASE}s", "ahead", FAR.rstrip())
    assert "at most 1h are allowed" in letter["reason"]
    assert [city.stream("s")[key] for key in ("elements", "ahead", "late")] == [3, 1, 0]
    told = "1 of the 3 elements of the last minute were late, bad or too far ahead"
    wait(lambda: not healthy(city.http), "health knows of it")
    response = city.http.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "degraded", "streams": {"s": told}}
    assert 'rheos_dead_letters_total{reason="ahead",stream="s"} 1' in city.http.get("/metrics").text
    # A client may choose another bound.
    assert city.http.put("/near", json={"ahead": "5s"}).status_code == 201
    soon = '<http://ex/a> <http://ex/p> <http://ex/b> "' + time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60)
    )
    soon += '"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    assert counts(city, "near", soon)["ahead"] == 1
    assert counts(city, "s", soon)["accepted"] == 1
    assert city.http.put("/wrong", json={"ahead": "soon"}).status_code == 400


def test_a_stream_is_reset(city: City, config: Config, spark: SparkSession) -> None:
    text = SELECT.replace("<s>", "<free>")
    assert city.put("all", text).status_code == 201
    with city.events("all", "0") as events:
        assert counts(city, "free", line("a", "p", "b", 1) + FAR)["accepted"] == 2
        assert values(next(events), "o") == ("00:10", "b")
    assert counts(city, "free", line("a", "p", "lost", 2)) == {"accepted": 1, "late": 1, "ahead": 0}
    wait(lambda: city.stream("free")["late"] == 1, "it is late")
    wait(lambda: "free" in city.http.get("/health").json().get("streams", {}), "health knows of it")
    response = city.http.post("/free", content="reset")
    assert (response.status_code, response.json()["name"], response.json()["time"]) == (200, "free", None)
    assert city.http.post("/old", content=" Reset\n").status_code == 200
    assert city.http.post("/old", content="start").status_code == 405
    assert city.http.post("/free", content="start").status_code == 415
    assert city.http.post("/none", content="reset").status_code == 404
    with city.events("all") as events:
        assert counts(city, "free", lines([("a", "p", "c", 21), ("a", "p", "d", 31)]))["late"] == 0
        assert values(next(events), "o") == ("00:30", "c")
    # What was acknowledged survives.
    assert city.http.post("/free", content="reset").status_code == 200
    city.host.close()
    with life(replace(config, port=0), spark) as again, again.events("all") as events:
        assert counts(again, "free", lines([("a", "p", "e", 11), ("a", "p", "f", 21)]))["late"] == 0
        assert values(next(events), "o") == ("00:20", "e")
        assert again.stream("free")["late"] == 1


def test_a_query_that_failed_is_in_health(city: City) -> None:
    assert city.put("all", SELECT).status_code == 201
    handle = city.host.queries["all"].handle
    assert handle is not None
    handle.fail("it took too long")
    response = city.http.get("/health")
    assert (response.status_code, response.json()) == (
        200,
        {"status": "degraded", "queries": {"all": "it took too long"}},
    )
    assert city.http.post("/all", content="start").status_code == 200
    assert healthy(city.http)


# --- without a server ----------------------------------------------------------------------------------


class Fake:
    """A host with one push stream, as far as health asks."""

    def __init__(self, folder: Path) -> None:
        self.log = PushLog(folder / "log")
        self.found = StreamMetrics()
        self.loop = SimpleNamespace(busy_for=0.0)
        self.limits = Limits(behind=5.0)
        self.streams = {"s": SimpleNamespace(name="s", iri=BASE, log=self.log, refused=0)}
        self.queries: dict[str, Any] = {}
        self.engine = SimpleNamespace(streaming=SimpleNamespace(loop=self.loop))

    def metrics(self) -> SimpleNamespace:
        return SimpleNamespace(streams={BASE: self.found}, sinks={})


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [1000.0]
    monkeypatch.setattr(health.time, "monotonic", lambda: moment[0])
    return moment


def test_elements_that_cannot_be_used_count_for_a_minute(tmp_path: Path, now: list[float]) -> None:
    host = Fake(tmp_path)
    seen = Health(host)  # type: ignore[arg-type]
    assert seen.troubles() == {}

    def after(
        seconds: float, read: int, late: int = 0, bad: int = 0, ahead: int = 0, refused: int = 0
    ) -> Any:
        now[0] += seconds
        host.found = StreamMetrics(read=read, late=late, bad=bad, ahead=ahead)
        host.streams["s"].refused = refused
        seen.look()
        return seen.troubles().get("streams")

    # What was before it began to look does not count.
    assert after(0, 100, late=50) is None
    assert after(2, 1100, late=50 + 10) is None  # that is 1 %
    wrong = "elements of the last minute were late, bad or too far ahead"
    assert after(2, 1200, late=60, bad=1, ahead=1) == {"s": f"12 of the 1100 {wrong}"}
    assert after(50, 1210, late=60, bad=1, ahead=1) == {"s": f"12 of the 1110 {wrong}"}
    assert after(30, 1220, late=60, bad=1, ahead=1) is None
    assert after(2, 1220, late=60, bad=1, ahead=1, refused=3) == {"s": f"3 of the 23 {wrong}"}
    assert after(70, 1220, late=60, bad=1, ahead=1, refused=3) is None


def test_a_stream_that_is_behind(tmp_path: Path, now: list[float]) -> None:
    host = Fake(tmp_path)
    seen = Health(host)  # type: ignore[arg-type]

    def look(seconds: float) -> Any:
        now[0] += seconds
        seen.look()
        return seen.troubles().get("streams")

    def push(name: str) -> None:
        host.log.append(read_lines(line("a", "p", name, 1).encode(), "").elements)

    source = host.log.source
    assert look(0) is None
    push("b")
    assert look(2) is None
    first = source.latest(source.begin())
    push("c")
    assert look(4) is None
    assert look(2) == {"s": "it is 6 s behind"}
    assert seen.behind == 6
    source.latest(first)  # a batch has taken the first
    assert look(2) is None
    assert seen.behind == 4
    assert look(2) == {"s": "it is 6 s behind"}
    source.latest(source.latest(first))
    assert look(2) is None
    assert seen.behind == 0
    host.loop.busy_for = 7.0
    assert look(1) == {"s": "it is 7 s behind"}
