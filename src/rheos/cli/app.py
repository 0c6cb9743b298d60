"""The commands of `rheos` and their options; what each does is in the module of its name."""

from __future__ import annotations

from typing import Annotated

import typer

from rheos.cli.failures import reported
from rheos.cli.options import (
    FANCY,
    BaseOption,
    DataOption,
    Entailment,
    EntailmentOption,
    Execution,
    ExecutionOption,
    FormatOption,
    GraphOption,
    OutputOption,
    QueryArgument,
    TextOption,
    examples,
    named_graphs,
)

app = typer.Typer(
    help="SPARQL 1.1 over RDF files, in this process or on Spark.",
    epilog=examples(
        "rheos query people.rq --data city.ttl",
        "rheos query -q 'SELECT * { ?s ?p ?o } LIMIT 5' --data city.ttl",
        "rheos explain people.rq --data city.ttl",
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
        "rheos explain people.rq",
        "rheos explain people.rq --data city.ttl --execution catalyst",
    )
)
def explain(
    query: QueryArgument = None,
    text: TextOption = None,
    data: DataOption = None,
    graph: GraphOption = None,
    base: BaseOption = None,
    entailment: EntailmentOption = Entailment.none,
    execution: ExecutionOption = Execution.auto,
) -> None:
    """Check a query and show its algebra, its SQL and where it would run, without running it."""
    from rheos.cli.explain import show
    from rheos.cli.session import Session, read_query

    with reported():
        source = read_query(query, text)
    with reported(source.name):
        session = Session(data or [], named_graphs(graph), base, entailment, execution)
        show(source, session)


@app.command(
    epilog=examples(
        "rheos bench",
        "rheos bench sparql --triples 100000",
        "rheos bench sparql --quick",
    )
)
def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Which one; all of them when left out.", show_default=False),
    ] = None,
    triples: Annotated[
        int, typer.Option("--triples", min=1000, help="Size of the generated data.")
    ] = 1_000_000,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run of each measurement, to see that all works.")
    ] = False,
) -> None:
    """Measure rheos on this machine, beside its targets and beside pyoxigraph."""
    from rheos.bench import BENCHMARKS, Settings

    if name is not None and name not in BENCHMARKS:
        raise typer.BadParameter(
            f"no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}", param_hint="NAME"
        )
    with reported():
        for benchmark in [name] if name else list(BENCHMARKS):
            BENCHMARKS[benchmark](Settings(triples=triples, quick=quick))
