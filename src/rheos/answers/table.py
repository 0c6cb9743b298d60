"""Tables for people to read: answers as plain text, for a terminal, or as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rheos.terms import RDF, XSD, split_literal

_NUMBERS = frozenset(
    f"^^<{XSD}{name}>"
    for name in (
        *("integer", "decimal", "double", "float", "long", "int", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
_BARE = _NUMBERS | {
    f"^^<{XSD}{name}>"
    for name in ("boolean", "dateTime", "dateTimeStamp", "date", "time", "duration", "dayTimeDuration")
}
_LOCAL_NAME = re.compile(r"[\w][\w.-]*(?<!\.)|")
_COMMON_PREFIXES = {"xsd": XSD, "rdf": RDF}
_MARKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})

# Characters that control a terminal, such as its cursor or colours. Line ends and tabs are shown as escapes.
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]"

# The most rows that an HTML table shows.
_HTML_ROWS = 200


def readable(term: str | None, prefixes: Mapping[str, str]) -> str:
    """A short, readable form of a term: IRIs with their prefix, numbers and dates without quotes."""
    if term is None:
        return ""
    if term[0] == "<":
        return short_iri(term[1:-1], prefixes)
    if term[0] == "_":
        return term
    lexical, suffix = split_literal(term)
    lexical = lexical.translate(_MARKS)
    if suffix in _BARE:
        return lexical
    if suffix.startswith("^^"):
        return f'"{lexical}"^^{short_iri(suffix[3:-1], {**_COMMON_PREFIXES, **prefixes})}'
    return f'"{lexical}"{suffix}'


def short_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """`prefix:name` by the longest namespace that matches, otherwise the IRI in angle brackets."""
    best = None
    for prefix, namespace in prefixes.items():
        if (
            namespace
            and iri.startswith(namespace)
            and (best is None or len(namespace) > len(best[1]))
            and _LOCAL_NAME.fullmatch(iri, len(namespace))
        ):
            best = prefix, namespace
    return f"<{iri}>" if best is None else f"{best[0]}:{iri[len(best[1]) :]}"


def plain(variables: Sequence[str], table: pa.Table, prefixes: Mapping[str, str] | None = None) -> str:
    """The table as text in columns of any width, for files, pipes and tests."""
    cells = _cells(variables, table, prefixes or {})
    right = [_is_numeric(table[name]) for name in variables]
    widths = [max([len(name) + 1, *map(len, column)]) for name, column in zip(variables, cells, strict=True)]

    def line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if numeric else value.ljust(width)
            for value, width, numeric in zip(values, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    head = [line(["?" + name for name in variables]), "  ".join("─" * width for width in widths)]
    rows = [line(row) for row in zip(*cells, strict=True)] if cells else []
    return "\n".join([*head, *rows, _footer(table.num_rows)]) + "\n"


def show(
    variables: Sequence[str],
    table: pa.Table,
    prefixes: Mapping[str, str] | None = None,
    console: Console | None = None,
) -> None:
    """Print the table: on a terminal fitted to the window and in colour, elsewhere as plain text."""
    console = console or Console()
    if not console.is_terminal:
        console.file.write(plain(variables, table, prefixes))
        return
    grid = Table(header_style="bold", caption=_footer(table.num_rows), caption_justify="left")
    for name in variables:
        numeric = _is_numeric(table[name])
        grid.add_column(Text("?" + name), justify="right" if numeric else "left", overflow="fold")
    terms = [table[name].to_pylist() for name in variables]
    for row in zip(*terms, strict=True):
        grid.add_row(*(Text(readable(term, prefixes or {}), style=_style(term)) for term in row))
    console.print(grid)


def printable(table: pa.Table) -> pa.Table:
    """The table without characters that control a terminal."""
    for at, name in enumerate(table.column_names):
        table = table.set_column(at, name, pc.replace_substring_regex(table.column(at), _CONTROL, "\ufffd"))
    return table


def html(variables: Sequence[str], table: pa.Table, prefixes: Mapping[str, str] | None = None) -> str:
    """An HTML table of the first rows, for notebooks."""
    first = table.slice(0, _HTML_ROWS)
    cells = _cells(variables, first, prefixes or {})
    head = "".join(f"<th>?{escape(name)}</th>" for name in variables)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*cells, strict=True)
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{_footer(table.num_rows)}</p>"
    )


def _cells(variables: Sequence[str], table: pa.Table, prefixes: Mapping[str, str]) -> list[list[str]]:
    return [[readable(term, prefixes) for term in table[name].to_pylist()] for name in variables]


def _is_numeric(column: pa.ChunkedArray) -> bool:
    """Whether the column has numbers, and no other terms."""
    terms = [term for term in column.to_pylist() if term is not None]
    return bool(terms) and all(term[0] == '"' and split_literal(term)[1] in _NUMBERS for term in terms)


def _style(term: str | None) -> str:
    if term is None or term[0] == "_":
        return "dim"
    return "cyan" if term[0] == "<" else ""


def _footer(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
