"""`python -m tests.fuzz --minutes 5`: mutated input to every subject, and what broke, as short as it can be.

`--subject query --seed 7 --count 1` tries one case again. What is being tried is also in a file: the process
itself may go down.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.subjects import SUBJECTS, Case, Subject

SLOW = 5.0  # seconds: shown, but no fault
_SLOW = "slow"
_SHORTENING = 20.0  # seconds


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    faulthandler.enable()
    trying = Path(tempfile.gettempdir(), "rheos-fuzz-case")
    print(f"the case that is being tried is in {trying}")
    subjects = [SUBJECTS[name]() for name in options.subject or SUBJECTS]
    end = time.monotonic() + 60 * options.minutes
    found: dict[str, str] = {}
    tried, seed = 0, options.seed
    while seed < options.seed + options.count and time.monotonic() < end:
        for subject in subjects:
            tried += 1
            case = subject.case(seed)
            trying.write_bytes(f"{subject.name} {seed} {case[0]}\n".encode() + case[1])
            what = broken(subject, case)
            if what is not None and what not in found:
                found[what] = told(subject, seed, case, what)
                print(found[what], flush=True)
        seed += 1
    print(f"\n{len(found)} different faults in {tried} cases, before seed {seed}")
    return 1 if any(not what.startswith(_SLOW) for what in found) else 0


def broken(subject: Subject, case: Case) -> str | None:
    """The kind of an error and where it was raised, or that it was slow; None if all is well."""
    before = time.monotonic()
    error = subject.attempt(case)
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/rheos/" in frame.filename] or list(frames)
        place = f"{Path(own[-1].filename).name}, line {own[-1].lineno}"
        return f"{type(error).__name__} in {place} ({own[-1].name})"
    return f"{_SLOW}: {subject.name}" if time.monotonic() - before > SLOW else None


def told(subject: Subject, seed: int, case: Case, what: str) -> str:
    kind, data = case if what.startswith(_SLOW) else shortened(subject, case, what)
    error = subject.attempt((kind, data))
    trace = "".join(traceback.format_exception(error)[-4:]) if error is not None else ""
    again = f"python -m tests.fuzz --subject {subject.name} --seed {seed} --count 1"
    return f"\n--- {what}\n{again}\n{kind} {data!r}\n{trace}"


def shortened(subject: Subject, case: Case, what: str) -> Case:
    """A shorter input that breaks in the same place: pieces are left out as long as it does."""
    kind, data = case
    end = time.monotonic() + _SHORTENING
    size = max(1, len(data) // 2)
    while size:
        start = 0
        while start < len(data) and time.monotonic() < end:
            shorter = data[:start] + data[start + size :]
            try:
                same = broken(subject, (kind, shorter)) == what
            except UnicodeDecodeError:  # of the subject's own: the input was no text any more
                same = False
            if same:
                data = shorter
            else:
                start += size
        size //= 2
    return kind, data


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long")
    parser.add_argument("--subject", action="append", choices=list(SUBJECTS), help="only these")
    parser.add_argument("--seed", type=int, default=1_000, help="the first case")
    parser.add_argument("--count", type=int, default=10**9, help="how many cases of each subject")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
