"""The arguments and options that commands share: their types, their help, and how each is checked."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# On a terminal, help has panels and colours; in a file or a pipe it is plain text.
FANCY = sys.stdout.isatty()


class Execution(StrEnum):
    auto = "auto"
    local = "local"
    catalyst = "catalyst"


class Entailment(StrEnum):
    none = "none"
    rdfs = "rdfs"


class Format(StrEnum):
    json = "json"
    xml = "xml"
    csv = "csv"
    tsv = "tsv"
    table = "table"
    turtle = "turtle"
    ntriples = "ntriples"
    rdfxml = "rdfxml"
    jsonld = "jsonld"


def examples(*lines: str) -> str:
    """Lines of example commands as an epilog that keeps its lines in both styles of help."""
    if FANCY:
        return "\n\n".join(
            ["[bold]Examples[/bold]", *(f"  {line.replace('[', chr(92) + '[')}" for line in lines)]
        )
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def _iri(value: str, what: str) -> str:
    from pyoxigraph import NamedNode

    try:
        return NamedNode(value).value
    except ValueError:
        raise typer.BadParameter(f"{what} must be an absolute IRI, not {value!r}") from None


def _base(value: str | None) -> str | None:
    return None if value is None else _iri(value, "the base")


def named_graphs(values: list[str] | None) -> list[tuple[str, str]]:
    """Each `IRI=FILE` as a pair."""
    return [_named_graph(value) for value in values or []]


def _named_graph(value: str) -> tuple[str, str]:
    # An IRI holds `=` more often than the name of a file does, so the last one divides.
    iri, equals, path = value.rpartition("=")
    if not equals or not iri or not path:
        raise typer.BadParameter(f"expected IRI=FILE, not {value!r}", param_hint="--graph")
    return _iri(iri, "the name of a graph"), path


QueryArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="QUERY.rq", help="File with the query; - reads it from standard input.", show_default=False
    ),
]
TextOption = Annotated[
    str | None, typer.Option("--text", "-q", metavar="SPARQL", help="The query itself, instead of a file.")
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE",
        help="RDF for the default graph: Turtle, N-Triples, N-Quads, TriG, RDF/XML or JSON-LD, also gzipped; "
        "a quoted glob takes many. Repeatable.",
    ),
]
GraphOption = Annotated[
    list[str] | None,
    typer.Option("--graph", "-g", metavar="IRI=FILE", help="RDF for a named graph. Repeatable."),
]
BaseOption = Annotated[
    str | None,
    typer.Option("--base", metavar="IRI", callback=_base, help="Base of the relative IRIs in the query."),
]
EntailmentOption = Annotated[
    Entailment,
    typer.Option("--entailment", metavar="none|rdfs", help="What follows from the data counts as data."),
]
ExecutionOption = Annotated[
    Execution,
    typer.Option(
        "--execution",
        "-e",
        metavar="auto|local|catalyst",
        help="Where the query runs: local is DuckDB in this process, catalyst is Spark; "
        "auto is local while the data is small.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="json, xml, csv, tsv or table for SELECT and ASK (default: table on a terminal, else json); "
        "turtle, ntriples, rdfxml or jsonld for CONSTRUCT and DESCRIBE (default: turtle). "
        "The ending of --output is a default too.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the result to a file.")
]
