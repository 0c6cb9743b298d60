"""The command `rheos bench`: its arguments and options, and which benchmarks they choose."""

from __future__ import annotations

from typing import Annotated

import typer

from rheos.cli.failures import reported
from rheos.cli.options import FANCY, examples, listed
from rheos_bench import BENCHMARKS, Settings

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich" if FANCY else None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(
    help="Measure rheos on this machine, beside its targets and beside pyoxigraph.",
    epilog=listed("Benchmarks", *(f"{one.name:<9} {one.what}" for one in BENCHMARKS.values()))
    + "\n\n"
    + examples(
        "rheos bench",
        "rheos bench sparql --triples 100000",
        "rheos bench paths",
        "rheos bench windows",
        "rheos bench live --only windows",
        "rheos bench start",
        "rheos bench live --quick",
        "rheos bench cqels --only many",
        "rheos bench events",
        "rheos bench overload",
        "rheos bench server",
        "rheos bench mapping",
        "rheos bench city",
        "rheos bench sparql --quick",
        "rheos bench cluster --triples 200000 --rounds 1",
        "rheos bench kafka --messages 500000",
        "rheos bench state --live 200000",
        "rheos bench memory --live 10000000",
        "rheos bench soak --minutes 60",
    ),
)
def bench(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Which one, of those below; without it, all that take no more than some minutes.",
            show_default=False,
        ),
    ] = None,
    triples: Annotated[
        int | None,
        typer.Option(
            "--triples",
            min=1000,
            help="Size of the generated data: 1,000,000; of cluster 5,000,000; cqels has those of its paper.",
            show_default=False,
        ),
    ] = None,
    messages: Annotated[
        int | None,
        typer.Option("--messages", min=1000, help="Messages of kafka: 5,000,000.", show_default=False),
    ] = None,
    live: Annotated[
        int | None,
        typer.Option(
            "--live",
            min=1000,
            help="Elements in the window: of state 3,600,000, of memory 10,000,000.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run of each measurement, to see that all works.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="What takes long, too, and cqels with ten million triples.",
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SECTION", help="Only this section of the benchmark. Repeatable."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often cluster measures each case.")] = 3,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URI",
            help="The folder for the checkpoints of cluster; all its processes must see it.",
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.1, help="How long soak runs: 5.", show_default=False),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", min=0.1, help="The same in hours.", show_default=False),
    ] = None,
) -> None:
    if name is not None and name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise typer.BadParameter(f"no benchmark {name!r}; there are: {known}", param_hint="NAME")
    chosen = [one for one in BENCHMARKS.values() if (name == one.name if name else full or not one.long)]
    sections = [section for one in chosen for section in one.sections]
    for section in only or []:
        if section not in sections:
            wrong = f"no section {section!r}; there are: {', '.join(sections)}"
            raise typer.BadParameter(wrong, param_hint="--only")
    with reported():
        for one in chosen:
            if not only or set(only) & set(one.sections):
                one.run(
                    Settings(
                        triples=(messages if one.name == "kafka" else None) or triples or one.triples,
                        quick=quick,
                        only=tuple(only or ()),
                        full=full,
                        live=live or one.live,
                        rounds=1 if quick else rounds,
                        store=store,
                        minutes=minutes if hours is None else hours * 60,
                    )
                )
