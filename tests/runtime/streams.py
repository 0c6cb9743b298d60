"""Small streams for tests: seconds and triples come in, lines of a stream file go out."""

from __future__ import annotations

from collections.abc import Iterable

from rheos.answers.continuous import Answer, time_text

DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
NEW_YEAR = 1_767_225_600  # 2026-01-01T00:00:00Z
EX = "http://ex/"
Element = tuple[str, str, str, float]


def moment(seconds: float) -> str:
    """A time so many seconds after New Year 2026, as a literal."""
    return f'"{time_text(round((NEW_YEAR + seconds) * 1e6))}"^^<{DATE_TIME}>'


def line(s: str, p: str, o: str, seconds: float) -> str:
    return f"<{EX}{s}> <{EX}{p}> <{EX}{o}> {moment(seconds)} .\n"


def lines(elements: Iterable[Element]) -> str:
    return "".join(line(*element) for element in elements)


def seconds(answer: Answer) -> float:
    """When an answer was reported, in seconds after New Year 2026."""
    return answer.at.timestamp() - NEW_YEAR


def rows(answer: Answer) -> list[dict[str, str]]:
    """The rows of an answer by the last part of their terms, in some order that does not change."""
    found = [{name: term.value.removeprefix(EX) for name, term in row.items()} for row in answer.rows or []]
    return sorted(found, key=lambda row: sorted(row.items()))
