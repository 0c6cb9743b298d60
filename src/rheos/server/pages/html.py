"""The text of pages: what there is comes in, HTML goes out. All that comes from data or from clients is
escaped, here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

from rheos.answers.continuous import ntriples_term, time_text
from rheos.server.graphs import moment_path
from rheos.server.views import Content, Triple

# Nothing but files of the server's own: no scripts inside of pages, no frames, nothing from elsewhere.
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


def page(title: str, *parts: str) -> str:
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    head += '<link rel="stylesheet" href="/static/rheos.css">'
    body = "\n".join((f"<h1>{escape(title)}</h1>", *parts))
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{body}\n</body></html>\n"


def link(path: str, text: str) -> str:
    return f'<a href="{escape(path)}">{escape(text)}</a>'


def table(rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML."""
    lines = ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>\n{chr(10).join(lines)}\n</table>"


def overview(streams: Iterable[str], queries: Iterable[str]) -> str:
    return page(
        "rheos",
        "<h2>Streams</h2>",
        table([link(f"/{quote(name)}", name)] for name in streams),
        "<h2>Queries</h2>",
        table([link(f"/{quote(name)}", name)] for name in queries),
    )


def new() -> str:
    """Where a query is written."""
    return page("A new query", "<p>Send its text with PUT to the name that it shall have.</p>")


def stream(name: str, window: str, content: Content | None) -> str:
    """What is in a window of a stream now, each moment with its address."""
    if content is None:
        return page(name, f"<p>{escape(window)}</p>", "<p>Nothing has been seen through this window yet.</p>")
    rows = (
        [link(f"/{quote(name)}/{moment_path(moment)}", time_text(moment)), str(len(triples))]
        for moment, triples in content.moments.items()
    )
    return page(name, f"<p>{escape(window)}, at {escape(time_text(content.at))}</p>", table(rows))


def moment(name: str, time: int, triples: Iterable[Triple]) -> str:
    rows = ([escape(ntriples_term(term)) for term in triple] for triple in triples)
    return page(f"{name}, {time_text(time)}", f"<p>{link(f'/{quote(name)}', name)}</p>", table(rows))


def query(name: str, text: str, state: str) -> str:
    events = link(f"/{quote(name)}/events", "answers as they come")
    return page(name, f"<p>{escape(state)}, {events}</p>", f"<pre>{escape(text)}</pre>")
