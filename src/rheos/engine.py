"""The engine: static data, queries and (when asked for) Spark, behind one object."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from textwrap import indent
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from rheos import iris
from rheos.addresses import Allowed
from rheos.algebra.cqels import ANY_STREAM, translate_cqels
from rheos.algebra.csparql import translate_csparql
from rheos.algebra.entailment import ENTAILMENTS, entailing, told
from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.nodes import KINDS, Ask, Query
from rheos.algebra.printer import show
from rheos.algebra.rewrite import graphs_of
from rheos.algebra.rspql import translate_rspql
from rheos.algebra.translate import Names, translate
from rheos.algebra.update import translate_update
from rheos.answers.result import Result
from rheos.deadline import within
from rheos.errors import RheosError, UnsupportedError, UpdateError
from rheos.execute.base import Executor
from rheos.execute.catalyst import Catalyst
from rheos.execute.local import Local
from rheos.execute.plan import Plan
from rheos.execute.session import adopt, frame_of, start, stop
from rheos.execute.update import Refusal, Updater
from rheos.optimize import optimize
from rheos.sql import macros
from rheos.sql.functions import hashes
from rheos.sql.statement import compile_query
from rheos.store.graphs import PARALLEL_BYTES, StaticGraphs
from rheos.store.overlay import Overlay
from rheos.store.revision import Revision
from rheos.syntax import ast, grammar, parse_update
from rheos.syntax import parse as parse_text
from rheos.syntax.datasets import dataset, using

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rheos.mapping import Mapping as MappingFile
    from rheos.runtime.driver.handle import Handle
    from rheos.runtime.driver.hosting import Hosting
    from rheos.runtime.driver.loop import Writer
    from rheos.runtime.driver.metrics import Metrics
    from rheos.runtime.driver.service import Streaming
    from rheos.runtime.state.journal import Target
    from rheos.sources.base import Source
    from rheos.sources.push import PushLog

Execution = Literal["auto", "local", "task", "catalyst"]
EXECUTIONS = ("auto", "local", "task", "catalyst")
DIALECTS = ("auto", *(name for name in grammar.DIALECTS if name != "update"))

# With `auto`, static data of at most so many triples is queried in the process, more by Spark.
LOCAL_TRIPLES = 5_000_000

# So many plans are kept for queries that are asked again, and of texts up to so many characters.
KNOWN_PLANS = 128
LONGEST_KNOWN = 10_000
# Without one of these words, which may be written with escapes, a query names no graph.
_NAMES_GRAPHS = re.compile(r"graph|from|\\u", re.IGNORECASE)


def parse(text: str, dialect: str = "auto", base: str | None = None) -> ast.Query:
    """The syntax tree of a query; QuerySyntaxError says what is wrong with it, and where."""
    a_dialect(dialect)
    query = parse_text(text, dialect)
    base = base or iris.DEFAULT_BASE
    # Translation finds what only resolved names show.
    if query.dialect == "epsparql":
        translate_epsparql(query, "query", base)
    elif query.stream_patterns:
        translate_cqels(query, "query", base, [ANY_STREAM])
    elif query.dialect == "rspql" and query.is_continuous:
        translate_rspql(query, "query", base)
    elif query.is_continuous:
        translate_csparql(query, "query", base)
    else:
        translate(query, base, lenient=True)
    return query


class Engine:
    """Answers queries over static RDF data, and continuous queries over streams of it.

    `spark` is a session to use instead of an own one; `execution` says where queries run (`local`: DuckDB
    in this process; `catalyst`: Spark; `auto`: local while there are at most `local_triples` triples).
    N-Triples and N-Quads files of more than `parallel_bytes` together are read, and kept, by Spark. A `quick`
    engine starts a Spark that is ready sooner and slower in the long run: for one query and out.

    Continuous queries run in Spark tasks; what they ask of large static data is asked by Catalyst, or always
    if `execution` says so. At a `checkpoint`, a folder or a URI, a run survives its process. `dead_letters`
    is a file for the elements that could not be used. A batch reads about `batch_bytes` of the streams.
    The work of a batch is shared out over so many `shards`; without a number, over all cores when that pays.
    `shard_by` says in which way only, `time` or `variable`; a query for which that cannot be is one shard.

    With `entailment="rdfs"` patterns match what the data and the streams entail, by the schema in the static
    data; a query may ask for another entailment than its engine.

    `load_root` is the folder whose files an update may LOAD; without it, LOAD reads any file. With `hosting`
    the engine is part of a server, where streams and queries come and go: see `rheos.runtime.driver.hosting`.

    Sources and sinks contact only the places that `allow` lists, each as `host:port` or `host`; without a
    list, those that they name. With `kafka`, an own Spark has the connector for Kafka even if no stream needs
    it yet. At the end of a run sinks have `drain` seconds to take what they have not.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        execution: Execution = "auto",
        base: str = iris.DEFAULT_BASE,
        entailment: str = "none",
        local_triples: int = LOCAL_TRIPLES,
        parallel_bytes: int = PARALLEL_BYTES,
        quick: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        shards: int | None = None,
        shard_by: Literal["time", "variable"] | None = None,
        dead_letters: str | os.PathLike[str] | None = None,
        batch_bytes: int | None = None,
        load_root: str | os.PathLike[str] | None = None,
        hosting: Hosting | None = None,
        allow: Iterable[str] | Allowed | None = None,
        drain: float = 60.0,
        kafka: bool = False,
    ) -> None:
        one_of("execution", execution, EXECUTIONS)
        one_of("entailment", entailment, ENTAILMENTS)
        self.execution = execution
        self.base = base
        self.entailment = entailment
        self.local_triples = local_triples
        self.quick = quick
        spark_reads = None if execution == "local" else self.session
        self.graphs = StaticGraphs(spark_reads, parallel_bytes=parallel_bytes)
        self._load_root = None if load_root is None else Path(load_root)
        self._given = spark
        self._spark: SparkSession | None = None
        self._checkpoint = checkpoint
        self._shards, self._shard_by = shards, shard_by
        self._dead_letters = None if dead_letters is None else Path(dead_letters)
        self._batch_bytes = batch_bytes
        self._hosting = hosting
        self._drain = drain
        self._allowed = allow if isinstance(allow, Allowed) else Allowed.of(allow)
        self._kafka = kafka
        self._streaming: Streaming | None = None
        # By the version of the data, whose counts a plan is made by.
        self._plans = lru_cache(KNOWN_PLANS)(lambda version, *asked: self._plan(*asked))

    # --- static data -----------------------------------------------------------------------------

    def load(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        graph: str | None = None,
        base: str | None = None,
        data: str | bytes | None = None,
        format: str | None = None,
    ) -> int:
        """Add a file, a glob of files, or a text (`data` with `format`) to the default graph, or to the
        named graph `graph`; how many triples are new."""
        return self.graphs.load(source, graph=graph, base=base, data=data, format=format)

    def update(
        self,
        text: str,
        *,
        base: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> int:
        """Change the static data by a SPARQL update: the number of triples that went and that came.

        All of its operations are done, as one step for queries that run meanwhile, or none: QuerySyntaxError
        if the text is wrong, UpdateError or LoadError if an operation cannot be done. The graphs are as if
        every pattern said USING and USING NAMED. After `timeout` seconds: TimeLimitError, nothing changed.
        """
        with within(timeout):
            return self._update(text, base or self.base, default_graphs, named_graphs)

    def _update(
        self, text: str, base: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> int:
        tree = using(parse_update(text), default_graphs, named_graphs)
        operations = translate_update(tree, base)
        if "SHA" in tree.text.upper() and not self.graphs.in_spark:
            # Functions that DuckDB got inside of a transaction, nobody else could get until its end.
            with self.graphs.cursor() as cursor:
                hashes.register(cursor)
        changed = 0
        with self.graphs.revise() as revision:
            updater = Updater(
                self.graphs, revision, lambda where: self._solutions(where, revision), self._load_root
            )
            for step, operation in zip(tree.steps, operations, strict=True):
                try:
                    changed += updater.apply(operation)
                except Refusal as refusal:
                    raise UpdateError(str(refusal), tree.text, step.operation.position) from None
        return changed

    def _solutions(self, where: Query, revision: Revision) -> pa.Table:
        plan = optimize(where, revision.statistics)
        executor = self.executor(graphs=revision)
        return executor.run(compile_query(plan, executor.dialect))

    def clear(self) -> None:
        """Drop static data, streams and queries, and keep Spark."""
        if self._streaming is not None:
            self._streaming.clear()
        self.graphs.clear()

    # --- queries ---------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        *,
        base: str | None = None,
        execution: Execution | None = None,
        dialect: str = "auto",
        entailment: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        beside: Mapping[str, pa.Table] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """The answer of a one-shot SPARQL query: the whole way from text to answer.

        The graphs, if any, stand in the place of the query's own FROM and FROM NAMED. Tables of terms (s, p,
        o) `beside` the static data, by their IRIs, are named graphs for a query that names one of them; it is
        answered in this process then, and nothing is entailed. TimeLimitError if the answer takes longer than
        `timeout` seconds.
        """
        a_dialect(dialect)
        graphs = tuple(default_graphs), tuple(named_graphs)
        asked = text, dialect, base or self.base, self._entailment(entailment), *graphs
        with within(timeout):
            if beside and (named_graphs or default_graphs or _NAMES_GRAPHS.search(text)):
                found = self._beside(text, dialect, base or self.base, *graphs, beside)
                if found is not None:
                    return found
            known = len(text) <= LONGEST_KNOWN
            plan, prefixes = self._plans(self.graphs.version, *asked) if known else self._plan(*asked)
            return self._result(plan, prefixes, self.executor(execution).answer(plan))

    def _beside(
        self,
        text: str,
        dialect: str,
        base: str,
        default_graphs: Sequence[str],
        named_graphs: Sequence[str],
        beside: Mapping[str, pa.Table],
    ) -> Result | None:
        """The answer over the static data and the graphs beside them that the query names; None if it names
        none of them."""
        tree, algebra = self._algebra(text, dialect, base, default_graphs, named_graphs)
        terms = graphs_of(algebra)
        named = {name: beside[name] for name in beside if f"<{name}>" in terms}
        if not named:
            return None
        if self.graphs.in_spark:  # to read it here, all of it would be moved
            raise RheosError("static data that Spark keeps cannot be asked together with what windows hold")
        graphs = Overlay(self.graphs, named)
        plan = Plan(optimize(algebra, graphs.statistics))
        return self._result(plan, Names.of(tree, base).prefixes, Local(graphs).answer(plan))

    def _result(self, plan: Plan, prefixes: Mapping[str, str], table: pa.Table) -> Result:
        form = plan.query.form
        if isinstance(form, Ask):
            return Result.ask(table.num_rows > 0, dataframe=self.dataframe)
        return Result(KINDS[type(form)], plan.columns, table, prefixes=prefixes, dataframe=self.dataframe)

    def _plan(
        self,
        text: str,
        dialect: str,
        base: str,
        entailment: str,
        default_graphs: Sequence[str],
        named_graphs: Sequence[str],
    ) -> tuple[Plan, Mapping[str, str]]:
        """The plan of a one-shot query, and its prefixes."""
        tree, algebra = self._algebra(text, dialect, base, default_graphs, named_graphs)
        algebra = entailing(algebra, entailment)
        plan = optimize(algebra, self.graphs.statistics_for(algebra))
        return Plan(plan), Names.of(tree, base).prefixes

    def _algebra(
        self,
        text: str,
        dialect: str,
        base: str,
        default_graphs: Sequence[str],
        named_graphs: Sequence[str],
    ) -> tuple[ast.Query, Query]:
        """The tree and the algebra of a one-shot query."""
        tree = one_shot(parse_text(text, dialect))
        if default_graphs or named_graphs:
            tree = replace(tree, dataset=dataset(tree.position, default_graphs, named_graphs))
        return tree, translate(tree, base)

    def explain(
        self,
        text: str,
        *,
        base: str | None = None,
        execution: Execution | None = None,
        dialect: str = "auto",
        entailment: str | None = None,
    ) -> str:
        """How a query would be answered: its algebra before and after the optimiser, the place, the SQL; of a
        continuous query also its windows and instants, or what bounds its memory."""
        return titled(
            self.explanation(text, base=base, execution=execution, dialect=dialect, entailment=entailment)
        )

    def explanation(
        self,
        text: str,
        *,
        base: str | None = None,
        execution: Execution | None = None,
        dialect: str = "auto",
        entailment: str | None = None,
    ) -> dict[str, str]:
        """The parts of `explain`, by their titles."""
        a_dialect(dialect)
        chosen = self._entailment(entailment)
        tree = parse_text(text, dialect)
        if tree.is_continuous:
            from rheos.runtime.languages import explain

            return explain(tree, base or self.base, self._stream_names(), chosen)
        algebra = entailing(translate(tree, base or self.base), chosen)
        plan = Plan(optimize(algebra, self.graphs.statistics_for(algebra)))
        executor = self.executor(execution)
        statement = plan.statement(executor.dialect)
        parts = {
            "language": "SPARQL 1.1",
            **told(algebra),
            "algebra": show(algebra),
            "optimised": show(plan.query),
            "runs": f"{executor.name} ({executor.where})",
        }
        index = self.graphs.indexed.current() if executor.name == "local" and plan.is_selective else None
        if index is not None:
            parts["after the index has matched what it can"] = show(plan.matched(index).query)
        for closure in statement.closures:
            parts[f"first, the view {closure.view}: what these edges reach"] = closure.edges
            if closure.seeds is not None:
                parts[f"starting from, in {closure.view}"] = closure.seeds
        parts[f"SQL ({executor.dialect.name})"] = statement.sql
        return parts | macros.used(statement.sql)

    def _entailment(self, given: str | None) -> str:
        """The entailment that a query asks for, or else the engine's."""
        chosen = self.entailment if given is None else given
        one_of("entailment", chosen, ENTAILMENTS)
        return chosen

    def executor(
        self, execution: Execution | None = None, graphs: StaticGraphs | Revision | None = None
    ) -> Executor:
        """The place where a query runs, over the static graphs or over a change of them that is under way."""
        chosen = execution or self.execution
        one_of("execution", chosen, EXECUTIONS)
        graphs = graphs or self.graphs
        if chosen in ("auto", "task"):
            small = not graphs.in_spark and graphs.size <= self.local_triples
            chosen = "local" if small else "catalyst"
        return Local(graphs) if chosen == "local" else Catalyst(graphs, self.session)

    def dataframe(self, table: pa.Table) -> DataFrame:
        """An answer as a Spark DataFrame."""
        return frame_of(self.session(), table)

    # --- streams ---------------------------------------------------------------------------------

    def add_stream(
        self,
        iri: str,
        source: str | os.PathLike[str] | Source | DataFrame | PushLog,
        *,
        lateness: int | timedelta | None = None,
        idle: float | None = None,
        follow: bool = False,
        ahead: int | timedelta | Literal["auto"] | None = "auto",
        mapping: str | os.PathLike[str] | MappingFile | None = None,
        time: str | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        """Give a stream its source: a path (file, directory or glob), `-` for standard input, a URL, a
        Source, or a Spark streaming DataFrame with subject, predicate, object, time. docs/sources.md lists
        the URLs; `options` has what does not belong into one, such as passwords and certificates.

        Elements may be up to `lateness` (microseconds) older than the newest before them in their partition;
        the partition of a DataFrame's row is in its column `partition`, or Spark's own. A live source, or a
        partition of it, that is silent for `idle` seconds no longer holds up the instants of others. `follow`
        a directory or file to read what is added to it.

        An element of a live source that is more than `ahead` (microseconds) ahead of the clock on the wall is
        a dead letter and moves nothing; `auto` leaves the bound to the source, None is without one. Files
        that are not followed have no such bound, whatever is said.

        With a `mapping` the stream has records that are not RDF: JSON, NDJSON, CSV, TSV, or rows with any
        columns. It is the path of a CONSTRUCT query (`.rq`), of RML (`.rml.ttl`) or of a JSON-LD context
        (`.jsonld`), or a `rheos.mapping.Mapping`. `time` is what stands for the time of its elements:
        `field:NAME`, `property:IRI`, `message` or `arrival`; without it, what they say themselves.
        """
        self.streaming.add_stream(
            iri,
            source,
            lateness=in_microseconds(lateness),
            idle=idle,
            follow=follow,
            ahead=in_microseconds(ahead) if isinstance(ahead, timedelta) else ahead,
            mapping=mapping,
            time=time,
            options=options,
        )

    def reset_stream(self, iri: str) -> None:
        """Start the clock of a stream anew, as if it was new: for one whose time has gone astray.

        What is held of it is dropped, and of a push stream also what was accepted and not evaluated yet; the
        next element says what time it is. All queries that read it, or a stream that is made from it, start
        again with it: their windows are empty, what they had begun is forgotten, they see of their other
        streams what comes from now on, and what they have reported stays reported. It is on the disk when
        this returns. A batch that runs is finished first.
        """
        self.streaming.reset_stream(iri)

    def remove_stream(self, iri: str) -> None:
        """Forget a stream that no query reads, while streams do not run."""
        self.streaming.remove_stream(iri)

    def register(
        self,
        text: str,
        *,
        dialect: str = "auto",
        name: str | None = None,
        base: str | None = None,
        keep: int | None = 1000,
        entailment: str | None = None,
        replace: bool = False,
        view: bool = False,
    ) -> Handle:
        """Register a continuous query. What it reports is given to the subscribers of its handle. The last
        `keep` answers are its `results`: None keeps all of them, 0 none.

        It may `replace` one of the same name, which stays if the new one is wrong. A `view` shows what its
        windows hold now: of the instants that a batch completes it reports only the last, and it sees the
        elements from before it was registered as far as they are still held. Only C-SPARQL has views.
        """
        a_dialect(dialect)
        tree = parse_text(text, dialect)
        chosen = self._entailment(entailment)
        return self.streaming.register(
            tree,
            name=name,
            base=base or self.base,
            keep=keep,
            entailment=chosen,
            replace=replace,
            view=view,
        )

    def run(self, timeout: float | None = None) -> bool:
        """Run until all streams have ended, or for `timeout` seconds; whether they have ended. SinkError if a
        sink has not taken all answers then."""
        return self.streaming.run(timeout)

    def start(self) -> None:
        """Run in the background, until `stop`."""
        self.streaming.start()

    def stop(self) -> None:
        """Stop reading the streams; `start` goes on where they are."""
        if self._streaming is not None:
            self._streaming.stop()

    def stream_to(self, output: Target, writer: Writer) -> None:
        """Have all answers written to `output`, in the form that the writer gives them."""
        self.streaming.stream_to(output, writer)

    @property
    def metrics(self) -> Metrics:
        """How far the streams are, and what the queries have answered."""
        return self.streaming.metrics()

    @property
    def streaming(self) -> Streaming:
        """The streaming half; without it, nothing of Spark need be imported."""
        if self._streaming is None:
            from rheos.runtime.driver.service import Streaming
            from rheos.sources.base import BATCH_BYTES

            self._streaming = Streaming(
                self.session,
                self.graphs,
                checkpoint=self._checkpoint,
                shards=self._shards,
                shard_by=self._shard_by,
                dead_letters=self._dead_letters,
                batch_bytes=self._batch_bytes or BATCH_BYTES,
                execution=self.execution,
                hosting=self._hosting,
                drain=self._drain,
                allowed=self._allowed,
            )
        return self._streaming

    def _stream_names(self) -> list[str]:
        """The IRIs of the streams with a source, and of those that queries make."""
        if self._streaming is None:
            return []
        registry = self._streaming.registry
        made = (handle.registered.derived for handle in registry.handles.values())
        return [term[1:-1] for term in (*sorted(registry.sources), *made) if term is not None]

    # --- Spark -----------------------------------------------------------------------------------

    def session(self) -> SparkSession:
        """The Spark session of this engine, started when it is first needed."""
        if self._spark is None:
            kafka = self._kafka or (self._streaming is not None and self._streaming.needs_kafka)
            given = self._given
            self._spark = start(quick=self.quick, kafka=kafka) if given is None else adopt(given)
        return self._spark

    def close(self) -> None:
        """Let go of the data, and of Spark if the engine started it."""
        if self._streaming is not None:
            self._streaming.close()
            self._streaming = None
        self.graphs.close()
        if self._spark is not None and self._given is None:
            stop(self._spark)
        self._spark = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def in_microseconds(length: int | timedelta | None) -> int | None:
    return length // timedelta(microseconds=1) if isinstance(length, timedelta) else length


def titled(parts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{title}:\n{indent(content, '  ')}" for title, content in parts.items())


def one_shot(tree: ast.Query) -> ast.Query:
    if tree.is_continuous:
        shows = tree.registration or (*tree.streams, *tree.stream_patterns, tree.form)[0]
        raise UnsupportedError(
            "this is a continuous query: register() it, or give it to `rheos run`", tree.text, shows.position
        )
    return tree


def a_dialect(given: str) -> None:
    one_of("dialect", given, DIALECTS)


def one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise RheosError(f"{what} {given!r} is not one of: {', '.join(known)}")
