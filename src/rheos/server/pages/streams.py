"""The page of a stream and the content of a window on it, the page of a moment, and the pages on which
streams and static data are added."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from rheos.answers.continuous import time_text
from rheos.server.graphs import moment_path
from rheos.server.pages.rendering import render
from rheos.server.pages.terms import Term, shown
from rheos.server.views import Content, Triple

_MOMENTS = 60  # that are shown at once: the latest of the window
_TRIPLES = 8  # that are shown of each moment

_EXAMPLE = """\
PREFIX : <http://ex.org/>
CONSTRUCT { ?sensor :temperature ?temperature }
WHERE { BIND(IRI(CONCAT("http://ex.org/sensor/", STR(?id))) AS ?sensor) }"""


class Moment(NamedTuple):
    """A moment in a window: its address, its time, its first triples, and how many others there are."""

    path: str
    time: str
    triples: list[tuple[Term, ...]]
    rest: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The content of a window: how many triples of how many moments, the latest moments, and the time `at`
    which it was so. The time is None if the window has had no content yet."""

    stream: str
    window: str
    at: str | None = None
    triples: int = 0
    count: int = 0
    moments: tuple[Moment, ...] = ()


def seen(name: str, window: str, content: Content | None) -> Seen:
    if content is None:
        return Seen(name, window)
    latest = itertools.islice(reversed(content.moments.items()), _MOMENTS)
    moments = (
        Moment(
            f"/{quote(name)}/{moment_path(time)}",
            time_text(time),
            _terms(triples[:_TRIPLES]),
            max(0, len(triples) - _TRIPLES),
        )
        for time, triples in latest
    )
    counts = content.table.num_rows, len(content.moments)
    return Seen(name, window, time_text(content.at), *counts, tuple(moments))


def stream(name: str, kind: str, window: str, content: Content | None) -> str:
    """The page of a stream that has a source, or that clients push to."""
    return render("stream", title=name, kind=kind, seen=seen(name, window, content))


def moment(name: str, time: int, triples: Iterable[Triple], address: str, paths: Mapping[str, str]) -> str:
    """The page of a moment. `address` is its IRI; `paths` are the addresses of the windows that hold it."""
    at = time_text(time)
    return render(
        "moment",
        title=f"{name}, {at}",
        stream=name,
        time=at,
        triples=_terms(triples),
        address=address,
        paths=paths,
    )


def _terms(triples: Iterable[Triple]) -> list[tuple[Term, ...]]:
    return [tuple(map(shown, triple)) for triple in triples]


def new(formats: Iterable[str]) -> str:
    """The page of a new stream, for records in these formats."""
    return render("new-stream", title="New stream", place="/new-stream", formats=formats, example=_EXAMPLE)


def new_data(formats: Mapping[str, str]) -> str:
    """The page on which static data is added. `formats` has the names of media types."""
    return render("new-data", title="Static data", place="/new-data", formats=formats)
