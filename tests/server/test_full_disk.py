"""A disk on which nothing fits any more: what cannot be stored is answered with 507, and is not done."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rheos.server import state
from rheos.server.answers import AnswerLog
from rheos.server.config import Config, StreamConfig
from rheos.server.state import KeptQuery, State
from rheos.sources import push
from tests.runtime.streams import lines
from tests.server.city import City, values
from tests.server.test_restart import BASE, SELECT, life

OTHER = SELECT.replace("10s STEP 10s", "20s STEP 20s")


def refuse(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def full(module: Any) -> Iterator[None]:
    """What a module has synchronised does not fit on the disk."""
    real = module.os
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "os", SimpleNamespace(**{**vars(real), "fsync": refuse}))
        yield


def listed(city: City) -> dict[str, Any]:
    queries = city.http.get("/queries").json()["queries"]
    streams = city.http.get("/streams").json()["streams"]
    return {
        "queries": {query["name"]: (query["text"], query["running"]) for query in queries},
        "streams": {stream["name"] for stream in streams},
    }


def test_the_state_of_a_server(tmp_path: Path) -> None:
    kept = State(tmp_path)
    kept.write(BASE, [KeptQuery("a", SELECT)], {}, {})
    with full(state), pytest.raises(OSError, match="No space"):
        kept.write(BASE, [KeptQuery("a", SELECT), KeptQuery("b", SELECT)], {}, {})
    found = kept.read()
    assert found is not None
    assert [query.name for query in found.queries] == ["a"]
    assert not list(tmp_path.glob("*.partial"))
    kept.close()


def test_answers_of_a_query_that_is_not_replaced(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 1 << 20, {"a": 0})
    log.write(b'{"query":"a","at":"1"}\n')

    def replaced() -> None:
        with log.beginning("a"), log.beginning("b"):
            log.write(b'{"query":"a","at":"2"}\n')
            refuse()

    with pytest.raises(OSError, match="No space"):
        replaced()
    assert len(log.after("a", 0, 1 << 20) or ()) == 2
    assert log.after("b", 0, 1 << 20) is None
    log.close()


@pytest.mark.slow
def test_nothing_is_changed(spark: SparkSession, tmp_path: Path) -> None:
    config = Config(port=0, base=BASE, state=tmp_path / "state", streams=(StreamConfig("s"),))
    with life(config, spark) as city:
        assert city.put("q", SELECT).status_code == 201
        assert city.put("halted", SELECT).status_code == 201
        assert city.http.post("/halted", content="stop").status_code == 200
        assert city.http.put("/made", json={}).status_code == 201
        before, stored = listed(city), (tmp_path / "state" / "server.json").read_text()
        attempts = [
            ("PUT", "/fresh", OTHER, None),
            ("PUT", "/q", OTHER, None),
            ("POST", "/q", "stop", None),
            ("POST", "/halted", "start", None),
            ("DELETE", "/q", None, None),
            ("PUT", "/stream", "{}", "application/json"),
            ("DELETE", "/made", None, None),
        ]
        with full(state):
            for method, path, content, media in attempts:
                headers = {} if media is None else {"Content-Type": media}
                response = city.http.request(method, path, content=content, headers=headers)
                assert (response.status_code, method, path) == (507, method, path)
                assert response.headers["content-type"] == "application/problem+json"
                assert response.json()["detail"] == "No space left on device"
                assert listed(city) == before
        with full(push):  # the place of a new stream is made after it was noted
            assert city.http.put("/stream", json={}).status_code == 507
        assert listed(city) == before
        assert json.loads((tmp_path / "state" / "server.json").read_text()) == json.loads(stored)
        with city.events("q") as events:  # and all goes on
            city.push("s", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
            assert values(next(events), "o") == ("00:10", "b")
        for method, path, content, media in attempts:
            headers = {} if media is None else {"Content-Type": media}
            response = city.http.request(method, path, content=content, headers=headers)
            assert response.status_code < 300, (method, path)
    with life(config, spark) as city:
        assert listed(city) == {
            "queries": {"fresh": (OTHER, True), "halted": (SELECT, True)},
            "streams": {"s", "stream"},
        }
