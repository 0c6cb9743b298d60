"""Dispatch: runs a micro-batch as one Spark job, and puts the reports of its tasks
together into one result."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rheos import memory
from rheos.algebra.entailment import Schema
from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import TriplePattern
from rheos.deadline import within
from rheos.execute.session import is_local
from rheos.runtime.operator import Answers, Count, one_after_another
from rheos.runtime.plan import Control, Plan
from rheos.runtime.sharding import UnmergedError
from rheos.runtime.state.progress import DeadLetter, Progress
from rheos.runtime.state.segments import Segments, longest
from rheos.runtime.state.store import Store
from rheos.runtime.worker.batch import Report, reason_of
from rheos.runtime.worker.task import OUTPUT, Evaluate, ReadingTask, Shipped, Task, pack, unpack
from rheos.sources.reader import StreamPart, Streams
from rheos.sources.times import NEVER
from rheos.spark import in_tasks, map_in_arrow
from rheos.sql.conditions import all_of, any_of
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import entailed_names
from rheos.sql.spark import SPARK
from rheos.store.graphs import StaticGraphs
from rheos.store.tables import GRAPH_NAMES, NAMES, arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# If the last batch had more elements than this, several tasks read and parse the next one.
LARGE_BATCH = 50_000
# With more static triples than this, tasks get only those that the patterns of queries can match.
TASK_TRIPLES = 5_000_000


@dataclass(slots=True)
class Collected:
    """The results of all tasks of a batch. `files` are those of the state store that are
    not needed any more."""

    progress: dict[str, Progress] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    counts: dict[str, dict[int, Count]] = field(default_factory=dict)
    segments: dict[str, Segments] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    deferred: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    unmerged: set[str] = field(default_factory=set)  # could not be merged; they are deferred, too
    # Derived streams that stay as they were, although tasks may have seen more of them.
    unmade: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)


@dataclass
class Dispatch:
    """Sends micro-batches to the workers and, when they have changed, the plan and the static graphs."""

    session: SparkSession
    graphs: StaticGraphs
    streams: Streams | None = None  # describes how parts are read

    def __post_init__(self) -> None:
        self._key = uuid.uuid4().hex
        self._shipped: dict[str, Shipped] = {}

    @property
    def cores(self) -> int:
        return self.session.sparkContext.defaultParallelism

    def run(
        self,
        frame: DataFrame,
        plan: Plan,
        control: Control,
        *,
        large: bool,
        tickets: bool = True,
        parts: Sequence[StreamPart] | None = None,
    ) -> Collected:
        """Run a batch as one job, with a task for every group, or for each of its shards. A `large` batch is
        read by several tasks. `tickets` are needed if the frame may have no rows. If the `parts` of a small
        batch are known, the tasks that evaluate also read them."""
        tasks = control.tasks(len(plan.groups))
        threads, most = self._share(len(tasks))
        task = Task(
            self._ship("plan", f"{self._key}.{plan.version}", lambda: pickle.dumps(plan)),
            self._static(plan),
            Evaluate(control, threads, most),
        )
        if parts is not None and tasks and not large:
            return collect(self._read_and_evaluated(task, plan, tasks, parts), plan, control)
        rows = _rows(frame, plan, tasks, large=large, tickets=tickets)
        return collect(map_in_arrow(rows, task, OUTPUT).toArrow().to_pylist(), plan, control)

    def _read_and_evaluated(
        self, task: Task, plan: Plan, tasks: Sequence[tuple[int, int]], parts: Sequence[StreamPart]
    ) -> list[dict[str, Any]]:
        """The rows that the tasks of a small batch give. To plan a DataFrame, and to start a second Python
        worker to read it, would take longer than the batch itself. Groups that have a stream in common each
        read it."""
        assert self.streams is not None
        readers = plan.readers()
        given = [
            (number, [part for part in parts if group in readers.get(part.stream, ())])
            for number, (group, _) in enumerate(tasks)
        ]
        return in_tasks(self.session.sparkContext, given, ReadingTask(task, self.streams)).collect()

    def close(self) -> None:
        """Release the broadcasts."""
        for shipped in self._shipped.values():
            shipped.data.unpersist()
        self._shipped.clear()

    def _share(self, tasks: int) -> tuple[int, int]:
        return memory.share(self._settings, is_local(self.session), self.cores, tasks)

    @cached_property
    def _settings(self) -> dict[str, str]:
        """The settings of Spark. They do not change, and to ask for them takes hundreds
        of calls to the JVM."""
        return dict(self.session.sparkContext.getConf().getAll())

    def _ship(self, kind: str, key: str, make: Callable[[], bytes]) -> Shipped:
        """The broadcast of a kind of data; if its key has changed, a new one, and the old one is released."""
        known = self._shipped.get(kind)
        if known is None or known.key != key:
            if known is not None:
                known.data.unpersist()
            known = self._shipped[kind] = Shipped(key, self.session.sparkContext.broadcast(make()))
        return known

    def _static(self, plan: Plan) -> Shipped:
        """The broadcast of the static graphs that queries need as a whole: as they are, or with what
        they entail by some schemas. Large graphs are cut down to the triples that the patterns of
        the queries can match."""
        needed = plan.graphs
        if not needed:
            return self._ship("static", f"{self._key}.none", lambda: pickle.dumps({}))
        large = self.graphs.in_spark or self.graphs.size > TASK_TRIPLES
        asked = sorted(map(repr, plan.asked)) if large else []
        key = f"{self._key}.{self.graphs.version}.{sorted(map(repr, needed))}.{asked}"
        if large:
            return self._ship("static", key, lambda: self._matching(needed, plan.asked))
        return self._ship("static", key, lambda: self._whole(needed))

    def _whole(self, needed: Set[Schema | None]) -> bytes:
        with self.graphs.snapshot() as cursor:
            names = list(NAMES) if None in needed else [GRAPH_NAMES]
            for schema in needed - {None}:
                assert schema is not None
                self.graphs.entailments.make(cursor, schema)
                names += entailed_names(schema)
            return pickle.dumps({name: pack(arrow(cursor, name)) for name in names})

    def _matching(self, needed: Set[Schema | None], asked: Set[TriplePattern]) -> bytes:
        """The triples that the patterns can match, found by Spark SQL."""
        spark = self.graphs.views(self.session)
        names = [name for name in NAMES if name != GRAPH_NAMES] if None in needed else []
        for schema in needed - {None}:
            assert schema is not None
            self.graphs.entailments.show(spark, schema)
            names += entailed_names(schema)
        where = any_of([all_of(conditions(pattern, SPARK)) for pattern in sorted(asked, key=repr)])
        found = {name: spark.sql(f"SELECT * FROM {name} WHERE {where}").toArrow() for name in names}
        found[GRAPH_NAMES] = spark.sql(f"SELECT * FROM {GRAPH_NAMES}").toArrow()
        return pickle.dumps({name: pack(table) for name, table in found.items()})


def conditions(pattern: TriplePattern, dialect: Dialect) -> list[str]:
    """The conditions on a triple to match the constants of a pattern."""
    terms = zip("spo", pattern.terms, strict=True)
    found = [f"{name} = {dialect.string(term.term)}" for name, term in terms if isinstance(term, Constant)]
    return found or ["TRUE"]


def _rows(
    frame: DataFrame, plan: Plan, tasks: Sequence[tuple[int, int]], *, large: bool, tickets: bool
) -> DataFrame:
    """The chunks, each with the number of the task that it goes to, and repeated if it goes to several. Each
    task also gets a row without a chunk (a ticket), so that it runs even if nothing arrived."""
    spark, count = frame.sparkSession, len(tasks)
    if count <= 1 and not tickets:
        return frame.repartition(1) if large else frame.coalesce(1)
    ticket = spark.sql(
        f"SELECT CAST(id AS INT) AS task, '' AS stream, 0L AS part, 0L AS number, false AS ended,"
        f" '' AS header, CAST(NULL AS BINARY) AS data, CAST(NULL AS STRING) AS segment"
        f" FROM range(0, {count}, 1, 1)"
    )
    if count <= 1:
        rows = ticket.union(frame.selectExpr("0 AS task", "*"))
        return rows.repartition(1) if large else rows.coalesce(1)
    numbers = {
        stream: [number for number, (group, _) in enumerate(tasks) if group in groups]
        for stream, groups in plan.readers().items()
    }
    cases = " ".join(
        f"WHEN {_quoted(stream)} THEN array({', '.join(map(str, found))})"
        for stream, found in numbers.items()
    )
    if not cases:
        return ticket.repartitionById(count, "task")
    chunks = frame.selectExpr(f"explode(CASE stream {cases} END) AS task", "*")
    return ticket.union(chunks).repartitionById(count, "task")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def collect(rows: Sequence[Mapping[str, Any]], plan: Plan, control: Control) -> Collected:
    """The result of a batch, from the rows of its tasks. If several groups read a stream, the first of them
    reports its progress and its dead letters."""
    found, readers = Collected(), plan.readers()
    tasks, store = control.tasks(len(plan.groups)), control.store
    answers: dict[str, list[tuple[int, Report]]] = {}
    told: list[tuple[int, dict[str, Any]]] = []
    for row in rows:
        about = json.loads(row["about"])
        if not row["query"]:
            told.append((row["task"], about))
            continue
        answer = unpack(row["rows"]) if row["file"] is None else store.table(row["file"])
        found.files += [] if row["file"] is None else [row["file"]]
        report = Report(
            row["query"],
            Answers(unpack(row["instants"]), answer),
            about["milliseconds"],
            about["way"],
            executors=(about["executor"],),
        )
        answers.setdefault(report.query, []).append((row["task"], report))
    for _, about in told:
        found.failures |= about["failures"]
        found.deferred.update(about["deferred"])
        found.apart.update(about["apart"])
        found.unmerged.update(about["unmerged"])
    waiting = _waiting(plan, tasks, told, control)
    for name, reports in answers.items():
        if name in waiting:
            continue
        try:
            with within(control.limit):
                found.reports.append(_merged(reports, plan))
        except UnmergedError:
            found.unmerged.add(name)
        except Exception as error:
            found.failures[name] = reason_of(error)
            waiting.add(name)  # nothing reads what it answers: a query that makes a stream is not merged
    waiting |= found.unmerged
    found.deferred |= waiting - found.failures.keys()
    for task, about in told:
        group, shard = tasks[task]
        if shard:
            continue
        mine = {stream for stream, groups in readers.items() if groups[0] == group}
        found.progress |= {
            stream: Progress.of_json(values) for stream, values in about["progress"].items() if stream in mine
        }
        found.letters += [DeadLetter(**letter) for letter in about["letters"] if letter["stream"] in mine]
        found.reached |= about["reached"]
        put_off = [query for query in plan.groups[group] if query.name in waiting]
        unmade = {query.derived for query in put_off if query.derived is not None}
        found.unmade |= unmade
        for stream, counts in counts_of_json(about["counts"]).items():
            known = control.counts.get(stream, {}) if stream in unmade else counts
            found.counts.setdefault(stream, {}).update(known)
        found.flows |= about["flows"]
        unchanged = {name for query in put_off for name in query.states}
        found.segments |= {
            name: Segments.of_json(values)
            for name, values in about["states"].items()
            if name not in unchanged
        }
        # If another shard has deferred a query, elements that this shard does not need may still be needed.
        for stream, values in about["whole" if put_off else "needed"].items():
            if stream in unmade:
                segments = control.segments.get(stream, Segments())
            elif stream in about["parted"]:
                parts = [other["parted"].get(stream) for at, other in told if tasks[at][0] == group]
                whole = Segments.of_json(about["whole"][stream])
                segments = _put_together(whole, [part for part in parts if part], store)
            else:
                segments = Segments.of_json(values)
            found.segments[stream] = longest([segments, found.segments.get(stream, segments)])
    found.reached |= {name: control.reached.get(name, NEVER) for name in waiting}
    found.files += _passing(told, found.segments, control.segments)
    return found


def _waiting(
    plan: Plan, tasks: Sequence[tuple[int, int]], told: Sequence[tuple[int, dict[str, Any]]], control: Control
) -> set[str]:
    """The queries in shards that count as not evaluated, although some shard has evaluated them: those that
    any shard failed or deferred, and those that read what these make. The first shard has seen elements of it
    that are made again in the next batch, or never."""
    undone = set[str]()
    for task, about in told:
        undone.update(about["deferred"])
        # Rules in a circle that were cut off fail after what they answered, and that stays.
        reached = about.get("reached", {})
        undone |= {
            name
            for name in about["failures"]
            if tasks[task][1] or reached.get(name, NEVER) == control.reached.get(name, NEVER)
        }
    found = set[str]()
    for queries in (plan.groups[group] for group, shard in tasks if shard == 1):
        more = [query for query in queries if query.name in undone]
        while more:
            found |= {query.name for query in more}
            made = {query.derived for query in more}
            more = [query for query in queries if query.streams & made and query.name not in found]
    return found


def counts_of_json(values: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, dict[int, Count]]:
    """The counts of streams by moment, from JSON, where moments are strings."""
    return {
        stream: {int(moment): Count(*count) for moment, count in counts.items()}
        for stream, counts in values.items()
    }


def _put_together(first: Segments, parts: Sequence[Mapping[str, Any]], store: Store) -> Segments:
    """A stream to which each shard has added a part, without elements that no shard needs."""
    made = [file for part in parts for file in Segments.of_json(part["made"]).files]
    return first.plus(made).since(min(part["needed"] for part in parts), store)


def _passing(
    told: Sequence[tuple[int, dict[str, Any]]],
    after: Mapping[str, Segments],
    before: Mapping[str, Segments],
) -> list[str]:
    """The segments that were written in the batch and that no record will ever name: all of their elements
    were dropped in the same batch, or another group has written the same elements."""
    written = {
        file["name"]
        for _, about in told
        for kept in (
            *about.get("whole", {}).values(),
            *about.get("states", {}).values(),
            *(part["made"] for part in about["parted"].values()),
        )
        for file in kept["files"]
    }
    known = {file.name for found in (after, before) for kept in found.values() for file in kept.files}
    return sorted(written - known)


def _merged(told: Sequence[tuple[int, Report]], plan: Plan) -> Report:
    """The reports of a query's shards as one report. UnmergedError if the answers cannot be merged."""
    reports = [report for _, report in sorted(told, key=lambda item: item[0])]
    first, took = reports[0], max(report.milliseconds for report in reports)
    parts = [report.answers for report in reports]
    if first.way != "variable":
        answers = one_after_another(parts)
    else:
        operator = next(query.operator for query in plan.queries if query.name == first.query)
        answers = operator.merged(parts)
    executors = sorted({name for report in reports for name in report.executors})
    return Report(first.query, answers, took, first.way, len(reports), tuple(executors))
