"""Updating, a section of `rheos bench cqels`: static data changes while many queries run. How soon does it
show?

The stream comes in small batches. In its middle an update gives all people a second name, from a thread of
its own. From then on the queries report co-authors by both names. All answers of one batch must be from
before the change, or all from after it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from rheos import Engine
from rheos.answers.continuous import Answer
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos.runtime.driver.handle import Handle
from rheos_bench import Settings
from rheos_bench.conference import PEOPLE, RFID, author_name, instance
from rheos_bench.conference.runs import Conference, Ticks, load_static
from rheos_bench.conference.vocabulary import FOAF, person
from rheos_bench.report import duration, heading, table, verdict

TRIPLES = 100_000
QUERIES = 1_000
OTHERS = (1, 2, 4, 5)
BATCH_TICKS = 500
BATCHES = 12
BEFORE = 4  # batches are done when the update comes
WITHIN = 2  # batches
ALIAS = " (alias)"


def run(bench: Conference, ticks: Ticks, settings: Settings) -> None:
    """Print the table."""
    number = 20 if settings.quick else QUERIES
    batches, before = (4, 1) if settings.quick else (BATCHES, BEFORE)
    stream = Ticks(batches * BATCH_TICKS)
    heading(
        f"An update in mid-stream: {number:,} queries of Q3 and one each of Q1, Q2, Q4 and Q5; "
        f"{TRIPLES:,} static triples; batches of {BATCH_TICKS} ticks"
    )
    path = bench.stream(stream)
    size = path.stat().st_size // batches
    # The engine shares the Spark of the other.
    with Engine(batch_bytes=size) as engine, progress("updating in mid-stream"):
        load_static(engine, bench.bibliography(TRIPLES), bench.plan)
        engine.add_stream(RFID, str(path))
        handles = [engine.register(instance(3, author), keep=0) for author in range(number)]
        for template in OTHERS:
            engine.register(instance(template, 0), keep=0)
        seen = Seen(engine, handles)
        engine.start()
        first = wait_for(engine, before)
        began = time.perf_counter()
        changed = engine.update(aliases())
        updating = time.perf_counter() - began
        done = engine.metrics.batches
        engine.run()
        of_batch = (time.perf_counter() - first) / (engine.metrics.batches - 1)
        later = seen.first_with_alias() - done
        static = engine.metrics.static_milliseconds / 1000
    table(
        ["", "", "target", ""],
        [
            ["batches until the change shows", f"{later}", f"≤ {WITHIN}", verdict(later <= WITHIN)],
            [f"to insert {changed} triples", duration(updating), "", ""],
            [f"to compute static parts anew, for {number + len(OTHERS):,} queries", duration(static), "", ""],
            ["a batch, on average", duration(of_batch), "", ""],
        ],
    )


def aliases() -> str:
    """The text of the update: a second name for all the people of the stream."""
    names = "".join(f'{person(at)} <{FOAF}name> "{author_name(at)}{ALIAS}" .\n' for at in range(PEOPLE))
    return f"INSERT DATA {{\n{names}}}"


def wait_for(engine: Engine, batches: int) -> float:
    """Wait until so many batches are done. Return when the first of them was done."""
    first = 0.0
    while (done := engine.metrics.batches) < batches:
        first = first or (time.perf_counter() if done else 0.0)
        time.sleep(0.01)
    return first or time.perf_counter()


class Seen:
    """The number of answers in each batch: with old names, and with new ones."""

    def __init__(self, engine: Engine, handles: Sequence[Handle]) -> None:
        self.engine = engine
        self.old: Counter[int] = Counter()
        self.new: Counter[int] = Counter()
        for handle in handles:
            handle.subscribe(self.see)

    def see(self, answer: Answer) -> None:
        batch = self.engine.metrics.batches
        new = sum(row["coAuthName"].value.endswith(ALIAS) for row in answer.rows or ())
        self.new[batch] += new
        self.old[batch] += len(answer) - new

    def first_with_alias(self) -> int:
        """The first batch with new names. From it on, every batch must have both names of everybody."""
        first = min((batch for batch, count in self.new.items() if count), default=None)
        if first is None:
            raise EvaluationError("the update did not show before the stream ended")
        wrong = [batch for batch in self.old if self.new[batch] != (self.old[batch] if batch >= first else 0)]
        if wrong:
            raise EvaluationError(f"batches {wrong} saw only a part of the update")
        return first
