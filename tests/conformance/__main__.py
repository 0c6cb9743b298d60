"""`python -m tests.conformance [FILTER...]`: runs the W3C tests, prints failures and a table by folder."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from time import perf_counter

from rich.console import Console
from rich.table import Table

from .known import read_known_failures
from .runner import Outcome, run
from .subjects import EXECUTIONS, Subject, make_subject
from .suite import FOLDER, Case, read_cases


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    cases = [case for case in read_cases() if selected(case, options.filter)]
    if not cases:
        print(f"no test in {FOLDER} matches", file=sys.stderr)
        return 2
    console = Console(soft_wrap=True, highlight=False)
    outcomes: dict[str, dict[str, Outcome]] = {}
    started = perf_counter()
    for name in options.engine or EXECUTIONS:
        subject = make_subject(name)
        outcomes[name] = run_all(cases, subject, first=not outcomes)
        subject.close()
        report(console, name, cases, outcomes[name], options.quiet)
    console.print(summary(cases, outcomes))
    console.print(f"{perf_counter() - started:.1f} s")
    known = read_known_failures()
    news = [
        (case.id, name)
        for name, results in outcomes.items()
        for case in cases
        if case.id in results and not results[case.id].passed
        if (case.id, "syntax" if case.is_syntax else name) not in known
    ]
    return 1 if news else 0


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("filter", nargs="*", help="run only tests whose id, name or type contains this")
    parser.add_argument(
        "--engine", action="append", choices=[*EXECUTIONS, "pyoxigraph"], help="default: all executions"
    )
    parser.add_argument("--quiet", action="store_true", help="only the names of failures, no diffs")
    return parser.parse_args(arguments)


def selected(case: Case, filters: list[str]) -> bool:
    label = f"{case.id} {case.name} {case.type}".lower()
    return not filters or any(text.lower() in label for text in filters)


def run_all(cases: list[Case], subject: Subject, first: bool) -> dict[str, Outcome]:
    """The outcome of every test; syntax needs no execution, so only the first engine is asked."""
    return {case.id: run(case, subject) for case in cases if first or not case.is_syntax}


def report(console: Console, name: str, cases: list[Case], results: dict[str, Outcome], quiet: bool) -> None:
    for case in cases:
        outcome = results.get(case.id)
        if outcome is None:
            continue
        if outcome.passed and not outcome.note:
            continue
        verdict = f"[yellow]passes {outcome.note}[/]" if outcome.passed else "[red]failed[/]"
        console.print(f"{verdict} {name} {case.id} ({case.query}, {case.result})")
        if not quiet:
            console.print("    " + outcome.detail.replace("\n", "\n    "), markup=False)


def summary(cases: list[Case], outcomes: dict[str, dict[str, Outcome]]) -> Table:
    table = Table("folder", *outcomes)
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for name, results in outcomes.items():
        for case in cases:
            if case.id in results:
                for folder in (case.folder, "all"):
                    counts[folder][name].append(results[case.id].passed)
    for folder in sorted(counts, key=lambda folder: (folder == "all", folder)):
        table.add_row(folder, *(score(counts[folder][name]) for name in outcomes))
    return table


def score(results: list[bool]) -> str:
    text = f"{sum(results)}/{len(results)}" if results else ""
    return text if all(results) else f"[red]{text}[/]"


if __name__ == "__main__":
    sys.exit(main())
