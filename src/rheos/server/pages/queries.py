"""The page of a query, and the pages on which a query is written: a continuous one, or one to ask once."""

from __future__ import annotations

from collections.abc import Iterable

from rheos.server.pages.overview import LANGUAGES
from rheos.server.pages.rendering import render
from rheos.server.pages.streams import Seen


def query(name: str, text: str, language: str, seen: Seen | None = None) -> str:
    """The page of a query. `seen` is the content of the window on the stream that the query makes, if any."""
    return render("query", title=name, text=text, language=language, languages=LANGUAGES, seen=seen)


def new(streams: Iterable[tuple[str, str]], dialects: Iterable[str]) -> str:
    """The page of a new query. Streams come with their IRIs."""
    languages = {"auto": "by its words", **LANGUAGES}
    return render(
        "new", title="New query", place="/new", streams=streams, dialects=dialects, languages=languages
    )


def sparql(streams: Iterable[tuple[str, str]]) -> str:
    """The page on which a query is asked once. Streams come with their IRIs."""
    return render("sparql", title="Ask", place="/sparql", streams=streams)
