"""The overview: names of streams and queries come in, a page goes out whose numbers a script fills in and
keeps up to date."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from rheos.server.pages.html import Content, Html, element, link, page

# A column: its heading, the field of the lists in JSON that a script fills it with, and what it means.
STREAMS = (
    ("Stream", "name", ""),
    ("Elements a second", "rates", "over the last two minutes"),
    ("Event time", "time", "the latest time of an element"),
    ("Lag", "lag", "how far event time is behind the clock"),
    ("In windows", "held", "elements that some window can still see"),
    ("Elements", "elements", "since the server was started"),
    ("Late · bad", "dead", "elements that came too late, or could not be read"),
)
QUERIES = (
    ("Query", "name", ""),
    ("State", "state", ""),
    ("Rows a second", "rates", "over the last two minutes"),
    ("Instants", "instants", "how often it has reported"),
    ("Rows", "rows", "all that it has reported"),
    ("Evaluation", "milliseconds", "how long the last batch took"),
    ("Watching", "subscribers", "who follows its answers now"),
)
TILES = (("elements a second", "rate"), ("event time", "time"), ("lag", "lag"), ("queries run", "running"))

LANGUAGES = {"sparql": "SPARQL", "csparql": "C-SPARQL", "cqels": "CQELS-QL", "epsparql": "EP-SPARQL"}


def overview(streams: Iterable[tuple[str, str]], queries: Iterable[tuple[str, str]]) -> str:
    """Streams with their kinds and queries with their languages, each by its name."""
    tiles = (
        element("div", element("strong", data_field=field), element("span", text), class_="tile")
        for text, field in TILES
    )
    return page(
        "rheos",
        element("h1", "Overview", class_="unseen"),
        element("section", *tiles, class_="tiles", id="tiles"),
        _listed("streams", "Streams", STREAMS, ((name, kind, kind) for name, kind in streams)),
        _listed(
            "queries",
            "Queries",
            QUERIES,
            ((name, language, LANGUAGES[language]) for name, language in queries),
            link("/new", "New query", class_="button"),
        ),
        scripts=("overview.js",),
        place="/",
    )


def badge(kind: str, text: str) -> Html:
    return element("span", text, class_=f"badge {kind}")


def _listed(
    id: str,
    title: str,
    columns: Iterable[tuple[str, str, str]],
    rows: Iterable[tuple[str, str, str]],
    action: Content = None,
) -> Html:
    columns = tuple(columns)
    head = (element("th", text, scope="col", title=meaning or None) for text, _, meaning in columns)
    body = [
        element(
            "tr",
            element("th", link(f"/{quote(name)}", name), " ", badge(kind, text), scope="row"),
            (element("td", data_field=field, data_label=label) for label, field, _ in columns[1:]),
            data_name=name,
        )
        for name, kind, text in rows
    ]
    none = element("p", "There are none yet.", class_="quiet none")
    lines = element("table", element("thead", element("tr", head)), element("tbody", body), class_="listed")
    return element(
        "section",
        element("div", element("h2", title), action, class_="title"),
        lines if body else none,
        id=id,
        class_="card",
    )
