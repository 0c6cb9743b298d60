"""Solutions as a table for people: terms shortened with the query's own prefixes, numbers to the right."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox

from rheos.terms import RDF_LANG_STRING, XSD, XSD_STRING

if TYPE_CHECKING:
    from rheos import Result

NUMERIC = {XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte")}
PLAIN = NUMERIC | {XSD_STRING} | {XSD + name for name in ("boolean", "date", "dateTime", "time")}
LOCAL_NAME = re.compile(r"[\w-]([\w.-]*[\w-])?")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# Above this many rows a table is read by scrolling or by a program: straight columns, made quickly.
LONG = 1000
UNLIMITED = 1_000_000


def table_text(result: Result, prefixes: Mapping[str, str]) -> bytes:
    """The solutions as lines of text, fit for the terminal if there is one."""
    names = result.variables
    rows = result.rows
    cells = [[_cell(row.get(name), prefixes) for name in names] for row in rows]
    if not names:  # SELECT * over a pattern without variables: only the number of solutions says anything
        text = f"{len(cells)} solution{'' if len(cells) == 1 else 's'}, no variables\n"
    elif len(cells) > LONG:
        text = _columns(names, cells)
    else:
        numeric = [_numeric(row.get(name) for row in rows) for name in names]
        text = _table(names, cells, numeric)
    return text.encode(sys.stdout.encoding or "utf-8", errors="replace")


def _cell(term: object, prefixes: Mapping[str, str]) -> str:
    match term:
        case None:
            return ""
        case ox.NamedNode():
            return _visible(_short(term.value, prefixes))
        case ox.Literal() if term.datatype.value in PLAIN:
            return _visible(term.value)
        case ox.Literal() if term.datatype.value == RDF_LANG_STRING:
            return _visible(f"{term.value} @{term.language}")
        case ox.Literal():
            return _visible(f"{term.value} ^^{_short(term.datatype.value, prefixes)}")
    return str(term)


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    """The IRI by the longest prefix that leaves a plain local name, else in angle brackets."""
    for name, namespace in sorted(prefixes.items(), key=lambda item: -len(item[1])):
        if iri.startswith(namespace) and LOCAL_NAME.fullmatch(iri, len(namespace)):
            return f"{name}:{iri[len(namespace) :]}"
    return f"<{iri}>"


def _visible(text: str) -> str:
    """Control characters spelled out: data must not move the cursor or end a line."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _numeric(terms: Iterable[object]) -> bool:
    present = [term for term in terms if term is not None]
    return bool(present) and all(
        isinstance(term, ox.Literal) and term.datatype.value in NUMERIC for term in present
    )


def _table(names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=None if terminal else UNLIMITED,
        force_terminal=terminal,
        no_color=None if terminal else True,
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name, right in zip(names, numeric, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    return "".join(line.rstrip(" ") + "\n" for line in buffer.getvalue().splitlines())


def _columns(names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    widths = [max(len(name), *(len(row[at]) for row in cells)) for at, name in enumerate(names)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [names, ["─" * width for width in widths], *cells]
    )
    return "\n".join(lines) + "\n"
