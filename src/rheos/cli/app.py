"""The commands of `rheos` and their options. The work of each command is in the module of its name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from rheos.cli.failures import reported
from rheos.cli.options import (
    FANCY,
    AheadOption,
    BackedUpArgument,
    BaseOption,
    BatchOption,
    CheckpointOption,
    ConfigOption,
    DataDirOption,
    DataOption,
    DeadLettersOption,
    Dialect,
    DialectOption,
    DrainOption,
    Entailment,
    EntailmentOption,
    Execution,
    ExecutionOption,
    FollowOption,
    FormatOption,
    Full,
    GraphOption,
    HostOption,
    IdleOption,
    IntoOption,
    LatenessOption,
    LoadArgument,
    LoadFormatOption,
    MappingArgument,
    MappingsOption,
    OutputOption,
    OutputsOption,
    PortOption,
    QueriesArgument,
    QueryArgument,
    QuietOption,
    RecordsOption,
    ReplaceOption,
    RunExecution,
    RunExecutionOption,
    RunFormatOption,
    ServerOption,
    ServerTokenOption,
    SinkFullOption,
    SinkLimitOption,
    SinkOptionsOption,
    SourceOptionsOption,
    StreamOption,
    StrictOption,
    Target,
    TargetArgument,
    TextOption,
    TextsOption,
    TimeOption,
    TimesOption,
    TokenFileOption,
    ToOption,
    UpdateArgument,
    UpdateTextOption,
    examples,
    microseconds,
    named_graphs,
    named_streams,
    named_values,
)

app = typer.Typer(
    help="SPARQL 1.1 over RDF files, and continuous queries over RDF streams, in this process and on Spark.",
    epilog=examples(
        "rheos demo",
        "rheos run tolls.rq --stream http://example.org/tolls=tolls.nq --data city.ttl",
        "rheos query people.rq --data city.ttl",
        "rheos query -q 'SELECT * { ?s ?p ?o } LIMIT 5' --data city.ttl",
        "rheos explain people.rq --data city.ttl",
        "rheos map sensors.rq --data sensors.ndjson --time field:ts",
        "rheos serve --config rheos.toml",
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich" if FANCY else None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"rheos {version('rheos')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog=examples(
        "rheos query people.rq --data city.ttl",
        "rheos query people.rq --data 'parts/*.nt.gz' --execution catalyst",
        "rheos query news.rq --graph http://example.org/news=news.ttl --format csv --output news.csv",
        "rheos query -q 'ASK { ?s a <http://example.org/City> }' -d city.ttl",
        "cat people.rq | rheos query - -d city.ttl -f json | jq .results",
    )
)
def query(
    query: QueryArgument = None,
    text: TextOption = None,
    data: DataOption = None,
    graph: GraphOption = None,
    base: BaseOption = None,
    entailment: EntailmentOption = Entailment.none,
    execution: ExecutionOption = Execution.auto,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Answer one SPARQL 1.1 query over RDF files."""
    from rheos.cli.query import answer
    from rheos.cli.session import Session, read_query

    with reported():
        source = read_query(query, text)
    with reported(source.name):
        session = Session(data or [], named_graphs(graph), base, entailment, execution)
        answer(source, session, format, output)


