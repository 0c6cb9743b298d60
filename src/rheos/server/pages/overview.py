"""The overview: the page of all streams and queries."""

from __future__ import annotations

from collections.abc import Iterable

from rheos.server.pages.rendering import render

LANGUAGES = {
    "sparql": "SPARQL",
    "csparql": "C-SPARQL",
    "cqels": "CQELS-QL",
    "epsparql": "EP-SPARQL",
    "rspql": "RSP-QL",
}


def overview(streams: Iterable[tuple[str, str]], queries: Iterable[tuple[str, str]]) -> str:
    """The page of all streams, given with their kinds, and all queries, given with their languages."""
    return render(
        "overview",
        title="Overview",
        place="/",
        streams=[(name, kind, kind) for name, kind in streams],
        queries=[(name, language, LANGUAGES[language]) for name, language in queries],
    )


def flow() -> str:
    """The page that shows what flows where; its script fetches all data."""
    return render("flow", title="Flow", place="/flow")
