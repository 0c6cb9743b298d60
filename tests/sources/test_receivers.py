"""Receivers over HTTP and WebSockets against real servers: what is on the disk, how they go on, and whom they
contact."""

from __future__ import annotations

import queue
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rheos import RheosError
from rheos.addresses import AddressError, Allowed
from rheos.mapping import Mapping
from rheos.sources.decoding import decoder
from rheos.sources.receivers import base
from rheos.sources.receivers.events import EventParser
from rheos.sources.receivers.polling import Poll
from tests.runtime.streams import moment
from tests.services.certificates import Certificate
from tests.services.processes import HOST, free_port
from tests.services.web import Headers, Reply, web, web_socket
from tests.sources.receiving import PATIENCE, opened, running, text, wait_for

# --- polling -----------------------------------------------------------------------------------------------


def test_polling_takes_only_what_is_new(tmp_path: Path) -> None:
    body = [text("a"), text("b")]
    tags: list[str | None] = []

    def answer(path: str, headers: Headers) -> Reply:
        tags.append(headers.get("If-None-Match"))
        tag = f'"{len(body)}"'
        return Reply(304) if tags[-1] == tag else Reply(200, {"ETag": tag}, b"".join(body))

    with web(answer) as server:
        url = f"poll+http://{server.place}/readings?a=b&every=100ms"
        with running(url, tmp_path) as found:
            found.has("a", "b")
            body.append(text("c", 2))
            found.has("a", "b", "c")
            wait_for(lambda: tags[-3:] == ['"3"'] * 3, "three that ask whether there is more")
            assert found.objects() == ["a", "b", "c"]
        assert server.paths()[0] == "/readings?a=b"
        # Another process goes on where this one was.
        asked = len(tags)
        body.append(text("d", 3))
        with running(url, tmp_path) as found:
            found.has("a", "b", "c", "d")
        assert tags[asked] == '"3"'


def test_polling_knows_elements_again_where_the_server_knows_no_tags(tmp_path: Path) -> None:
    shown = [text("a", 1) + text("b", 2)]
    with (
        web(lambda path, headers: Reply(body=shown[0])) as server,
        running(f"poll+http://{server.place}/?every=100ms", tmp_path) as found,
    ):
        found.has("a", "b")
        shown[0] = text("b", 2) + text("c", 3)
        found.has("a", "b", "c")
        asked = len(server.requests)
        wait_for(lambda: len(server.requests) > asked + 3, "more requests")
        assert found.objects() == ["a", "b", "c"]


def test_polling_by_arrival_takes_a_triple_once(tmp_path: Path) -> None:
    body = b"<http://ex/s> <http://ex/p> <http://ex/a> ."
    with web(lambda path, headers: Reply(body=body)) as server:
        chosen = decoder(time="arrival")
        with running(f"poll+http://{server.place}/?every=100ms", tmp_path, decoder=chosen) as found:
            wait_for(lambda: len(server.requests) > 3, "more requests")
            assert found.objects() == ["a"]


@pytest.mark.parametrize("clock", ["arrival", None])
def test_what_is_new_in_a_polled_graph_is_a_graph(clock: str | None, tmp_path: Path) -> None:
    """It does not join the graph that came before it."""
    time = "" if clock else f"<http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> {moment(1)} . "
    graphs = ["<http://ex/g> { <http://ex/s> <http://ex/p> <http://ex/a>%s }"]
    shown = [f"{time}{graphs[0] % ''}"]
    with (
        web(lambda path, headers: Reply(body=shown[0].encode())) as server,
        running(f"poll+http://{server.place}/?every=100ms", tmp_path, decoder=decoder(time=clock)) as found,
    ):
        found.has("a")
        shown[0] = f"{time}{graphs[0] % ', <http://ex/b>, <http://ex/c>'}"
        found.has("a", "b", "c")
        marks = [mark for chunk in found.chunks() for mark in chunk.elements.column("graph").to_pylist()]
    assert marks == ["+<http://ex/g>", "+<http://ex/g>", "=<http://ex/g>"]