@app.command(
    epilog=examples(
        "rheos run tolls.rq --stream http://example.org/tolls=tolls.nq --data city.ttl",
        "rheos run -q 'SELECT * { STREAM <http://ex.org/s> [NOW] { ?a ?b ?c } }' -s http://ex.org/s=s.nq",
        "rheos run derive.rq alarm.rq -s http://example.org/tolls=in/ --follow --checkpoint dir -o out.jsonl",
        "rheos run derive.rq -s http://example.org/tolls=tolls.nq --format nquads --output derived.nq",
        "rheos run a.rq b.rq -s http://example.org/tolls=in/ --follow -o kafka://localhost/answers -o dir/",
        "cat tolls.nq | rheos run tolls.rq -s http://example.org/tolls=- --lateness 5s | head",
        "rheos run hot.rq -s http://ex.org/s=s.csv --mapping http://ex.org/s=s.rq --time http://ex.org/s=field:ts",
    )
)
def run(
    query: QueriesArgument = None,
    text: TextsOption = None,
    stream: StreamOption = None,
    options: SourceOptionsOption = None,
    mapping: MappingsOption = None,
    time: TimesOption = None,
    data: DataOption = None,
    graph: GraphOption = None,
    dialect: DialectOption = Dialect.auto,
    base: BaseOption = None,
    entailment: EntailmentOption = Entailment.none,
    execution: RunExecutionOption = RunExecution.auto,
    lateness: LatenessOption = None,
    idle: IdleOption = None,
    ahead: AheadOption = None,
    follow: FollowOption = False,
    format: RunFormatOption = None,
    output: OutputsOption = None,
    sink_limit: SinkLimitOption = None,
    sink_full: SinkFullOption = Full.stop,
    sink_options: SinkOptionsOption = None,
    drain: DrainOption = "60s",
    checkpoint: CheckpointOption = None,
    dead_letters: DeadLettersOption = None,
    batch_size: BatchOption = None,
    quiet: QuietOption = False,
) -> None:
    """Register queries, replay or follow streams, and write what the queries report.

    Without --follow it ends when the streams end. Queries without a stream are answered at once.
    """
    from rheos.cli.outputs import outputs
    from rheos.cli.run import Run, read_options, read_queries, run

    with reported():
        streams = named_streams(stream)
        sources = read_queries(query or [], text or [], streams)
        chosen = Run(
            streams=streams,
            source_options=read_options(named_values(options, "--options", "FILE", streams)),
            mappings=named_values(mapping, "--mapping", "FILE", streams),
            times=named_values(time, "--time", "TIME", streams),
            data=data or [],
            graphs=named_graphs(graph),
            dialect=dialect,
            base=base,
            entailment=entailment,
            execution=execution,
            lateness=microseconds(lateness, "--lateness"),
            idle=microseconds(idle, "--idle"),
            ahead=microseconds(ahead, "--ahead"),
            follow=follow,
            format=format,
            outputs=outputs(output or [], sink_limit, sink_full, sink_options),
            drain=(microseconds(drain, "--drain") or 0) / 1e6,
            checkpoint=checkpoint,
            dead_letters=dead_letters,
            batch_size=batch_size,
            quiet=quiet,
        )
        run(sources, chosen)


@app.command(
    epilog=examples(
        "rheos explain people.rq",
        "rheos explain people.rq --data city.ttl --execution catalyst",
        "rheos explain -q 'ASK { STREAM <http://ex.org/s> [RANGE 5s SLIDE 1s] { ?a ?b ?c } }'",
    )
)
def explain(
    query: QueryArgument = None,
    text: TextOption = None,
    data: DataOption = None,
    graph: GraphOption = None,
    dialect: DialectOption = Dialect.auto,
    base: BaseOption = None,
    entailment: EntailmentOption = Entailment.none,
    execution: ExecutionOption = Execution.auto,
) -> None:
    """Check a query and show its algebra, its SQL and where it would run, without running it; of a continuous
    query, also what its windows hold and when it reports."""
    from rheos.cli.explain import show
    from rheos.cli.session import Session, read_query

    with reported():
        source = read_query(query, text)
    with reported(source.name):
        session = Session(data or [], named_graphs(graph), base, entailment, execution)
        show(source, session, dialect)


@app.command(epilog=examples("rheos translate tolls.rq --to rspql"))
def translate(
    query: QueryArgument = None,
    text: TextOption = None,
    to: ToOption = Target.rspql,
) -> None:
    """Print a query of C-SPARQL in RSP-QL.

    What cannot be said there is named with its place, and the exit status is 1.
    """
    from rheos.cli.session import read_query
    from rheos.cli.translate import show

    with reported():
        source = read_query(query, text)
    with reported(source.name):
        show(source)


@app.command(
    epilog=examples(
        "rheos map sensors.rq --data sensors.ndjson --time field:ts",
        "rheos map sensors.rml.ttl --data sensors.json --time property:http://www.w3.org/ns/sosa/resultTime",
        "head -3 sensors.csv | rheos map sensors.rq --data - --time field:ts",
    )
)
def map(
    mapping: MappingArgument,
    data: RecordsOption,
    time: TimeOption = None,
    base: BaseOption = None,
    output: OutputOption = None,
) -> None:
    """Show what a mapping makes of records: N-Quads with the time, as a stream file has them.

    Records that give no element are told on standard error, each with its place and the reason.
    """
    from rheos.cli.map import show

    with reported(mapping):
        show(mapping, data, time, base, output)


