"""`rheos bench cqels`: the experiments of the CQELS paper (section 5), beside its figures, targets, and what
a user would write without rheos.

The whole engine is measured: a file is read and parsed, queries are evaluated, and answers are written as
NDJSON and thrown away. The time per tick is the time of the whole run after its start, divided by the number
of ticks. It is not a latency, as rheos answers the ticks of a batch together; the paper gives the time of one
evaluation for one tick. Everything is warm: before it is measured, each query has run on the beginning of the
stream. There it must report the same rows as the loops without rheos.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

from rheos import Engine
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, updating
from rheos_bench.conference import PEOPLE, author_name, different, instance
from rheos_bench.conference.loops import hand_loop, store_loop
from rheos_bench.conference.runs import Conference, Ticks, load_static
from rheos_bench.conference.vocabulary import RFID
from rheos_bench.naive import Looped
from rheos_bench.report import heading, machine, table, verdict
from rheos_bench.runs import Run, measured

TRIPLES = 100_000
TICKS = 100_000
CHECKED = 2_000  # ticks of the short run, where rheos and the loops must report the same

Loops = tuple[Looped, Looped]  # with a store, and by hand

PAPER: dict[int, tuple[float, float, float]] = {  # table 2: CQELS, C-SPARQL, ETALIS, in ms
    1: (0.47, 332.46, 0.06),
    2: (3.90, 99.84, 27.47),
    3: (0.51, 331.68, 79.95),
    4: (0.53, 395.18, 469.23),
    5: (21.83, 322.64, 160.83),
}
INSTANCES = 10
PER_TICK = 0.1  # ms

SIZES = (10**4, 10**5, 10**6)
FULL_SIZE = 10**7
OF_SIZES = (1, 3, 5)
SLOWER = 2.0  # with the largest size, a tick may take so many times as long as with the smallest

NUMBERS = tuple(2**m for m in range(11))
OF_NUMBERS = (1, 3, 4)
TIMES_ONE = 4.0

SHAPES = 256
RATE = 1_000  # ticks a second to keep up with
BATCH = 5  # seconds at that rate
STREAMS = (Ticks(4 * BATCH * RATE), Ticks(4 * BATCH * RATE, people=1_000, per_second=RATE))


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    if settings.quick:
        print("Quick: what a batch costs is shared by few ticks, so that no time below means much.")
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder, Engine() as engine:
        bench = Conference(engine, Path(folder))
        ticks = Ticks(CHECKED if settings.quick else TICKS)
        sections = {
            "queries": queries,
            "sizes": sizes,
            "many": many,
            "shapes": shapes,
            "update": updating.run,
        }
        bench.load(TRIPLES)
        with progress("warming up: Spark and its workers"):
            bench.run(ticks, [instance(1, 0)])
        bench.starts.clear()
        for name, section in sections.items():
            if settings.wants(name):
                section(bench, ticks, settings)
        if bench.starts:
            print(f"\nNot in the times: to start a streaming query took {median(bench.starts):.1f} s.")


# --- single queries ---------------------------------------------------------------------------------------


def authors(number: int) -> list[int]:
    """A sample of the people of the stream, the same every time."""
    return random.Random(7).sample(range(PEOPLE), number)


def queries(bench: Conference, ticks: Ticks, settings: Settings) -> None:
    """Experiment 1: one query at a time."""
    number = 1 if settings.quick else INSTANCES
    heading(
        f"Single queries: {ticks.number:,} ticks, {ticks.per_second} a second of {ticks.people} people; "
        f"{TRIPLES:,} static triples; mean of {number} instances (Q2 has one), in ms per tick; "
        "in the paper for each evaluation, on the hardware of 2011"
    )
    rows, rates = [], []
    for template, figures in PAPER.items():
        chosen = authors(1 if template == 2 else number)
        short, loops = checked(bench, template, chosen[0])
        if not settings.quick:
            loops = without(bench, ticks, template, chosen[:1], seconds(settings))
        runs = [short] if settings.quick else []
        for done, author in enumerate(chosen[len(runs) :], start=1):
            with progress(f"measuring: Q{template}, instance {done} of {len(chosen)}"):
                runs.append(bench.run(ticks, [instance(template, author)]))
        per_tick = mean(found.per_element for found in runs)
        rows.append(
            [
                f"Q{template}",
                f"{mean(found.answers for found in runs) / ticks.number:,.3f}",
                *parts(runs),
                *(f"{figure:,.2f}" for figure in figures),
                f"< {PER_TICK}",
                verdict(per_tick < PER_TICK),
            ]
        )
        rates.append([f"Q{template}", *against(mean(found.rate for found in runs), loops)])
    table(
        ["", "answers/tick", "ms/tick", "evaluation", "static", "CQELS", "C-SPARQL", "ETALIS", "target", ""],
        rows,
    )
    heading(
        "The same in ticks/s, beside loops that a user would write without rheos: one that asks a pyoxigraph "
        "store at every tick, and Python by hand for just this query"
    )
    table(["ticks/s", "rheos", "store", "ratio", "by hand", "ratio"], rates)


def parts(runs: Sequence[Run]) -> list[str]:
    """The time per tick: all of it, the evaluation in it, and the computation of static parts in it."""
    ticks = runs[0].elements
    return [
        f"{mean(found.per_element for found in runs):.4f}",
        f"{mean(found.evaluation for found in runs) * 1000 / ticks:.4f}",
        f"{mean(found.static for found in runs) * 1000 / ticks:.4f}",
    ]


def checked(bench: Conference, template: int, author: int) -> tuple[Run, Loops]:
    """Run a query on the beginning of the stream, and fail if the loops without rheos have other answers.

    This also warms rheos up for the template.
    """
    short = Ticks(CHECKED)
    with progress(f"warming up: Q{template}"):
        ours = bench.run(short, [instance(template, author)], keep=True)
        loops = without(bench, short, template, [author])
    if (ours.different, ours.answers) != tuple(loop.rows for loop in loops):
        raise EvaluationError(
            f"Q{template}: rheos has {ours.answers} answers, {ours.different} of them different; "
            f"by hand there are {loops[1].rows}, and the store has {loops[0].rows} different ones"
        )
    return ours, loops


def without(
    bench: Conference, ticks: Ticks, template: int, chosen: Sequence[int], seconds: float = math.inf
) -> Loops:
    """The loops without rheos, on as much of a stream as they can read in some seconds."""
    path, store = bench.stream(ticks), bench.store(TRIPLES)
    with progress(f"the loops without rheos: {len(chosen):,} of Q{template}"):
        return (
            store_loop(path, store, [instance(template, author) for author in chosen], seconds),
            hand_loop(path, store, template, [author_name(author) for author in chosen], seconds),
        )


def seconds(settings: Settings) -> float:
    """How many seconds a loop without rheos runs."""
    return 0.3 if settings.quick else 3.0


def against(rate: float, loops: Sequence[Looped]) -> list[str]:
    """Ticks a second of rheos, then of each loop, with how many times as fast rheos is."""
    cells = [f"{rate:,.0f}"]
    for loop in loops:
        cells += [f"{loop.rate:,.0f}", f"{rate / loop.rate:,.2f}"]
    return cells


# --- the size of the static data --------------------------------------------------------------------------


def sizes(bench: Conference, ticks: Ticks, settings: Settings) -> None:
    """Experiment 2: more and more static data."""
    chosen = authors(1 if settings.quick else 3)
    numbers = SIZES[:2] if settings.quick else (*SIZES, FULL_SIZE) if settings.full else SIZES
    templates = OF_SIZES[1:2] if settings.quick else OF_SIZES
    heading(
        f"The size of the static data: {ticks.number:,} ticks; median of {len(chosen)} instances; "
        "static parts are computed in the run"
    )
    rows, times = [], dict[tuple[int, int], float]()
    for triples in numbers:
        bench.load(triples)
        for template in templates:
            with progress(f"measuring: Q{template} with {triples:,} triples"):
                if not settings.quick:
                    bench.run(Ticks(CHECKED), [instance(template, chosen[0])])
                runs = [bench.run(ticks, [instance(template, author)]) for author in chosen]
            times[triples, template] = middle = median(found.per_element for found in runs)
            smallest = times[numbers[0], template]
            slower = middle / smallest
            aim = [f"≤ {SLOWER:g}", verdict(slower <= SLOWER)] if triples == SIZES[-1] else ["", ""]
            rows.append(
                [
                    f"Q{template}, {triples:,} triples",
                    f"{mean(found.answers for found in runs) / ticks.number:,.3f}",
                    f"{middle:.4f}",
                    *parts(runs)[1:],
                    f"{slower:.2f}",
                    *aim,
                ]
            )
    rows.sort(key=lambda row: row[0].partition(",")[0])  # stable: the sizes stay in their order
    table(["", "answers/tick", "ms/tick", "evaluation", "static", "times smallest", "target", ""], rows)
    bench.load(TRIPLES)


# --- many queries -----------------------------------------------------------------------------------------


def many(bench: Conference, ticks: Ticks, settings: Settings) -> None:
    """Experiment 3: more and more queries of a template, at last one for everybody in the stream."""
    numbers = NUMBERS[:3:2] if settings.quick else NUMBERS
    templates = OF_NUMBERS[:1] if settings.quick else OF_NUMBERS
    people = max(PEOPLE, NUMBERS[-1])
    stream = Ticks(ticks.number, people=people)
    heading(
        f"Many queries of a template: {ticks.number:,} ticks of {people:,} people, one query each; "
        f"{TRIPLES:,} static triples; of the first and the last number the median of 3 runs"
    )
    rows, rates, rate = [], [], dict[tuple[int, int], float]()
    for template in templates:
        texts = [instance(template, author) for author in range(numbers[-1])]
        first = 0.0
        for number in numbers:
            with progress(f"measuring: {number:,} queries of Q{template}"):
                often = 3 if number in (numbers[0], numbers[-1]) and not settings.quick else 1
                runs = [bench.run(stream, texts[:number]) for _ in range(often)]
            found = sorted(runs, key=lambda one: one.seconds)[often // 2]
            first = first or found.seconds
            rate[template, number] = found.rate
            is_last = number == NUMBERS[-1]
            times = found.seconds / first
            rows.append(
                [
                    f"Q{template}, {number:,} queries",
                    f"{found.answering:,}",
                    f"{found.answers / ticks.number:,.3f}",
                    *parts([found]),
                    f"{times:.2f}",
                    *([f"≤ {TIMES_ONE:g}", verdict(times <= TIMES_ONE)] if is_last else ["", ""]),
                    f"{found.registering * 1000 / number:.2f}",
                ]
            )
    columns = [
        "",
        "with answers",
        "answers/tick",
        "ms/tick",
        "evaluation",
        "static",
        "times one",
        "target",
        "",
    ]
    table([*columns, "registering, ms each"], rows)
    for template in templates:
        for number in (numbers[0], numbers[-1]):
            loops = without(bench, stream, template, range(number), seconds(settings))
            rates.append([f"Q{template}, {number:,} queries", *against(rate[template, number], loops)])
    print()
    table(["ticks/s", "rheos", "store", "ratio", "by hand", "ratio"], rates)


def shapes(bench: Conference, ticks: Ticks, settings: Settings) -> None:
    """Many queries that share only the stream, in batches of the size that a live stream would give."""
    texts = different(8 if settings.quick else SHAPES)
    streams = (Ticks(CHECKED),) if settings.quick else STREAMS
    heading(
        f"Different queries: {len(texts)} shapes; in batches as they come in {BATCH} s at {RATE:,} ticks a "
        f"second; {TRIPLES:,} static triples, of which static parts are computed in the first batch"
    )
    rows, rates = [], []
    for stream in streams:
        path = bench.stream(stream)
        size = path.stat().st_size * BATCH * RATE // stream.number
        what = f"{stream.per_second:,} a second of {stream.people:,} people"
        with Engine(batch_bytes=size) as engine:  # it shares the Spark of the other
            load_static(engine, bench.bibliography(TRIPLES), bench.plan)
            with progress(f"measuring: {len(texts)} shapes, {what}"):
                if not settings.quick:
                    measured(engine, RFID, bench.stream(Ticks(CHECKED)), CHECKED, texts)
                found = measured(engine, RFID, path, stream.number, texts)
        rows.append(
            [
                what,
                f"{stream.number:,}",
                f"{found.batches}",
                f"{found.answering}",
                f"{found.answers / stream.number:,.1f}",
                f"{found.static:.2f} s",
                f"{found.rate:,.0f}",
                f"≥ {RATE:,}",
                verdict(found.rate >= RATE),
                f"{found.registering * 1000 / len(texts):.2f}",
            ]
        )
        with progress(f"the loop of a store without rheos, {what}"):
            loop = store_loop(path, bench.store(TRIPLES), texts, seconds(settings))
        rates.append(
            [what, f"{found.rate:,.0f}", f"{loop.rate:,.1f}", f"{found.rate / (loop.rate or 1):,.0f}"]
        )
    columns = ["", "ticks", "batches", "with answers", "answers/tick", "static", "ticks/s", "target", ""]
    table([*columns, "registering, ms each"], rows)
    heading("Beside a loop that asks a pyoxigraph store all of them at every tick, with windows not yet full")
    table(["ticks/s", "rheos", "store", "ratio"], rates)