def test_polling_waits_while_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheos.sources.receivers.base.BACKLOG", 0)
    shown = [text("a", 1)]
    with (
        web(lambda path, headers: Reply(body=shown[0])) as server,
        running(f"poll+http://{server.place}/?every=100ms", tmp_path) as found,
    ):
        wait_for(lambda: len(server.requests) == 1, "the first request")
        shown[0] = text("b", 2)
        time.sleep(0.5)
        assert len(server.requests) == 1  # nobody has read the first element
        assert found.objects() == ["a"]


def test_last_modified_is_sent_back(tmp_path: Path) -> None:
    day = "Thu, 01 Jan 2026 00:00:00 GMT"

    def answer(path: str, headers: Headers) -> Reply:
        known = headers.get("If-Modified-Since") == day
        return Reply(304) if known else Reply(200, {"Last-Modified": day}, text("a"))

    with web(answer) as server, running(f"poll+http://{server.place}/?every=100ms", tmp_path) as found:
        wait_for(lambda: len(server.requests) > 2, "more requests")
        assert found.objects() == ["a"]
        assert server.requests[-1][1]["If-Modified-Since"] == day


def test_a_bad_answer_is_a_dead_letter_once(tmp_path: Path) -> None:
    with (
        web(lambda path, headers: Reply(body=b"no element\n")) as server,
        running(f"poll+http://{server.place}/?every=100ms", tmp_path) as found,
    ):
        wait_for(lambda: len(server.requests) > 3, "more requests")
        [letter] = [item for chunk in found.chunks() for item in chunk.bad]
        assert (letter.kind, letter.text) == ("bad", "no element\n")


@pytest.mark.parametrize(
    ("path", "media", "body"),
    [
        ("a", "text/csv; charset=utf-8", b"v\na\nb\n"),
        ("a.csv", "text/plain", b"v\na\nb\n"),
        ("a", "text/plain", b"v\na\nb\n"),
        ("a", "text/tab-separated-values", b"v\tw,x\na\t\nb\t\n"),
        ("a.ndjson", "text/plain", b'{"v": "a"}\n{"v": "b"}\n'),
        ("a", "application/x-ndjson", b'{"v": "a"}\n{"v": "b"}'),
        ("a.csv", "application/json", b'[{"v": "a"},\n{"v": "b"}]'),
    ],
)
def test_the_format_of_polled_records(path: str, media: str, body: bytes, tmp_path: Path) -> None:
    query = 'CONSTRUCT { _:b <http://ex/p> ?o } WHERE { BIND(IRI(CONCAT("http://ex/", ?v)) AS ?o) }'
    made = decoder(Mapping(query), "arrival")
    with (
        web(lambda path, headers: Reply(headers={"Content-Type": media}, body=body)) as server,
        running(f"poll+http://{server.place}/{path}?every=100ms", tmp_path, decoder=made) as found,
    ):
        found.has("a", "b")
        asked = len(server.requests)
        wait_for(lambda: len(server.requests) > asked + 2, "more requests")
        assert found.objects() == ["a", "b"]


def test_polled_records_of_another_format_than_the_mapping_reads_are_trouble(tmp_path: Path) -> None:
    made = decoder(Mapping('{"@vocab": "http://ex/"}', "context"), "arrival")
    with (
        web(lambda path, headers: Reply(headers={"Content-Type": "text/csv"}, body=b"v\na\n")) as server,
        running(f"poll+http://{server.place}/?every=100ms", tmp_path, decoder=made) as found,
    ):
        wait_for(lambda: found.receiver.health.trouble is not None, "trouble")
        assert found.receiver.health.trouble == "a JSON-LD context makes RDF of JSON, not of csv"


@pytest.mark.parametrize("every", ["soon", "1ms", ""])
def test_how_often_is_a_length_of_time(every: str) -> None:
    with pytest.raises(RheosError, match="the parameter every"):
        opened(f"poll+http://{HOST}/?every={every}")


def test_a_poll_keeps_the_parameters_of_the_server() -> None:
    found = opened("poll+https://host/a?x=1&every=5s&y=%20")
    assert isinstance(found, Poll)
    assert (found.target, found.every) == ("https://host/a?x=1&y=+", 5_000_000)


