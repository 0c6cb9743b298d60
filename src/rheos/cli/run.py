"""`rheos run`: queries and the sources of streams come in; answers go out until the streams end.

Queries without a stream are answered first, at once. The engine writes results batch by batch, in the format
of a `Formatter`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rheos.cli.failures import FAULT, complain, located
from rheos.cli.live import counted, shown
from rheos.cli.options import Dialect, Entailment, RunExecution, RunFormat
from rheos.cli.output import check_target
from rheos.cli.outputs import Outputs
from rheos.cli.place import Terminal, chosen_format, opened, terminal_width
from rheos.cli.progress import progress
from rheos.cli.session import Source, load, read_query
from rheos.cli.startup import keep_pandas_out
from rheos.errors import EnvironmentFault, LoadError, QuerySyntaxError, RheosError
from rheos.iris import DEFAULT_BASE

if TYPE_CHECKING:
    from rheos import Engine
    from rheos.runtime.driver.handle import Handle
    from rheos.runtime.driver.metrics import Metrics
    from rheos.runtime.state.journal import OutputFile
    from rheos.sinks.base import SinkSpec
    from rheos.syntax import ast

UNNAMED = "query"  # the name of a query without a file and without REGISTER


@dataclass(frozen=True, slots=True)
class Run:
    """The options of the command."""

    streams: list[tuple[str, str]]
    source_options: dict[str, dict[str, str]]
    mappings: dict[str, str]
    times: dict[str, str]
    data: list[str]
    graphs: list[tuple[str, str]]
    dialect: Dialect
    base: str | None
    entailment: Entailment
    execution: RunExecution
    lateness: int | None
    idle: int | None
    ahead: int | None
    follow: bool
    format: RunFormat | None
    outputs: Outputs
    drain: float
    checkpoint: str | None
    dead_letters: Path | None
    batch_size: int | None
    quiet: bool


@dataclass(frozen=True, slots=True)
class Registered:
    """A query of this run: its text, its tree and its name."""

    source: Source
    tree: ast.Query
    name: str


def read_queries(paths: list[str], texts: list[str], streams: list[tuple[str, str]]) -> list[Source]:
    """All the queries, from files, standard input and the command line."""
    if not paths and not texts:
        raise typer.BadParameter(
            "a query is needed: a file, - for standard input, or --text", param_hint="QUERY"
        )
    if paths.count("-") + sum(source == "-" for _, source in streams) > 1:
        raise typer.BadParameter("standard input (-) can be read only once", param_hint="QUERY")
    return [*(read_query(path, None) for path in paths), *(read_query(None, text) for text in texts)]


def read_options(files: dict[str, str]) -> dict[str, dict[str, str]]:
    """The options of sources, from their files. Messages never repeat a value: it may be a secret."""
    found = {}
    for iri, file in files.items():
        try:
            content = tomllib.loads(Path(file).read_text())
        except OSError as error:
            raise LoadError(error.strerror or str(error), file) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LoadError(f"this is not TOML: {error}", file) from None
        wrong = [name for name, value in content.items() if not isinstance(value, str)]
        if wrong:
            raise LoadError(f'the option {wrong[0]} is a text: {wrong[0]} = "…"', file)
        found[iri] = content
    return found


def run(sources: Sequence[Source], options: Run) -> None:
    """Parse all queries first, so that a wrong query fails at once; then load, register and write."""
    try:
        queries = [parsed(source, options) for source in sources]
        options.outputs.check()
        check_target(options.dead_letters)
        with started(options, any(query.tree.is_continuous for query in queries)) as engine:
            answer(engine, queries, options)
    except QuerySyntaxError as error:
        complain(located(error, called(error, sources)))


def parsed(source: Source, options: Run) -> Registered:
    import rheos

    tree = rheos.parse(source.text, dialect=options.dialect.value, base=options.base)
    stem = UNNAMED if source.name is None or source.name == "standard input" else Path(source.name).stem
    return Registered(source, tree, tree.registration.name if tree.registration else stem)


def called(error: QuerySyntaxError, sources: Sequence[Source]) -> str | None:
    """The file of the query that an error is about."""
    if len(sources) == 1:
        return sources[0].name
    return next((source.name for source in sources if source.text == error.text), None)


@contextmanager
def started(options: Run, streaming: bool) -> Iterator[Engine]:
    """An engine with the static data and the streams of this run."""
    if not streaming:
        keep_pandas_out()
    from rheos import Engine

    local = not streaming and options.execution is not RunExecution.catalyst
    with Engine(
        execution="local" if local else options.execution.value,
        base=options.base or DEFAULT_BASE,
        entailment=options.entailment.value,
        checkpoint=options.checkpoint,
        dead_letters=options.dead_letters,
        batch_bytes=options.batch_size,
        drain=options.drain,
    ) as engine:
        load(engine, options.data, options.graphs)
        for iri, source in options.streams:
            engine.add_stream(
                iri,
                source,
                lateness=options.lateness,
                idle=options.idle and options.idle / 1e6,
                follow=options.follow,
                ahead="auto" if options.ahead is None else options.ahead,
                options=options.source_options.get(iri),
                mapping=options.mappings.get(iri),
                time=options.times.get(iri),
            )
        yield engine


def answer(engine: Engine, queries: Sequence[Registered], options: Run) -> None:
    """Answer the queries without streams at once, and the others while their streams go on."""
    from rheos.answers.continuous import QueryInfo, untimed
    from rheos.answers.formatter import Formatter

    once, handles = [], []
    for query in queries:
        if query.tree.is_continuous:
            name = None if query.tree.registration else query.name
            handles.append(
                engine.register(query.source.text, dialect=options.dialect.value, name=name, keep=0)
            )
        else:
            with progress(f"answering {query.name}"):
                result = engine.query(query.source.text, base=options.base, dialect=options.dialect.value)
            info = QueryInfo(query.name, result.kind, tuple(result.variables), result.prefixes)
            once.append((info, untimed(info, result)))
    file, sinks = options.outputs.file, options.outputs.sinks(options.format, handles)
    form = chosen_format(options.format, file)
    told = [handle.info for handle in handles] if file is not None or not sinks else []
    try:
        formatter = Formatter(form.value, told, width=terminal_width(file), once=once)
    except RheosError as error:
        raise typer.BadParameter(str(error), param_hint="--format") from None
    give(handles, sinks)
    with opened(file, options.checkpoint) as output:
        if told:
            engine.stream_to(output, formatter)
        else:
            # Sinks take the answers of continuous queries. The answers of the others are written here.
            output.write(formatter.header() if once else b"")
            output.flush()
        if handles:
            stream(engine, output, options)


def give(handles: Sequence[Handle], sinks: Sequence[SinkSpec]) -> None:
    """Give all sinks to all queries."""
    for handle in handles:
        for sink in sinks:
            try:
                handle.add_sink(sink)
            except EnvironmentFault:
                raise
            except RheosError as error:
                raise typer.BadParameter(str(error), param_hint="--output") from None


def stream(engine: Engine, output: Terminal | OutputFile, options: Run) -> None:
    """Run until the streams end or the user presses Ctrl-C, then say how many elements were left out."""
    with nullcontext() if options.quiet else progress("starting Spark"):
        engine.session()
    try:
        with shown(lambda: engine.metrics, quiet=options.quiet) as above:
            if isinstance(output, Terminal):
                output.above = above
            engine.run()
    finally:
        if isinstance(output, Terminal):
            output.above = None
        ended = sys.exc_info()[0]
        if not options.quiet and ended in (None, KeyboardInterrupt):
            summarise(engine.metrics, options.dead_letters)
    if engine.streaming.registry.failures():
        raise typer.Exit(FAULT)  # the reason was printed when the query failed


def summarise(metrics: Metrics, kept: Path | None) -> None:
    """Print how many elements became dead letters, and why."""
    streams = metrics.streams.values()
    counts = {
        "bad": sum(stream.bad for stream in streams),
        "late": sum(stream.late for stream in streams),
        "too far ahead": sum(stream.ahead for stream in streams),
    }
    if any(counts.values()):
        reasons = ", ".join(f"{number:,} {why}" for why, number in counts.items() if number)
        keeps = f"they are in {kept}" if kept else "--dead-letters FILE keeps them"
        went = f"{counted(sum(counts.values()), 'element')} went to the dead letters"
        print(f"{went}: {reasons}; {keeps}", file=sys.stderr)
