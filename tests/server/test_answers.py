"""The log of answers: numbers that last, what is kept, and what a restart finds."""

from __future__ import annotations

from pathlib import Path

from rheos.server.answers import AnswerLog


def line(query: str, number: int) -> bytes:
    return b'{"query":"%s","at":"%d"}\n' % (query.encode(), number)


def numbers(log: AnswerLog, query: str, after: int = 0) -> list[int]:
    found = log.after(query, after, 1 << 20)
    assert found is not None
    return [int(text.split(b'"')[-2]) for _, text in found]


def test_the_answers_of_a_query_behind_a_number(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 1 << 20, {"a": 0, "b": 0})
    for number in range(6):
        log.write(line("ab"[number % 2], number))
    assert (numbers(log, "a"), numbers(log, "b")) == ([0, 2, 4], [1, 3, 5])
    found = log.after("a", 0, 1)
    assert found is not None
    assert len(found) == 1
    assert numbers(log, "a", found[0].number) == [2, 4]
    assert numbers(log, "a", log.last("a")) == []
    assert log.after("c", 0, 100) is None


def test_pieces_may_end_anywhere_and_so_may_a_life(tmp_path: Path) -> None:
    text = b"".join(line("a", number) for number in range(20))
    log = AnswerLog(tmp_path, 1 << 20, {"a": 0})
    for start in range(0, 300, 7):
        log.write(text[start : start + 7])
    written = 301
    log.close()
    again = AnswerLog(tmp_path, 1 << 20, {"a": 0})
    assert again.position == written
    again.write(text[written:])
    assert numbers(again, "a") == list(range(20))
    assert again.last("a") == len(text)
    log.close()
    assert numbers(AnswerLog(tmp_path, 1 << 20, {"a": 0}), "a", 0) == list(range(20))


def test_only_so_much_is_kept(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 2000, {"a": 0, "rare": 0})
    log.write(line("rare", 0))
    for number in range(500):
        log.write(line("a", number))
    kept = numbers(log, "a")
    assert kept[-1] == 499
    assert 2000 * 7 // 8 <= len(kept) * 25 <= 2600
    assert numbers(log, "rare") == []
    assert log.lost("rare") == log.last("rare") == len(line("rare", 0))
    assert 0 < log.lost("a") < log.last("a")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2700
    log.close()
    again = AnswerLog(tmp_path, 2000, {"a": 0, "new": log.position})
    assert numbers(again, "a") == kept
    assert again.lost("a") >= log.lost("a")
    assert again.lost("new") == 0


def test_one_batch_that_is_larger_than_all_that_is_kept(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 1000, {"a": 0})
    log.write(b"".join(line("a", number) for number in range(300)))
    log.write(line("a", 300))
    log.write(line("a", 301))
    assert numbers(log, "a")[-2:] == [300, 301]


def test_a_query_that_comes_again_has_only_its_own_answers(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 1 << 20, {"a": 0})
    log.write(line("a", 1))
    log.forget("a")
    log.write(line("a", 2))
    with log.beginning("a") as since:
        log.write(line("a", 3))
    assert numbers(log, "a") == [3]
    log.close()
    assert numbers(AnswerLog(tmp_path, 1 << 20, {"a": since}), "a") == [3]


def test_who_waits_is_told(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, 1 << 20, {"a": 0, "b": 0})
    told: list[set[str]] = []
    log.changed = told.append
    log.write(line("a", 1)[:5])
    log.flush()
    log.write(line("a", 1)[5:] + line("nobody", 1))
    log.flush()
    log.flush()
    assert told == [{"a"}]
