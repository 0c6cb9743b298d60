"""The arguments and options that commands share: their types, their help, and how each is checked."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rheos import durations

# On a terminal, help has panels and colours; in a file or a pipe it is plain text.
FANCY = sys.stdout.isatty()


class Execution(StrEnum):
    auto = "auto"
    local = "local"
    catalyst = "catalyst"


class RunExecution(StrEnum):
    auto = "auto"
    task = "task"
    catalyst = "catalyst"


class Dialect(StrEnum):
    auto = "auto"
    sparql = "sparql"
    csparql = "csparql"
    cqels = "cqels"
    epsparql = "epsparql"
    rspql = "rspql"


class Target(StrEnum):
    """What a query can be translated to."""

    rspql = "rspql"


class Full(StrEnum):
    stop = "stop"
    drop = "drop"


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
    trig = "trig"
    nquads = "nquads"


class RunFormat(StrEnum):
    ndjson = "ndjson"
    csv = "csv"
    table = "table"
    nquads = "nquads"
    trig = "trig"


def examples(*lines: str) -> str:
    """Example commands as an epilog of the help, one on each line, in both styles of help."""
    return listed("Examples", *lines)


def listed(title: str, *lines: str) -> str:
    """Lines under a title, for an epilog."""
    if FANCY:
        return "\n\n".join(
            [f"[bold]{title}[/bold]", *(f"  {line.replace('[', chr(92) + '[')}" for line in lines)]
        )
    return "\b\n" + "\n".join([f"{title}:", *(f"  {line}" for line in lines)])


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
    return [_named(value, "--graph", "FILE", "the name of a graph") for value in values or []]


def named_streams(values: list[str] | None) -> list[tuple[str, str]]:
    """Each `IRI=SOURCE` as a pair."""
    named = [_named(value, "--stream", "SOURCE", "the name of a stream") for value in values or []]
    for at, (iri, _) in enumerate(named):
        if any(iri == other for other, _ in named[:at]):
            raise typer.BadParameter(f"the stream {iri} is given twice", param_hint="--stream")
    if sum(source == "-" for _, source in named) > 1:
        raise typer.BadParameter("standard input (-) can be only one stream", param_hint="--stream")
    return named


def named_values(
    values: list[str] | None, option: str, what: str, streams: list[tuple[str, str]]
) -> dict[str, str]:
    """The values of an option `IRI=VALUE` by stream. Each IRI must be that of a `--stream`."""
    found: dict[str, str] = {}
    known = [iri for iri, _ in streams]
    for value in values or []:
        iri = next((iri for iri in known if value.startswith(f"{iri}=")), None)
        if iri is None:
            given = value.partition("=")[0]
            raise typer.BadParameter(
                f"expected IRI={what} of a --stream; there is no stream {given}", param_hint=option
            )
        if iri in found:
            raise typer.BadParameter(f"{option} is given twice for the stream {iri}", param_hint=option)
        found[iri] = value[len(iri) + 1 :]
    return found


def _named(value: str, option: str, what: str, name: str) -> tuple[str, str]:
    # An IRI has a `=` more often than the name of a file, so the value begins after the last `=`. But the
    # address of a source (kafka://host/topic?group=a) may have one too: then it begins after the first `=`
    # that an address follows.
    iri, equals, source = value.rpartition("=")
    address = re.search(r"=\w[\w+.-]*://", value)
    if address is not None:
        iri, source = value[: address.start()], value[address.start() + 1 :]
    if not equals or not iri or not source:
        raise typer.BadParameter(f"expected IRI={what}, not {value!r}", param_hint=option)
    return _iri(iri, name), source


def microseconds(value: str | None, option: str) -> int | None:
    """A length of time such as `5s` or `250ms`, in the units of windows."""
    try:
        return None if value is None else durations.microseconds(value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


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
        "turtle, ntriples, rdfxml, jsonld, trig or nquads for CONSTRUCT and DESCRIBE (default: turtle). "
        "The ending of --output is a default too.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the result to a file.")
]

OutputsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="SINK",
        help="Where answers go, if not to standard output: a file, DIR/ for a file of each query, "
        "parquet:DIR, kafka://…, mqtt://…, http://… as a webhook. Repeatable.",
    ),
]
SinkLimitOption = Annotated[
    int | None,
    typer.Option(
        "--sink-limit",
        metavar="BYTES",
        min=0,
        help="How much may wait for a sink that does not keep up (256 MiB).",
        show_default=False,
    ),
]
SinkFullOption = Annotated[
    Full,
    typer.Option(
        "--sink-full",
        metavar="stop|drop",
        help="What to do when more would wait: stop the query, or drop further answers.",
    ),
]
SinkOptionsOption = Annotated[
    Path | None,
    typer.Option(
        "--sink-options",
        metavar="FILE",
        help="TOML with a table of options for each sink, as for credentials: docs/sinks.md has them.",
    ),
]
DrainOption = Annotated[
    str,
    typer.Option(
        "--drain",
        metavar="TIME",
        help="How long to wait at the end for sinks that have not taken everything.",
    ),
]

QueriesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY.rq…",
        help="Files with a query each; - reads one from standard input.",
        show_default=False,
    ),
]
TextsOption = Annotated[
    list[str] | None,
    typer.Option("--text", "-q", metavar="QUERY", help="A query itself, instead of a file. Repeatable."),
]
StreamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stream",
        "-s",
        metavar="IRI=SOURCE",
        help="Where a stream comes from: a file, a directory, a quoted glob, - for standard input, or a URL: "
        "kafka://, mqtt://, poll+http://, sse+http://, ws://. Repeatable.",
    ),
]
SourceOptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--options",
        metavar="IRI=FILE",
        help="What does not belong into the URL of a stream, such as passwords and certificates, in TOML. "
        "Repeatable.",
    ),
]
MappingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mapping",
        metavar="IRI=FILE",
        help="What makes RDF of a stream that is JSON, NDJSON, CSV or TSV: a CONSTRUCT query (.rq), RML "
        "(.rml.ttl) or a JSON-LD context (.jsonld). Repeatable.",
    ),
]
TimesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--time",
        metavar="IRI=TIME",
        help="What stands for the time of a stream's elements: field:NAME, property:IRI, message or arrival. "
        "Repeatable.",
    ),
]
MappingArgument = Annotated[
    str, typer.Argument(metavar="MAPPING", help="The mapping: .rq, .rml.ttl or .jsonld.", show_default=False)
]
RecordsOption = Annotated[
    str,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE",
        help="The records: .json, .ndjson, .jsonl, .csv or .tsv, also gzipped; a quoted glob takes many; "
        "- reads NDJSON or CSV from standard input.",
        show_default=False,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="TIME",
        help="What stands for the time: field:NAME or property:IRI. Default: prov:generatedAtTime.",
    ),
]
DialectOption = Annotated[
    Dialect,
    typer.Option(
        "--dialect",
        metavar="DIALECT",
        help="auto (by the words of the query), sparql, csparql, cqels, epsparql or rspql.",
    ),
]
ToOption = Annotated[
    Target, typer.Option("--to", metavar="DIALECT", help="The language to translate to: rspql.")
]
LatenessOption = Annotated[
    str | None,
    typer.Option(
        "--lateness",
        metavar="TIME",
        help="How much older than the newest an element may arrive: 5s, 250ms, 1m. Default: not at all.",
    ),
]
AheadOption = Annotated[
    str | None,
    typer.Option(
        "--ahead",
        metavar="TIME",
        help="How far ahead of the clock an element of a live stream (a broker, the Web, standard input, "
        "--follow) may be. Default: 1h for brokers and the Web, else any time.",
    ),
]
IdleOption = Annotated[
    str | None,
    typer.Option(
        "--idle",
        metavar="TIME",
        help="A live stream that is silent for so long is no longer waited for. Default: wait.",
    ),
]
RunExecutionOption = Annotated[
    RunExecution,
    typer.Option(
        "--execution",
        "-e",
        metavar="auto|task|catalyst",
        help="Where static data is asked: task is DuckDB inside a Spark task, catalyst is Spark SQL; "
        "auto chooses by its size.",
    ),
]
RunFormatOption = Annotated[
    RunFormat | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="ndjson, csv, table; for CONSTRUCT and DESCRIBE also nquads or trig, which can be read as a "
        "stream again "
        "(default: table on a terminal, else ndjson). The ending of --output is a default too.",
        show_default=False,
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="URI",
        help="Keep the state here, in a folder or at s3://…, gs://…, abfss://…, hdfs://…: the same command "
        "goes on where it was interrupted, exactly once.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="What to serve, in TOML.", show_default="rheos.toml"),
]
HostOption = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="The address to listen on: 127.0.0.1.")
]
PortOption = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="The port: 8080; 0 takes one that is free.")
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="A file with the token that whoever writes must send."),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="FOLDER", help="The folder of all that survives: rheos-state."),
]
BackedUpArgument = Annotated[
    Path, typer.Argument(metavar="DATA_DIR", help="The folder of the server: what it has as --data-dir.")
]
TargetArgument = Annotated[Path, typer.Argument(metavar="TARGET", help="The new folder for the copy.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Do not start if a query of the configuration is wrong.")
]
ServerOption = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="The server to change: what its addresses begin with."),
]
ServerTokenOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help="A file with the server's token.")
]
UpdateArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="UPDATE.ru", help="File with the update; - reads it from standard input.", show_default=False
    ),
]
UpdateTextOption = Annotated[
    str | None, typer.Option("--text", "-q", metavar="SPARQL", help="The update itself, instead of a file.")
]
LoadArgument = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of RDF, also gzipped.")]
IntoOption = Annotated[
    str | None,
    typer.Option("--graph", "-g", metavar="IRI", help="The named graph; without it, the default graph."),
]
LoadFormatOption = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="FORMAT", help="turtle, nt, …; without it by the file's name."),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Take away first what is in the graph; with one file only.")
]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Keep watching directories for new files, until Ctrl-C.")
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        metavar="BYTES",
        min=1,
        help="How much of the streams a batch reads at most (192 MiB). Results do not depend on it.",
        show_default=False,
    ),
]
DeadLettersOption = Annotated[
    Path | None,
    typer.Option(
        "--dead-letters",
        metavar="FILE",
        help="Keep elements that are bad, late or too far ahead here, each with the reason.",
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="No live display and no summary; errors are still shown.")
]
