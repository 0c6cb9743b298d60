"""`/name/ws`: a real client of WebSockets gets what events have, can come back, and is told why if not."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from rheos.server.config import Config, StreamConfig
from rheos.server.limits import Limits
from rheos.server.serve import served
from tests.runtime.streams import lines
from tests.server.city import City, wait
from tests.server.conftest import PATIENCE, client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SELECT = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    config = Config(
        port=0,
        state=tmp_path_factory.mktemp("sockets") / "state",
        streams=(StreamConfig("s"),),
        limits=Limits(subscribers=3),
    )
    with served(config, spark) as host, client(host.base) as http:
        yield City(host, http)


def opened(city: City, path: str, **options: object) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{city.host.port}{path}", open_timeout=PATIENCE, **options)  # type: ignore[arg-type]


def received(web: ClientConnection) -> dict:
    return json.loads(web.recv(timeout=PATIENCE))


def test_answers_come_as_messages(city: City) -> None:
    assert city.put("all", SELECT).status_code == 201
    with opened(city, "/all/ws") as web, city.events("all") as events:
        wait(lambda: city.query("all")["subscribers"] == 2, "both are there")
        city.push("s", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
        first, event = received(web), next(events)
        assert str(first.pop("id")) == event["id"]
        assert first == json.loads(event["data"])
        assert first["row"]["o"]["value"] == "http://ex/b"
        city.push("s", lines([("a", "p", "d", 21)]))
        second = received(web)
        assert second["row"]["o"]["value"] == "http://ex/c"
    wait(lambda: city.query("all")["subscribers"] == 0, "both have gone")
    with opened(city, f"/all/ws?after={event['id']}") as web:
        assert received(web) == second
    with opened(city, "/all/ws?after=0") as web:
        assert received(web)["row"]["o"]["value"] == "http://ex/b"


def test_a_query_that_is_deleted_ends_its_sockets(city: City) -> None:
    assert city.put("short", SELECT).status_code == 201
    with opened(city, "/short/ws") as web:
        city.http.delete("/short")
        with pytest.raises(ConnectionClosed) as ended:
            web.recv(timeout=PATIENCE)
        assert ended.value.rcvd is not None
        assert ended.value.rcvd.code == 1000


@pytest.mark.parametrize(
    ("path", "headers", "status", "title"),
    [
        ("/nothing/ws", {}, 404, "There is no query nothing"),
        ("/s/ws", {}, 404, "There is no query s"),
        ("/all/ws?after=x", {}, 400, "There is no such event"),
        ("/all/ws", {"Origin": "http://evil.example"}, 403, "Pages of others may not do that"),
    ],
)
def test_what_is_refused(city: City, path: str, headers: dict[str, str], status: int, title: str) -> None:
    city.put("all", SELECT)
    with pytest.raises(InvalidStatus) as refused:
        opened(city, path, additional_headers=headers)
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body)["title"] == title


def test_another_name_of_this_machine_is_refused(city: City) -> None:
    city.put("all", SELECT)
    with (
        socket.create_connection(("127.0.0.1", city.host.port)) as plain,
        pytest.raises(InvalidStatus) as refused,
    ):
        connect("ws://evil.example/all/ws", sock=plain, open_timeout=PATIENCE)
    assert refused.value.response.status_code == 421


def test_too_many_are_refused(city: City) -> None:
    city.put("all", SELECT)
    with opened(city, "/all/ws"), opened(city, "/all/ws"), opened(city, "/all/ws"):
        wait(lambda: city.query("all")["subscribers"] == 3, "three are there")
        with pytest.raises(InvalidStatus) as refused:
            opened(city, "/all/ws")
        assert refused.value.response.status_code == 503


def test_a_plain_request_is_told_what_this_is(city: City) -> None:
    city.put("all", SELECT)
    response = city.http.get("/all/ws")
    assert (response.status_code, response.headers["upgrade"]) == (426, "websocket")
