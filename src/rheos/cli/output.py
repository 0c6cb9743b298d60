"""The output of `rheos query`: a result comes in, its text goes to standard output or to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rheos.cli.options import Format
from rheos.errors import LoadError
from rheos.syntax import ast

if TYPE_CHECKING:
    from rheos.answers.result import Result

SOLUTION_FORMATS = (Format.json, Format.xml, Format.csv, Format.tsv, Format.table)
# A graph in JSON is JSON-LD and in XML it is RDF/XML, so the short names serve for both kinds of result.
GRAPH_FORMATS = {
    Format.turtle: Format.turtle,
    Format.ntriples: Format.ntriples,
    Format.rdfxml: Format.rdfxml,
    Format.jsonld: Format.jsonld,
    Format.trig: Format.trig,
    Format.nquads: Format.nquads,
    Format.xml: Format.rdfxml,
    Format.json: Format.jsonld,
    Format.table: Format.table,
}
BY_ENDING = {
    ".json": Format.json,
    ".srj": Format.json,
    ".xml": Format.xml,
    ".srx": Format.xml,
    ".csv": Format.csv,
    ".tsv": Format.tsv,
    ".txt": Format.table,
    ".ttl": Format.turtle,
    ".nt": Format.ntriples,
    ".rdf": Format.rdfxml,
    ".jsonld": Format.jsonld,
    ".trig": Format.trig,
    ".nq": Format.nquads,
}


def chosen_format(query: ast.Query, asked: Format | None, output: Path | None) -> Format:
    """The format of a result: that of `--format`, else that of the file's ending, else one that suits the
    kind of the query and the output."""
    form = asked or (BY_ENDING.get(output.suffix.lower()) if output else None)
    if isinstance(query.form, ast.ConstructQuery | ast.DescribeQuery):
        form = form or Format.turtle
        if form not in GRAPH_FORMATS:
            raise _unfit(form, "the result is a graph", GRAPH_FORMATS)
        return GRAPH_FORMATS[form]
    form = form or (Format.table if output is None and sys.stdout.isatty() else Format.json)
    if form not in SOLUTION_FORMATS:
        raise _unfit(form, "the result of SELECT and ASK is no graph", SOLUTION_FORMATS)
    return form


def _unfit(form: Format, why: str, fit: Iterable[Format]) -> typer.BadParameter:
    names = ", ".join(fit)
    return typer.BadParameter(f"{form} does not fit: {why}; use {names}", param_hint="--format")


def check_target(output: Path | None) -> None:
    """Refuse a file that cannot be written. This is checked before any work is done."""
    if output is None:
        return
    folder = output.parent
    if output.is_dir():
        raise LoadError("cannot write: it is a directory", str(output))
    if not folder.is_dir():
        raise LoadError(f"cannot write: there is no directory {folder}", str(output))
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise LoadError("cannot write: permission denied", str(output))


def present(result: Result, form: Format, output: Path | None) -> None:
    """Write a result in the chosen format. On a terminal a table fits the window and has colours."""
    if form is not Format.table or result.kind == "ask":
        write(result.serialize(form.value), output)
        return
    from rheos.answers import table

    terms = table.printable(result.arrow)
    if output is None and sys.stdout.isatty():
        table.show(terms.column_names, terms, result.prefixes)
    else:
        write(table.plain(terms.column_names, terms, result.prefixes), output)


def write(text: str, output: Path | None) -> None:
    """Write a text in UTF-8, whatever the terminal's locale is, with a line feed at its end."""
    content = text.encode()
    if content and not content.endswith(b"\n"):
        content += b"\n"
    if output is not None:
        output.write_bytes(content)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
