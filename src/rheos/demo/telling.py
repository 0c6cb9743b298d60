"""Telling: answers as lines of NDJSON come in, short lines for a person at a terminal go out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rheos.server.answers import AnswerLog

PAUSE = 5.0  # seconds between two lines of the same query
_MOST = 200  # answers of a query that are looked at
_WIDTH = 140  # characters of a line
_LAST = re.compile(r"[^/#:]+[/#]?$")
_TERM = re.compile(r'<([^>]*)>|"((?:[^"\\]|\\.)*)"\S*|(_:\S+)')


@dataclass
class Telling:
    """The latest answer of each query that was told, and when it was told (`told`)."""

    answers: AnswerLog
    names: Sequence[str]
    told: dict[str, tuple[int, float]] = field(default_factory=dict)

    def news(self) -> Iterable[tuple[str, str, str]]:
        """For each query with new answers: its name, the time of its latest answers, and their text. A query
        for which a line was written less than `PAUSE` seconds ago is left out."""
        now = time.monotonic()
        for name in self.names:
            number, last = self.told.get(name, (0, -PAUSE))
            if self.answers.last(name) <= number or now - last < PAUSE:
                continue
            lines = self.answers.latest(name, _MOST)
            if not lines:
                continue
            self.told[name] = lines[-1].number, now
            found = [json.loads(line.text) for line in lines]
            at = found[-1]["at"]
            yield name, at[11:19], told(answer for answer in found if answer["at"] == at)


def told(answers: Iterable[Mapping[str, Any]]) -> str:
    text = " · ".join(map(one, answers))
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def one(answer: Mapping[str, Any]) -> str:
    if "boolean" in answer:
        return "yes" if answer["boolean"] else "no"
    if "triple" in answer:
        terms = (
            short(found[1]) if found[1] else found[2] or found[3]
            for found in _TERM.finditer(answer["triple"])
        )
        return " ".join(terms)
    values = ((term["type"], term["value"]) for term in answer["row"].values())
    return " ".join(short(value) if kind == "uri" else value for kind, value in values)


def short(iri: str) -> str:
    found = _LAST.search(iri)
    return found[0] if found else iri