# --- addresses ---------------------------------------------------------------------------------------------


def test_a_redirection_to_another_place_is_refused(tmp_path: Path) -> None:
    with (
        web(lambda path, headers: Reply(body=text("secret"))) as inside,
        web(lambda path, headers: Reply(302, {"Location": f"http://{inside.place}/"})) as outside,
        running(f"poll+http://{outside.place}/?every=100ms", tmp_path) as found,
    ):
        wait_for(lambda: found.receiver.health.failures > 1, "two tries")
        assert f"{inside.place} is not allowed" in str(found.receiver.health.trouble)
        assert inside.requests == []
        assert found.objects() == []


def test_an_allowed_redirection_is_followed_without_credentials(tmp_path: Path) -> None:
    with (
        web(lambda path, headers: Reply(body=text("a"))) as other,
        web(lambda path, headers: Reply(307, {"Location": f"http://{other.place}/there"})) as first,
    ):
        allowed = Allowed.of([other.place, first.place])
        options = {"token": "secret"}
        url = f"poll+http://{first.place}/?every=100ms"
        with running(url, tmp_path, allowed=allowed, options=options) as found:
            found.has("a")
        assert first.requests[0][1]["Authorization"] == "Bearer secret"
        assert other.paths()[0] == "/there"
        assert "Authorization" not in other.requests[0][1]


def test_a_web_socket_follows_no_redirection(tmp_path: Path) -> None:
    with (
        web(lambda path, headers: Reply()) as inside,
        web(lambda path, headers: Reply(302, {"Location": f"ws://{inside.place}/"})) as outside,
        running(f"ws://{outside.place}/", tmp_path) as found,
    ):
        wait_for(lambda: found.receiver.health.failures > 1, "two tries")
        assert inside.requests == []


@pytest.mark.parametrize("scheme", ["poll+http", "sse+http", "ws", "mqtt"])
def test_only_allowed_places_are_contacted(scheme: str) -> None:
    with pytest.raises(AddressError, match=r"evil:1 is not allowed"):
        opened(f"{scheme}://evil:1/a", allowed=Allowed.of(["good:1"]))
    with pytest.raises(AddressError, match="no user and no password"):
        opened(f"{scheme}://me:secret@evil:1/a")
    with pytest.raises(RheosError, match="unknown option 'colour'"):
        opened(f"{scheme}://good:1/a", options={"colour": "red"})


@pytest.mark.parametrize("url", ["mqtt://h/a", "ws://h/", "sse+http://h/", "sse+https://h/"])
def test_messages_without_a_time_cannot_give_the_time(url: str) -> None:
    for made in (decoder(time="message"), decoder(Mapping("CONSTRUCT { [] <p> ?v } WHERE {}"), "message")):
        with pytest.raises(RheosError, match=f"{re.escape(url)}: its messages have no time of their own"):
            opened(url, decoder=made)
    assert opened("poll+http://h/", decoder=decoder(time="message"))


# --- events ------------------------------------------------------------------------------------------------


def event(data: bytes, number: int | None = None) -> bytes:
    lines = b"".join(b"data: " + part + b"\n" for part in data.splitlines())
    return (b"" if number is None else b"id: %d\n" % number) + lines + b"\n"


def test_events_go_on_behind_the_last_one(tmp_path: Path) -> None:
    known = [event(text(name), number) for number, name in enumerate("abcd", start=1)]

    def answer(path: str, headers: Headers) -> Reply:
        last = int(headers.get("Last-Event-ID", 0))
        pieces: queue.Queue[bytes | None] = queue.Queue()
        for piece in known[last : last + 2]:
            pieces.put(piece)
        pieces.put(None)  # the connection ends after two of them
        return Reply(200, {"Content-Type": "text/event-stream"}, b": hello\n\nretry: 20\n\n", pieces)

    with web(answer) as server:
        url = f"sse+http://{server.place}/events"
        with running(url, tmp_path) as found:
            found.has("a", "b", "c", "d")
            assert len(found.warnings) >= 1
        known.append(event(text("e"), 5))
        asked = len(server.requests)
        with running(url, tmp_path) as found:
            found.has("a", "b", "c", "d", "e")
        assert server.requests[asked][1]["Last-Event-ID"] == "4"


