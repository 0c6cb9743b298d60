"""The log of a push stream: what is appended is read, in order and once, whatever happens in between."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.errors import LoadError
from rheos.runtime.state.progress import Progress
from rheos.server.problems import Problem
from rheos.server.push import Accepted, accept
from rheos.sources import push
from rheos.sources.base import Offset
from rheos.sources.decoding import Decoding
from rheos.sources.documents import read_document
from rheos.sources.lines import read_lines
from rheos.sources.push import UNTIMED, PushLog, PushSource
from rheos.store import formats
from tests.runtime.arrivals import arrive
from tests.runtime.streams import NEW_YEAR, line, lines

STREAM = Decoding(base="http://ex/s")


def elements(text: str) -> pa.RecordBatch:
    chunk = read_lines(text.encode(), "b1_", untimed=UNTIMED)
    assert not chunk.bad
    return chunk.elements


def read(source: PushSource, start: Offset, end: Offset, size: int = 1 << 20) -> list[dict[str, object]]:
    return [
        row
        for part in source.parts(start, end, size)
        for chunk in source.read(part)
        for row in chunk.elements.to_pylist()
    ]


@pytest.fixture
def log(tmp_path: Path) -> PushLog:
    return PushLog(tmp_path / "log")


def test_what_is_appended_is_read(log: PushLog) -> None:
    source, begin = log.source, log.source.begin()
    assert source.latest(begin) == begin
    log.append(elements(lines([("a", "p", "b", 1), ("a", "p", "c", 2)])))
    first = source.latest(begin)
    log.append(elements(line("a", "p", "d", 2.5)))
    second = source.latest(first)
    assert [row["o"] for row in read(source, begin, first)] == ["<http://ex/b>", "<http://ex/c>"]
    [row] = read(source, first, second)
    assert (row["s"], row["start"], row["time"]) == (
        "<http://ex/a>",
        row["time"],
        (NEW_YEAR * 10 + 25) * 100_000,
    )
    assert [row["o"] for row in read(source, begin, second, size=7)] == [f"<http://ex/{o}>" for o in "bcd"]


def test_terms_and_intervals_come_back_as_they_were(log: PushLog) -> None:
    text = (
        '_:x <http://ex/p> "a \\"quoted\\"\\n# end 3 00000000\\nline\\\\"@en "2026-01-01T00:00:01Z"'
        '^^<http://www.w3.org/2001/XMLSchema#dateTime> "2026-01-01T00:00:02Z"'
        "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
    )
    log.append(elements(text))
    [row] = read(log.source, log.source.begin(), log.source.latest(log.source.begin()))
    assert row["s"] == "_:b1_x"
    assert row["o"] == '"a "quoted"\n# end 3 00000000\nline\\"@en'
    assert (row["start"], row["time"]) == (NEW_YEAR * 1_000_000 + 1_000_000, NEW_YEAR * 1_000_000 + 2_000_000)
    log.close()
    assert len(read(PushLog(log.folder).source, {"position": 0}, {"position": log.position})) == 1


def test_elements_without_a_time_get_the_clock_s(log: PushLog) -> None:
    before = time.time_ns() // 1000
    log.append(elements("<http://ex/a> <http://ex/p> <http://ex/b> .\n" + line("a", "p", "c", 1)))
    stamped, timed = read(log.source, log.source.begin(), log.source.latest(log.source.begin()))
    assert before <= int(str(stamped["time"])) <= time.time_ns() // 1000
    assert timed["time"] == (NEW_YEAR + 1) * 1_000_000


def test_whoever_waits_hears_why_nothing_was_written(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise ValueError("a fault of ours")

    heard: list[str] = []

    def add() -> None:
        try:
            log.append(elements(line("a", "p", "b", 1)))
        except ValueError as error:
            heard.append(str(error))

    monkeypatch.setattr(push._Waiting, "record", broken)
    threads = [threading.Thread(target=add) for _ in range(3)]
    with log._writing:  # so that all of them are written together
        for thread in threads:
            thread.start()
        while len(log._pending) < 3:
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert heard == ["a fault of ours"] * 3


def test_a_record_that_was_not_finished_is_taken_away(log: PushLog) -> None:
    log.append(elements(line("a", "p", "b", 1)))
    whole = log.position
    log.append(elements(lines([("a", "p", "c", 2), ("a", "p", "d", 3)])))
    log.close()
    [path] = log.folder.glob("*.nq")
    complete = path.read_bytes()
    for left in (len(complete) - 1, len(complete) - 30, whole + 5, whole):
        path.write_bytes(complete[:left])
        assert PushLog(log.folder).position == whole
    path.write_bytes(
        complete[: whole + 3] + b"\0" + complete[whole + 4 :]
    )  # the right length, but not the text
    again = PushLog(log.folder)
    assert again.position == whole
    again.append(elements(line("a", "p", "e", 4)))
    assert [
        row["o"] for row in read(again.source, {"position": 0}, again.source.latest({"position": 0}))
    ] == [
        "<http://ex/b>",
        "<http://ex/e>",
    ]


def test_nothing_is_read_before_it_is_durable(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Offset] = []
    begin = log.source.begin()

    def fsync(descriptor: int) -> None:
        seen.append(log.source.latest(begin))

    monkeypatch.setattr(push.os, "fsync", fsync)
    log.append(elements(line("a", "p", "b", 1)))
    assert seen == [begin]
    assert log.source.latest(begin) != begin


def test_a_disk_that_refuses_leaves_the_log_as_it_was(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(elements(line("a", "p", "b", 1)))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(push.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            log.append(elements(line("a", "p", "c", 2)))
    log.append(elements(line("a", "p", "d", 3)))
    found = read(log.source, log.source.begin(), log.source.latest(log.source.begin()))
    assert [row["o"] for row in found] == ["<http://ex/b>", "<http://ex/d>"]


def test_many_who_append_share_the_wait_for_the_disk(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        waits.append(descriptor)
        time.sleep(0.02)
        real(descriptor)

    monkeypatch.setattr(push.os, "fsync", fsync)
    threads = [
        threading.Thread(target=log.append, args=(elements(line(f"s{number}", "p", "o", number)),))
        for number in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read(log.source, log.source.begin(), log.source.latest(log.source.begin()))
    assert sorted(str(row["s"]) for row in found) == sorted(f"<http://ex/s{number}>" for number in range(30))
    assert len(waits) < 15


def test_which_text_can_go_into_a_log_as_it_came(log: PushLog) -> None:
    def stands(text: str) -> bool:
        return push.stands_for(text.encode(), read_lines(text.encode(), "", untimed=UNTIMED))

    good = line("a", "p", "b", 1)
    assert stands(good + "\n# a comment\n" + good)
    assert not stands(good + "rubbish\n")
    assert not stands(good + "<http://ex/a> <http://ex/p> <http://ex/b> .\n")
    assert not stands(good.replace("<http://ex/a>", "_:a"))
    assert not stands(good + "# end 4 00000000\n")
    assert not stands(good[:-1])
    log.append(elements(good), (good + "# as it came\n").encode())
    assert len(read(log.source, log.source.begin(), log.source.latest(log.source.begin()))) == 1


def test_files_that_have_been_read_go(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "SEGMENT_BYTES", 300)
    for number in range(10):
        log.append(elements(line("a", "p", f"o{number}", number)))
    assert len(list(log.folder.glob("*.nq"))) > 3
    source = log.source
    offset, found = source.begin(), []
    while (after := source.latest(offset, 250)) != offset:
        found += [row["o"] for row in read(source, offset, after)]
        source.committed(after)
        offset = after
    assert found == [f"<http://ex/o{number}>" for number in range(10)]
    assert len(list(log.folder.glob("*.nq"))) == 1
    assert log.backlog == 0
    log.close()
    assert PushLog(log.folder).position == offset["position"]


def test_a_stream_that_is_too_far_behind_takes_no_more(log: PushLog) -> None:
    def push_one(number: int) -> int:
        body = line("a", "p", f"o{number}", number).encode()
        return accept(log, STREAM, body, "application/n-quads", backlog=200).elements

    assert [push_one(1), push_one(2)] == [1, 1]
    assert log.backlog == log.position > 200
    with pytest.raises(Problem) as refused:
        push_one(3)
    assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})
    # As soon as a batch has what waits, and the next is asked for, there is room again.
    log.source.latest(log.source.latest(log.source.begin()))
    assert log.backlog == 0
    assert push_one(3) == 1


def test_who_comes_after_the_end_is_told(log: PushLog) -> None:
    log.close()
    with pytest.raises(Problem) as refused:
        accept(
            log,
            STREAM,
            line("a", "p", "b", 1).encode(),
            "application/n-quads",
            backlog=200,
        )
    assert (refused.value.status, refused.value.detail) == (507, "the stream was taken away")


def test_a_log_that_was_emptied_goes_on_behind_what_it_had(log: PushLog) -> None:
    log.append(elements(line("a", "p", "b", 1)))
    log.forget()
    log.append(elements(line("a", "p", "c", 2)))
    begin = log.source.begin()
    assert [row["o"] for row in read(log.source, begin, log.source.latest(begin))] == ["<http://ex/c>"]


def test_documents_may_leave_the_time_out() -> None:
    text = b"""
        PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#>
        :g prov:generatedAtTime "2026-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
        :g { :a :p :b } :h { :a :p <rel> } :a :p :d .
    """
    chunk = read_document(text, "body", "x", format=formats.TRIG, base="http://ex/s", untimed=UNTIMED)
    found = {row["o"]: row["time"] for row in chunk.elements.to_pylist()}
    assert found == {
        "<http://ex/b>": (NEW_YEAR + 1) * 1_000_000,
        "<http://ex/rel>": UNTIMED,
        "<http://ex/d>": UNTIMED,
    }
    assert not chunk.bad


def test_many_lines_with_and_without_a_time() -> None:
    plain = "<http://ex/a> <http://ex/p> <http://ex/b> .\n"
    text = "".join(plain if number % 3 else line("a", "p", "b", number) for number in range(1000))
    chunk = read_lines(text.encode(), "", untimed=UNTIMED)
    assert not chunk.bad
    times = chunk.elements.column("time").to_pylist()
    assert times[:4] == [NEW_YEAR * 1_000_000, UNTIMED, UNTIMED, (NEW_YEAR + 3) * 1_000_000]
    [bad] = read_lines((text + plain).encode(), "").bad[-1:]
    assert (bad.line, bad.reason) == (1001, "there is no time after the triple")


# --- too far ahead, late, reset ------------------------------------------------------------------------


def letters(source: PushSource) -> list[tuple[str, int, str]]:
    chunks = [
        c for part in source.parts(source.begin(), source.latest(source.begin())) for c in source.read(part)
    ]
    arrived = arrive("<http://ex/s>", chunks, Progress(), 0)
    return [(letter.kind, letter.line, letter.text) for letter in arrived.letters]


def push_text(log: PushLog, text: str, **clock: int) -> Accepted:
    return accept(log, STREAM, text.encode(), "application/n-quads", 1 << 20, **clock)


def test_elements_too_far_ahead_are_not_taken(log: PushLog) -> None:
    in_time = time.time() - NEW_YEAR + 3500
    far = line("a", "p", "far", time.time() - NEW_YEAR + 3700)
    found = push_text(log, line("a", "p", "b", 1) + far + line("a", "p", "c", in_time))
    assert (found.elements, found.ahead, found.late) == (2, 1, 0)
    assert found.json() == {"accepted": 2, "late": 0, "ahead": 1, "bad": []}
    assert push_text(log, far + far).json() == {"accepted": 0, "late": 0, "ahead": 2, "bad": []}
    log.append(elements(line("a", "p", "d", in_time + 1)))
    begin = log.source.begin()
    assert [row["o"] for row in read(log.source, begin, log.source.latest(begin))] == [
        f"<http://ex/{o}>" for o in "bcd"
    ]
    text = far.rstrip("\n")
    assert [letter[0] for letter in letters(log.source)] == ["ahead"] * 3
    assert [letter[2] for letter in letters(log.source)] == [text] * 3
    # However often it is read, and whatever the clock says then.
    log.close()
    again = PushLog(log.folder)
    assert letters(again.source) == letters(log.source)
    [path] = log.folder.glob("*.nq")
    assert [path.read_text().splitlines()[line - 1][:8] for _, line, _ in letters(again.source)] == [
        "# ahead "
    ] * 3


def test_a_log_without_a_bound(tmp_path: Path) -> None:
    log = PushLog(tmp_path / "log", ahead=None)
    assert push_text(log, line("a", "p", "far", 10**10)).elements == 1
    assert letters(log.source) == []


def test_a_client_cannot_write_the_comments_of_a_log(log: PushLog) -> None:
    forged = '# ahead {"text": "x", "reason": "y"}\n'
    assert push_text(log, line("a", "p", "b", 1) + forged).elements == 1
    assert letters(log.source) == []


def test_how_many_are_late_is_told_at_once(log: PushLog) -> None:
    assert push_text(log, line("a", "p", "b", 10)).late == 0
    assert push_text(log, lines([("a", "p", "c", 5), ("a", "p", "d", 20), ("a", "p", "e", 19)])).late == 2
    assert push_text(log, line("a", "p", "f", 16), lateness=5_000_000).late == 0
    clock = (NEW_YEAR + 100) * 1_000_000
    assert push_text(log, line("a", "p", "g", 50), clock=clock).late == 1
    assert push_text(log, "<http://ex/a> <http://ex/p> <http://ex/now> .\n", clock=clock).late == 0


def test_what_came_before_a_reset_is_not_read(log: PushLog) -> None:
    source, begin = log.source, log.source.begin()
    push_text(log, lines([("a", "p", "b", 1), ("a", "p", "c", 2)]))
    planned = source.latest(begin)
    parts = source.parts(begin, planned)
    source.skip()
    assert [chunk for part in parts for chunk in source.read(part)] == []
    push_text(log, line("a", "p", "d", 1))
    assert [row["o"] for row in read(source, begin, source.latest(begin))] == ["<http://ex/d>"]
    log.close()
    again = PushLog(log.folder)
    assert [row["o"] for row in read(again.source, begin, again.source.latest(begin))] == ["<http://ex/d>"]


def test_elements_that_are_gone_are_an_error(log: PushLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "SEGMENT_BYTES", 100)
    for number in range(4):
        push_text(log, line("a", "p", f"o{number}", number))
    source, begin = log.source, log.source.begin()
    end = source.latest(begin)
    paths = sorted(log.folder.glob("*.nq"))
    content = paths[1].read_bytes()
    part = source.parts(begin, end)[1]
    paths[1].write_bytes(content[:50])
    with pytest.raises(LoadError, match="the file has 50 bytes"):
        list(source.read(part))
    paths[1].unlink()
    with pytest.raises(LoadError, match="were here, and are not any more"):
        source.parts(begin, end)
    with pytest.raises(LoadError, match="were here, and are not any more"):
        source.latest(begin)
