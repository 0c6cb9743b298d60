"""Pages of queries: a query comes in, a page goes out on which its answers arrive; and a page for one that is
not written yet."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from rheos.server.pages.html import Html, element, link, page, table
from rheos.server.pages.overview import LANGUAGES, badge

PLOT = "uplot/uPlot.iife.min.js"


def query(name: str, text: str, language: str, stream: Iterable[Html] = ()) -> str:
    """The page of a query; `stream` are the sections of the stream that it makes, if it makes one."""
    stream = tuple(stream)
    return page(
        name,
        element(
            "div",
            element("h1", name, " ", badge(language, LANGUAGES[language])),
            element(
                "div",
                element("span", id="state", class_="state"),
                element("button", "Stop", id="run", type="button", disabled=True),
                link(f"/new?from={quote(name)}", "Edit a copy", class_="button"),
                element("button", "Delete", id="delete", type="button", class_="danger"),
                class_="actions",
            ),
            class_="title",
        ),
        element("p", id="error", class_="problem", hidden=True),
        element("section", element("div", id="numbers", class_="numbers"), class_="card"),
        element(
            "div",
            element("div", _chart(), _timeline(), _answers(), class_="column"),
            element("div", _text(text), _plan(), class_="column"),
            class_="columns",
        ),
        stream,
        scripts=(PLOT, "query.js", *(["stream.js"] if stream else [])),
    )


def _chart() -> Html:
    choices = element(
        "div",
        element("label", "Show ", element("select", id="value")),
        element("label", "for each ", element("select", id="key")),
        class_="actions",
    )
    head = element("div", element("h2", "Chart"), choices, class_="title")
    return element("section", head, element("div", id="plot", class_="chart"), class_="card")


def _timeline() -> Html:
    title = element("h2", "Timeline of intervals")
    return element(
        "section",
        title,
        element("div", id="timeline", class_="chart"),
        class_="card",
        id="intervals",
        hidden=True,
    )


def _answers() -> Html:
    title = element("h2", "Answers ", element("span", id="count", class_="quiet"))
    pause = element("button", "Pause", id="pause", type="button")
    none = element("p", "None yet; they appear here as they come.", class_="quiet", id="none")
    return element(
        "section",
        element("div", title, pause, class_="title"),
        none,
        element(
            "div", element("table", element("thead"), element("tbody"), id="answers"), class_="wide tall"
        ),
        class_="card",
    )


def _text(text: str) -> Html:
    code = element("pre", element("code", text), class_="code", id="text")
    return element("section", element("h2", "Text"), code, class_="card")


def _plan() -> Html:
    return element("section", element("h2", "Plan"), element("div", id="plan", class_="parts"), class_="card")


def new(streams: Iterable[tuple[str, str]], dialects: Iterable[str]) -> str:
    """Where a query is written; streams are names with their IRIs."""
    names = ({"auto": "by its words"} | LANGUAGES).get
    languages = (element("option", names(dialect, dialect), value=dialect) for dialect in dialects)
    toolbar: tuple[Html, ...] = (
        element(
            "label", "Name ", element("input", id="name", size="16", autocomplete="off", maxlength="100")
        ),
        element("label", "Language ", element("select", languages, id="dialect")),
        element(
            "label", "Example ", element("select", element("option", "choose one", value=""), id="example")
        ),
    )
    editor = element(
        "div",
        element("pre", element("code"), aria_hidden="true", class_="code"),
        element(
            "textarea",
            id="editor",
            spellcheck="false",
            autocapitalize="off",
            autocomplete="off",
            aria_label="The text of the query",
            placeholder="SELECT … FROM STREAM <…> [RANGE 1m STEP 10s] WHERE { … }",
        ),
        class_="editor",
    )
    actions = element(
        "div",
        element("button", "Dry run", id="try", type="button"),
        element("button", "Register", id="register", type="button", class_="first"),
        element("span", id="checked", class_="quiet", role="status"),
        class_="actions",
    )
    known = table(
        ("Stream", "IRI in queries"),
        ((link(f"/{quote(name)}", name), element("code", iri)) for name, iri in streams),
    )
    return page(
        "New query",
        element("h1", "New query"),
        element(
            "div",
            element(
                "div",
                element(
                    "section",
                    element("div", *toolbar, class_="toolbar"),
                    editor,
                    element("p", id="problem", class_="problem", role="alert", hidden=True),
                    actions,
                    class_="card",
                ),
                class_="column",
            ),
            element(
                "div",
                element("section", id="trial", class_="card", hidden=True),
                element("section", element("h2", "Streams"), known, class_="card"),
                class_="column",
            ),
            class_="columns editing",
        ),
        scripts=("editor.js",),
        place="/new",
    )
