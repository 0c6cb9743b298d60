"""Pages of streams: what a window holds comes in, HTML with its moments goes out; the triples of a moment
come in, the page of that moment goes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from rheos.answers.continuous import time_text
from rheos.server.graphs import moment_path
from rheos.server.pages.html import Html, element, link, page, table
from rheos.server.pages.overview import badge
from rheos.server.pages.terms import shown
from rheos.server.views import Content, Triple

# Windows to choose by a click; any other can be written down.
WINDOWS = (
    ("physical/10", "10 triples"),
    ("physical/100", "100 triples"),
    ("physical/1000", "1,000 triples"),
    ("logical/PT10S/PT1S", "10 s, every second"),
    ("logical/PT1M/PT10S", "1 min, every 10 s"),
    ("logical/PT1M/tumbling", "one minute after the other"),
    ("logical/PT10M/PT1M", "10 min, every minute"),
)
FORMATS = ("Turtle", "TriG", "N-Triples", "N-Quads", "JSON-LD", "RDF/XML")

_MOMENTS = 60  # that are shown at once, the latest of the window
_TRIPLES = 8  # of each


def stream(name: str, kind: str, window: str, content: Content | None) -> str:
    """The page of a stream that has a source."""
    return page(
        name,
        element("div", element("h1", name, " ", badge(kind, kind)), class_="title"),
        element(
            "section",
            element("div", id="numbers", class_="numbers"),
            element("div", id="rates", class_="chart low"),
            class_="card",
        ),
        *sections(name, window, content),
        scripts=("uplot/uPlot.iife.min.js", "stream.js"),
    )


def sections(name: str, window: str, content: Content | None) -> tuple[Html, Html]:
    """What is in a window now, and a choice of others."""
    return held(name, window, content), choice(name, window)


def held(name: str, window: str, content: Content | None) -> Html:
    title = element("h2", "In the window now ", element("code", window))
    if content is None:
        quiet = element("p", "Nothing has been seen through this window yet.", class_="quiet")
        return element("section", title, quiet, id="window", class_="card", data_window=window)
    moments = list(reversed(content.moments.items()))
    triples = content.table.num_rows
    about = f"{triples:,} triples of {len(moments):,} moments at {time_text(content.at)}"
    rest = len(moments) - _MOMENTS
    return element(
        "section",
        title,
        element("p", about, class_="quiet"),
        table(
            ("Moment", "Triples"),
            (
                (link(f"/{quote(name)}/{moment_path(time)}", time_text(time)), _triples(held))
                for time, held in moments[:_MOMENTS]
            ),
            class_="moments",
        ),
        element("p", f"and {rest:,} moments before these", class_="quiet") if rest > 0 else None,
        id="window",
        class_="card",
        data_window=window,
    )


def _triples(triples: list[Triple]) -> tuple[Html, ...]:
    lines = [element("div", _triple(triple), class_="triple") for triple in triples[:_TRIPLES]]
    rest = len(triples) - len(lines)
    return (*lines, *([element("div", f"and {rest:,} more", class_="quiet")] if rest else []))


def _triple(triple: Triple) -> tuple[Html | str, ...]:
    s, p, o = map(shown, triple)
    return s, " ", element("span", p, class_="predicate"), " ", o


def choice(name: str, window: str) -> Html:
    """Another window: one of some, or one that is written down."""
    links = (
        link(f"/{quote(name)}/{path}", text, aria_current="true" if path == window else None)
        for path, text in WINDOWS
    )

    def field(label: str, name: str, value: str) -> Html:
        return element("label", label, element("input", name=name, value=value, size="9"))

    logical = window.startswith("logical/")
    size, _, step = window.removeprefix("logical/").partition("/") if logical else ("PT1M", "", "PT10S")
    count = "100" if logical else window.removeprefix("physical/")
    physical = element(
        "form",
        field("The last triples", "triples", count),
        element("button", "Look", type="submit"),
        data_kind="physical",
    )
    timed = element(
        "form",
        field("A time of", "size", size),
        field("moved every", "step", step),
        element("button", "Look", type="submit"),
        data_kind="logical",
    )
    return element(
        "section",
        element("h2", "Look through another window"),
        element("p", links, class_="choices"),
        element("div", physical, timed, id="choose", class_="forms"),
        class_="card",
        data_stream=name,
    )


def moment(name: str, time: int, triples: Iterable[Triple], address: str, paths: Mapping[str, str]) -> str:
    """The page of a moment: `address` is its IRI, `paths` are where the windows are seen that hold it."""
    title = time_text(time)
    return page(
        f"{name}, {title}",
        element("p", link(f"/{quote(name)}", f"← {name}"), class_="quiet"),
        element("div", element("h1", title, " ", badge("moment", "moment")), class_="title"),
        element(
            "section",
            table(("Subject", "Predicate", "Object"), (map(shown, triple) for triple in triples)),
            class_="card",
        ),
        element(
            "section",
            element("h2", "As RDF"),
            element("p", "By content negotiation: ", ", ".join(FORMATS), class_="quiet"),
            element("pre", f"curl -L {address} -H 'Accept: text/turtle'", class_="code"),
            element("h2", "Seen through"),
            element("p", (link(path, text) for text, path in paths.items()), class_="choices"),
            class_="card",
        ),
        scripts=("common.js",),
    )
