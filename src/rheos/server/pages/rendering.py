"""Rendering: the name of a template and its values come in, a page goes out.

Jinja2 escapes every value, and no template turns that off. A name that a template does not get is an error.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# A page runs no script and shows no picture but those of /static. It cannot be put into a frame.
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_ENVIRONMENT.filters["number"] = "{:,}".format


def clock(text: str) -> str:
    """The time of day of a timestamp, in whole seconds, with its date where that is not today."""
    date, _, rest = text.partition("T")
    today = datetime.now(UTC).date().isoformat()
    return rest[:8] if date == today else f"{date} {rest[:8]}"


_ENVIRONMENT.filters["clock"] = clock


def render(template: str, *, title: str, place: str = "", **values: object) -> str:
    """A page. `place` is its address, if it is in the menu."""
    found = _ENVIRONMENT.get_template(f"{template}.html")
    return found.render(title=title, place=place, **values)


def failure(title: str, detail: str | None) -> str:
    """The page that says why something cannot be shown."""
    return render("problem", title=title, detail=detail)