def test_what_is_no_event_stream_is_told_once(tmp_path: Path) -> None:
    with (
        web(lambda path, headers: Reply(200, {"Content-Type": "text/html"})) as server,
        running(f"sse+http://{server.place}/", tmp_path) as found,
    ):
        wait_for(lambda: found.receiver.health.failures > 2, "three tries")
        assert "text/html, not text/event-stream" in str(found.receiver.health.trouble)
        assert len(found.warnings) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_an_event_stream_is_parsed_wherever_it_is_cut(size: int) -> None:
    text = "\ufeffdata: a\r\ndata\r\ndata:  ü\r\n\r\nevent: x\rid: 7\rdata: b\r\r: no\n\nid: 8\n\ndata: c"
    given = text.encode()
    parser = EventParser()
    found = [message for at in range(0, len(given), size) for message in parser.feed(given[at : at + size])]
    assert [(m.payload.decode(), m.topic) for m in found] == [("a\n\n ü", "message"), ("b", "x")]
    assert parser.last == "8"


# --- WebSocket ---------------------------------------------------------------------------------------------


def test_a_web_socket_is_connected_again(tmp_path: Path) -> None:
    groups = iter([[text("a"), text("b").decode()], [text("c")]])
    done = threading.Event()

    def messages(connection: Any) -> None:
        for message in next(groups, []):
            connection.send(message)
        done.wait(0.1)

    with web_socket(messages) as port, running(f"ws://{HOST}:{port}/x", tmp_path) as found:
        found.has("a", "b", "c")
    done.set()


# --- TLS ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["poll+https", "sse+https"])
def test_https_with_a_certificate_of_our_own(scheme: str, tmp_path: Path, certificate: Certificate) -> None:
    def answer(path: str, headers: Headers) -> Reply:
        if scheme == "poll+https":
            return Reply(body=text("a"))
        pieces: queue.Queue[bytes | None] = queue.Queue()
        return Reply(200, {"Content-Type": "text/event-stream"}, event(text("a"), 1), pieces)

    with web(answer, tls=certificate.server) as server:
        url = f"{scheme}://{server.place}/"
        with running(url, tmp_path) as found:
            wait_for(lambda: "certificate" in str(found.receiver.health.trouble).lower(), "a refusal")
        assert server.requests == []
        with running(url, tmp_path, options={**certificate.ca, "token": "secret"}) as found:
            found.has("a")
        assert server.requests[0][1]["Authorization"] == "Bearer secret"


def test_a_web_socket_with_a_certificate_of_our_own(tmp_path: Path, certificate: Certificate) -> None:
    done = threading.Event()

    def messages(connection: Any) -> None:
        connection.send(text("a"))
        done.wait(PATIENCE)

    with web_socket(messages, tls=certificate.server) as port:
        url = f"wss://{HOST}:{port}/x"
        with running(url, tmp_path) as found:
            wait_for(lambda: "certificate" in str(found.receiver.health.trouble).lower(), "a refusal")
        with running(url, tmp_path, options=certificate.ca) as found:
            found.has("a")
        done.set()


# --- a source that is down ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["poll+http", "sse+http", "ws", "mqtt"])
def test_a_server_that_is_down_is_tried_again_and_told_once(scheme: str, tmp_path: Path) -> None:
    with running(f"{scheme}://{HOST}:{free_port()}/a", tmp_path) as found:
        wait_for(lambda: found.receiver.health.failures > 3, "some tries")
        assert found.receiver.health.trouble
        assert len(found.warnings) == 1
        assert "trying again" in found.warnings[0]


def test_the_pauses_grow_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr(base, "LONGEST_PAUSE", 60.0)
    receiver = opened("ws://a/")
    found = []
    for count in (1, 2, 3, 20):
        receiver._failed_in_a_row = count
        found.append(receiver.next_pause())
    for pause, longest in zip(found, (1, 2, 4, 60), strict=True):
        assert longest / 2 <= pause <= longest