@app.command(
    epilog=examples(
        "rheos update change.ru --server http://127.0.0.1:8080/",
        "rheos update -q 'INSERT DATA { <http://ex/a> <http://ex/p> 1 }' --server http://127.0.0.1:8080/",
        "rheos update change.ru --server https://streams.example.org/ --token-file token",
    )
)
def update(
    server: ServerOption,
    update: UpdateArgument = None,
    text: UpdateTextOption = None,
    token_file: ServerTokenOption = None,
) -> None:
    """Change the static data of a server that runs, all of it or nothing."""
    from rheos.cli import remote
    from rheos.cli.session import read_query

    with reported(update):
        remote.update(server, read_query(update, text).text, token_file)


@app.command(
    epilog=examples(
        "rheos load city.ttl --server http://127.0.0.1:8080/",
        "rheos load news.ttl more.nt.gz --graph http://ex/news --server http://127.0.0.1:8080/",
        "rheos load city.ttl --replace --server https://streams.example.org/ --token-file token",
    )
)
def load(
    files: LoadArgument,
    server: ServerOption,
    graph: IntoOption = None,
    format: LoadFormatOption = None,
    replace: ReplaceOption = False,
    token_file: ServerTokenOption = None,
) -> None:
    """Load files into the static data of a server that runs."""
    from rheos.cli import remote

    with reported():
        if replace and len(files) > 1:
            raise typer.BadParameter("--replace goes with one file")
        remote.load(server, files, graph, format, replace, token_file)


@app.command(
    epilog=examples(
        "rheos serve",
        "rheos serve --config city.toml",
        "rheos serve --port 9000 --data-dir /var/lib/rheos",
        "rheos serve --host 0.0.0.0 --token-file /run/secrets/rheos --strict",
        "RHEOS_PORT=9000 RHEOS_LIMITS__QUERIES=20 rheos serve",
    )
)
def serve(
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    token_file: TokenFileOption = None,
    data_dir: DataDirOption = None,
    strict: StrictOption = False,
) -> None:
    """Serve streams as Linked Data, and let clients register queries, push elements and follow answers.

    Without --config it is rheos.toml in the current folder that counts, if there is one. Listens on 127.0.0.1
    unless told otherwise; ends on SIGTERM or Ctrl-C. docs/configuration.md has all keys; each is also an
    environment variable, RHEOS_…, and options count more than those.
    """
    from rheos.cli.serve import serve

    with reported():
        serve(config, host, port, token_file, data_dir, strict or None)


@app.command(epilog=examples("rheos backup /var/lib/rheos /backups/2026-03-02"))
def backup(data_dir: BackedUpArgument, target: TargetArgument) -> None:
    """Copy the folder of a server, which may run meanwhile. A server that is started with the copy goes on
    from that moment: every element that was accepted before is there, and no answer comes twice."""
    from rheos.cli.backup import show

    with reported():
        show(data_dir, target)


@app.command(
    epilog=examples(
        "rheos demo",
        "rheos demo --for 60s",
        "rheos demo --port 9000",
    )
)
def demo(
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="The port to listen on; 8080 or else any.", show_default=False
        ),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="DURATION", help="End by itself after so long, as 60s.", show_default=False
        ),
    ] = None,
) -> None:
    """Watch a simulated city: live streams, queries in all the languages, and pages in the browser."""
    from rheos.cli.demo import demo

    with reported():
        demo(port, microseconds(length, "--for"))


@app.command(
    add_help_option=False,  # `rheos bench --help` is answered by the benchmarks themselves
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def bench(context: typer.Context) -> None:
    """Measure rheos on this machine; only in a checkout of its repository."""
    if find_spec("rheos_bench") is None:
        typer.echo(
            "The benchmarks are not part of the installed package: clone the repository of rheos and run "
            "`make install` there, or `pip install '.[bench]' ./bench`.",
            err=True,
        )
        raise typer.Exit(2)
    from rheos_bench.command import app as benchmarks

    benchmarks(context.args, prog_name="rheos bench")
