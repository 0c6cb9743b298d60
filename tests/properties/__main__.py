"""`python -m tests.properties [COUNT]`: many random queries by seed, the shortest differences first."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from tests.conformance.subjects import EXECUTIONS, Oxigraph, Subject, make_subject

from .comparison import complaint
from .queries import Trial, random_trial
from .vocabulary import Dice


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    subject = make_subject(options.engine)
    found: list[tuple[int, Trial, str]] = []
    started = perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        trial = random_trial(Dice(seed))
        if len(trial.query) > options.longest:
            continue
        before = perf_counter()
        reason = judge(trial, subject)
        if perf_counter() - before > options.slow:
            print(f"slow: seed {seed}, {perf_counter() - before:.1f} s")
        if reason:
            found.append((seed, trial, reason))
            if "Fatal" in reason or "FATAL" in reason or "INTERNAL" in reason:
                subject = make_subject(options.engine)
    for seed, trial, reason in sorted(found, key=lambda item: len(item[1].query), reverse=True)[
        -options.show :
    ]:
        print(
            f"\n--- seed {seed}\n{trial}\n{reason}"
            if options.data
            else f"\n--- seed {seed}\n{trial.query}\n{reason}"
        )
    print(f"\n{len(found)} of {options.count} differ, {perf_counter() - started:.0f} s")
    return 1 if found else 0


def judge(trial: Trial, subject: Subject) -> str | None:
    """What is wrong with the answer of `subject`, or None."""
    reference = Oxigraph()
    reference.load_quads(trial.data)
    expected = reference.query(trial.reference)
    try:
        subject.clear()
        subject.load_quads(trial.data)
        return complaint(trial, expected, subject.query(trial.query))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.properties", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engine", choices=EXECUTIONS, default="local")
    parser.add_argument("--longest", type=int, default=10_000, help="leave out longer queries")
    parser.add_argument("--show", type=int, default=10, help="how many differences to print")
    parser.add_argument("--slow", type=float, default=5, help="name queries that take more seconds")
    parser.add_argument("--data", action="store_true", help="print the data too")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
