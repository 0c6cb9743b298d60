"""Webhooks, and with them what holds for all sinks: retries, limits, an outbox that survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos.errors import SinkError
from tests.services.certificates import Certificate
from tests.sinks.deliveries import QUERY, Bench, answers, wait
from tests.sinks.receiver import receiving


def numbers(found: list[dict]) -> list[int]:
    return [int(answer["row"]["x"]["value"]) for answer in found]


def test_a_receiver_that_fails_twice_gets_everything_once(tmp_path: Path) -> None:
    with receiving(refuse=[500, 429]) as receiver:
        bench = (
            Bench(tmp_path).add(receiver.url, options={"size": "2", "authorization": "Bearer x"}).recover()
        )
        bench.say(answers(0, 5))
        bench.say(answers(5, 1))
        bench.drain()
        found = bench.metrics()
        bench.close()
    assert numbers(receiver.answers) == [0, 1, 2, 3, 4, 5]
    paths, keys, statuses = zip(*receiver.requests, strict=True)
    assert set(paths) == {"/alarms?to=me"}
    assert statuses == (500, 429, 204, 204, 204, 204)
    assert len(set(keys[:3])) == 1
    assert len(set(keys)) == 4
    assert receiver.headers["Authorization"] == "Bearer x"
    assert receiver.headers["Content-Type"] == "application/json"
    first = next(iter(receiver.taken.values()))
    assert (first["query"], first["batch"], first["number"]) == ("high", 0, 0)
    assert first["answers"][0] == {
        "query": "high",
        "at": "1970-01-01T00:00:00Z",
        "row": {
            "x": {"type": "literal", "value": "0", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
        },
    }
    assert (found.waiting, found.taken, found.dropped, found.trouble) == (0, 6, 0, None)
    assert bench.warnings == [
        f"high: {receiver.url} takes no answers now, and they wait: "
        "it answers 500 Internal Server Error: not now",
        f"high: {receiver.url} takes answers again",
    ]
    assert not list(tmp_path.rglob("*.arrow"))


def test_a_connection_that_the_receiver_has_closed_is_no_trouble(tmp_path: Path) -> None:
    with receiving(idle=0.1) as receiver:
        bench = Bench(tmp_path).add(receiver.url).recover()
        for number in range(3):
            bench.say(answers(number, 1))
            bench.drain()
            wait(lambda expected=number + 1: receiver.closed == expected, "the receiver has closed it")
        bench.close()
    assert numbers(receiver.answers) == [0, 1, 2]
    assert receiver.twice == 0
    assert bench.warnings == []


def test_https_with_a_certificate_of_our_own(tmp_path: Path, certificate: Certificate) -> None:
    with receiving(tls=certificate.server, idle=0.1) as receiver:
        assert receiver.url.startswith("https://")
        bench = Bench(tmp_path / "stranger").add(receiver.url).recover()
        bench.say(answers(0, 1))
        wait(lambda: "certificate" in str(bench.metrics().trouble).lower(), "it is not trusted")
        bench.close()
        assert receiver.requests == []
        bench = Bench(tmp_path / "state").add(receiver.url, options=certificate.ca).recover()
        bench.say(answers(0, 3))
        bench.drain()
        wait(lambda: receiver.closed == 1, "the receiver has closed it")
        bench.say(answers(3, 1))
        bench.drain()
        bench.close()
    assert numbers(receiver.answers) == [0, 1, 2, 3]


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    with receiving(refuse=[302]) as receiver:
        bench = Bench(tmp_path).add(receiver.url).recover()
        bench.say(answers(0, 1))
        bench.drain()
        bench.close()
    assert "302" in bench.warnings[0]
    assert numbers(receiver.answers) == [0]


def test_down_past_the_limit_stops_the_query(tmp_path: Path) -> None:
    with receiving(down=True) as receiver:
        limit = answers(100, 100).nbytes * 2
        bench = Bench(tmp_path).add(receiver.url, limit=limit).recover()
        assert bench.say(answers(0, 100)) == {}
        wait(lambda: bench.metrics().trouble, "the receiver is down")
        assert bench.say(answers(100, 100)) == {}
        stopped = bench.say(answers(200, 100))
        assert "does not keep up" in stopped["high"]
        assert "503" in stopped["high"]
        found = bench.metrics()
        assert (found.waiting, found.dropped) == (300, 0)
        assert found.bytes > limit
        assert found.behind > 0
        with pytest.raises(
            SinkError, match=r"300 answers of high were not taken by http://.* wait in the checkpoint"
        ):
            bench.sinks.drain(0.1)
        # What was answered before it was stopped is not lost.
        receiver.down = False
        bench.drain()
        bench.close()
    assert numbers(receiver.answers) == list(range(300))


def test_down_past_the_limit_drops_and_says_so(tmp_path: Path) -> None:
    with receiving(down=True) as receiver:
        bench = Bench(tmp_path).add(receiver.url, limit=answers(0, 100).nbytes, full="drop").recover()
        bench.say(answers(0, 100))
        wait(lambda: bench.metrics().trouble, "the receiver is down")
        assert bench.say(answers(100, 100)) == {}
        assert bench.say(answers(200, 100)) == {}
        assert bench.metrics().dropped == 200
        receiver.down = False
        bench.drain()
        bench.say(answers(300, 1))
        bench.drain()
        bench.close()
    assert numbers(receiver.answers) == [*range(100), 300]
    told = [warning for warning in bench.warnings if "dropped" in warning or "not given" in warning]
    assert len(told) == 2
    assert told[0].startswith(f"high: answers are dropped, because {receiver.url} does not keep up")
    assert told[1] == f"high: 200 answers were not given to {receiver.url}"


def test_a_batch_that_is_larger_than_the_limit_goes_out(tmp_path: Path) -> None:
    with receiving() as receiver:
        bench = Bench(tmp_path).add(receiver.url, limit=1, full="drop").recover()
        bench.say(answers(0, 1000))
        bench.drain()
        bench.close()
    assert len(receiver.answers) == 1000


def test_what_waits_survives_the_process(tmp_path: Path) -> None:
    """Also the place in a batch of which a part was taken; and a batch that was not done is not sent."""
    with receiving(refuse=[]) as receiver:
        first = Bench(tmp_path).add(receiver.url, options={"size": "10"}).recover()
        receiver.down = True
        first.say(answers(0, 25))
        wait(lambda: first.metrics().trouble, "the receiver is down")
        first.sinks.put(1, [(QUERY, answers(25, 5))])  # and then it was killed
        first.close()
        assert "25 answers of high were not taken" in first.warnings[-1]
        [key] = {key for _, key, _ in receiver.requests}

        receiver.refuse, receiver.down = [204, 503], True
        second = Bench(tmp_path).add(receiver.url, options={"size": "10"}).recover(0)
        wait(lambda: second.metrics().waiting == 15, "a part was taken")
        second.close()

        receiver.down = False
        third = Bench(tmp_path).add(receiver.url, options={"size": "10"}).recover(0)
        third.say(answers(25, 5))
        third.drain()
        third.close()
    assert numbers(receiver.answers) == list(range(30))
    assert receiver.twice == 0
    assert next(iter(receiver.taken)) == key


def test_a_query_that_is_forgotten(tmp_path: Path) -> None:
    with receiving(down=True) as receiver:
        bench = Bench(tmp_path).add(receiver.url).recover()
        bench.say(answers(0, 3))
        bench.sinks.remove("high")
        assert bench.warnings[-1] == f"high: 3 answers were not taken by {receiver.url} and are given up"
        assert bench.sinks.metrics() == {}
    assert not list(tmp_path.rglob("*.arrow"))
    bench.close()
