"""HTML as values: names, attributes and texts come in, HTML goes out in which every text is escaped.

Only what `element` has made is HTML; any other string is a text, whoever wrote it. So there is one place that
escapes, and no way around it. The frame of all pages and their headers are here too.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

# Nothing but files of the server's own: no scripts inside of pages, no frames, nothing from elsewhere.
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

# Elements that have no content.
_EMPTY = {"br", "hr", "img", "input", "link", "meta"}


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = str | Iterable["Content"] | None


def element(name: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    """An element: `class_` is the attribute class, `data_name` is data-name, True an attribute without a
    value, None or False no attribute."""
    shown = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{together(content)}</{name}>")


def together(content: Content) -> Html:
    """Content one after the other, with every text escaped."""
    if content is None:
        return Html()
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        return Html(escape(content))
    return Html("".join(map(together, content)))


def link(path: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    return element("a", *content, href=path, **attributes)


def table(headings: Iterable[Content], rows: Iterable[Iterable[Content]], **attributes: str | bool) -> Html:
    """A table that scrolls by itself where a screen is too narrow for it."""
    head = element("thead", element("tr", (element("th", cell, scope="col") for cell in headings)))
    body = element("tbody", (element("tr", (element("td", cell) for cell in row)) for row in rows))
    return element("div", element("table", head, body, **attributes), class_="wide")


def page(title: str, *content: Content, scripts: Iterable[str] = (), place: str = "") -> str:
    """A whole page. `scripts` are files of /static; `place` is the address in the menu that is this one."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title, "" if title == "rheos" else " · rheos"),
        element("link", rel="icon", href="/static/logo.svg", type="image/svg+xml"),
        element("link", rel="stylesheet", href="/static/uplot/uPlot.min.css"),
        element("link", rel="stylesheet", href="/static/rheos.css"),
        element("script", src="/static/theme.js"),
        (
            element(
                "script", src=f"/static/{file}", type=None if "/" in file else "module", defer="/" in file
            )
            for file in scripts
        ),
    )
    body = element("body", _menu(place), element("main", *content), _foot())
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def failure(title: str, detail: str | None) -> str:
    """The page of what cannot be shown."""
    return page(
        title,
        element(
            "section",
            element("h1", title),
            element("p", detail, class_="quiet"),
            element("p", link("/", "To the overview")),
            class_="card",
        ),
        scripts=("common.js",),
    )


def _menu(place: str) -> Html:
    places = (("/", "Overview"), ("/new", "New query"), ("/openapi.json", "API"))
    logo = element("img", src="/static/logo.svg", alt="", width="28", height="28")
    return element(
        "header",
        link("/", logo, element("span", "rheos"), class_="logo"),
        element(
            "nav",
            (link(path, text, aria_current="page" if path == place else None) for path, text in places),
        ),
        element("span", "", id="health", class_="health", role="status"),
        element("button", "◐", id="theme", type="button", title="Light or dark", aria_label="Light or dark"),
    )


def _foot() -> Html:
    return element("div", id="notice", role="alert", hidden=True)
