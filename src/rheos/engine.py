"""The engine: static data, streams, queries and (when it is needed) Spark, behind one object."""

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
from rheos.algebra.entailment import ENTAILMENTS, entailing
from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.nodes import KINDS, Ask, Query
from rheos.algebra.rewrite import graphs_of
from rheos.algebra.rspql import translate_rspql
from rheos.algebra.translate import Names, translate
from rheos.algebra.update import translate_update
from rheos.answers.result import Result
from rheos.deadline import within
from rheos.errors import RheosError, UnsupportedError, UpdateError
from rheos.execute.base import Executor
from rheos.execute.catalyst import Catalyst
from rheos.execute.explain import explain_one_shot
from rheos.execute.local import Local
from rheos.execute.plan import Plan
from rheos.execute.session import frame_of, start, stop
from rheos.execute.update import Refusal, Updater
from rheos.optimize import optimize
from rheos.spark import adopt
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
    from rheos.runtime.driver.metrics import Metrics
    from rheos.runtime.driver.output import Writer
    from rheos.runtime.driver.service import Streaming
    from rheos.runtime.state.journal import Target
    from rheos.sources.base import Source
    from rheos.sources.push import PushLog

Execution = Literal["auto", "local", "task", "catalyst"]
EXECUTIONS = ("auto", "local", "task", "catalyst")
DIALECTS = ("auto", *(name for name in grammar.DIALECTS if name != "update"))

# With `auto`, static data of at most this many triples is queried in this process, larger data by Spark.
LOCAL_TRIPLES = 5_000_000

# How many plans are kept for queries that are asked again, and the most characters of such a query.
KNOWN_PLANS = 128
LONGEST_KNOWN = 10_000
# A query without one of these words names no graph. A word may also be written with \u escapes.
_NAMES_GRAPHS = re.compile(r"graph|from|\\u", re.IGNORECASE)


def parse(text: str, dialect: str = "auto", base: str | None = None) -> ast.Query:
    """The syntax tree of a query; QuerySyntaxError says what is wrong with the text, and where."""
    a_dialect(dialect)
    query = parse_text(text, dialect)
    base = base or iris.DEFAULT_BASE
    # The translation to algebra finds mistakes that only show when names are resolved.
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
    """Answers queries over static RDF data, and continuous queries over streams of RDF.

    `spark` is a session to use; without one, the engine starts its own Spark. `execution` says where queries
    run (`local`: DuckDB in this process; `catalyst`: Spark; `auto`: local while there are at most
    `local_triples` triples). If N-Triples and N-Quads files have more than `parallel_bytes` together, Spark
    reads and keeps them. A `quick` engine starts a Spark that is ready sooner but is slower in the long run:
    for a process that answers one query.

    Continuous queries run in Spark tasks. Their parts about static data run in Spark SQL (Catalyst) if the
    data is large, or always if `execution` is `catalyst`. With a `checkpoint`, a folder or a URI, a run
    survives its process. `dead_letters` is a file for the elements that could not be used. A batch reads
    about `batch_bytes` of the streams. The work of each group of queries is divided into `shards` shards;
    without a number, it is divided over all cores when that pays. With `shard_by`, work is divided in this
    way only, by `time` or by a `variable`; a query that cannot be divided in this way is one shard. Long
    windows are evaluated incrementally where that pays, or always or never with `incremental`.

    With `entailment="rdfs"` patterns match what the data and the streams entail, by the schema in the static
    data. A query may ask for another entailment than that of its engine.

    `load_root` is the folder whose files an update may LOAD; without it, LOAD reads any file. With `hosting`
    the engine is part of a server, where streams and queries come and go: see `rheos.runtime.driver.hosting`.

    Sources and sinks contact only the places that `allow` lists, each as `host:port` or `host`. Without a
    list, they contact the places that their URLs name. With `kafka`, a Spark that the engine starts has the
    connector for Kafka even if no stream needs it yet. At the end of a run, sinks have `drain` seconds to
    take the answers that still wait for them.
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
        incremental: bool | None = None,
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
        self._shards, self._shard_by, self._incremental = shards, shard_by, incremental
        self._dead_letters = None if dead_letters is None else Path(dead_letters)
        self._batch_bytes = batch_bytes
        self._hosting = hosting
        self._drain = drain
        self._allowed = allow if isinstance(allow, Allowed) else Allowed.of(allow)
        self._kafka = kafka
        self._streaming: Streaming | None = None
        # The version of the data is part of the key, because a plan depends on the counts of the data.
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
        named graph `graph`; returns how many triples are new."""
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
        """Change the static data by a SPARQL update; returns the number of removed and added triples.

        Either all operations of the update are done, in one step for queries that run meanwhile, or none:
        QuerySyntaxError if the text is wrong, UpdateError or LoadError if an operation cannot be done.
        `default_graphs` and `named_graphs` count as if every pattern said USING and USING NAMED. If the
        update takes longer than `timeout` seconds, TimeLimitError is raised and nothing has changed.
        """
        with within(timeout):
            return self._update(text, base or self.base, default_graphs, named_graphs)

    def _update(
        self, text: str, base: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> int:
        tree = using(parse_update(text), default_graphs, named_graphs)
        operations = translate_update(tree, base)
        if "SHA" in tree.text.upper() and not self.graphs.in_spark:
            # These functions must be registered before the transaction: inside it, no other cursor could
            # register them until its end.
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
        """Drop the static data, streams and queries, but keep Spark."""
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

        `default_graphs` and `named_graphs`, if there are any, replace the query's own FROM and FROM NAMED.
        `beside` has tables of terms (s, p, o) by IRI. If the query names one of these IRIs, its table is a
        named graph beside the static data; such a query is answered in this process, and without entailment.
        TimeLimitError if the answer takes longer than `timeout` seconds.
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
        """The answer over the static data and those tables of `beside` that the query names; None if it names
        none of them."""
        tree, algebra = self._algebra(text, dialect, base, default_graphs, named_graphs)
        terms = graphs_of(algebra)
        named = {name: beside[name] for name in beside if f"<{name}>" in terms}
        if not named:
            return None
        if self.graphs.in_spark:  # all of the static data would have to be moved to this process
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
        """The syntax tree and the algebra of a one-shot query."""
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
        """A text that says how a query would be answered: its algebra before and after the optimiser, where
        it would run, and the SQL. For a continuous query also its windows and instants, or what bounds its
        memory."""
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
        return explain_one_shot(algebra, self.executor(execution), self.graphs)

    def _entailment(self, given: str | None) -> str:
        """The entailment that a query asks for, or else that of the engine."""
        chosen = self.entailment if given is None else given
        one_of("entailment", chosen, ENTAILMENTS)
        return chosen

    def executor(
        self, execution: Execution | None = None, graphs: StaticGraphs | Revision | None = None
    ) -> Executor:
        """The executor that runs a query, over the static graphs or over a revision that is under way."""
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
        the URLs; `options` are for what does not belong into a URL, such as passwords and certificates.

        Elements may be up to `lateness` (microseconds) older than the newest before them in their partition;
        the partition of a DataFrame's row is in its column `partition`, or Spark's own. A live source, or a
        partition of it, that is silent for `idle` seconds no longer holds up the instants of others. With
        `follow`, new files of a directory and new lines of a file are read when they arrive.

        An element of a live source that is more than `ahead` (microseconds) ahead of the wall clock becomes a
        dead letter and does not move the stream's time. With `auto` the source decides; None means without a
        bound. Files that are not followed never have such a bound.

        With a `mapping` the stream has records that are not RDF: JSON, NDJSON, CSV, TSV, or rows with any
        columns. The mapping is the path of a CONSTRUCT query (`.rq`), of RML (`.rml.ttl`) or of a JSON-LD
        context (`.jsonld`), or a `rheos.mapping.Mapping`. `time` says where the time of an element comes
        from: `field:NAME`, `property:IRI`, `message` or `arrival`; without it, elements have their times
        themselves.
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
        """Start the clock of a stream anew, as if the stream was new. This is for a stream whose time is
        wrong.

        The live elements of the stream are dropped; of a push stream also those that were accepted but not
        evaluated yet. The next element sets the time. All queries that read the stream, or a stream that is
        derived from it, start again too: their windows are empty, partial solutions are forgotten, and of
        their other streams they see only later elements. Answers that they have reported stay reported. The
        reset is on the disk when this returns. A running batch is finished first.
        """
        self.streaming.reset_stream(iri)

    def remove_stream(self, iri: str) -> None:
        """Remove a stream that no query reads. This is only possible while streams do not run."""
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
        """Register a continuous query. The subscribers of its handle get its answers. The last `keep` answers
        are the `results` of the handle: None keeps all of them, 0 none.

        With `replace`, the query replaces a query of the same name, which stays if the new one is wrong. A
        `view` shows the present content of its windows: of the instants that a batch completes it reports
        only the last, and it sees elements from before it was registered as far as they are still live. Only
        C-SPARQL has views.
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
        """Run until all streams have ended, or for `timeout` seconds; returns True if they have ended.
        SinkError if a sink has not taken all answers then."""
        return self.streaming.run(timeout)

    def start(self) -> None:
        """Run the streams in the background, until `stop`."""
        self.streaming.start()

    def stop(self) -> None:
        """Stop reading the streams; `start` goes on from there."""
        if self._streaming is not None:
            self._streaming.stop()

    def stream_to(self, output: Target, writer: Writer) -> None:
        """Write all answers to `output`, in the format of the writer."""
        self.streaming.stream_to(output, writer)

    @property
    def metrics(self) -> Metrics:
        """How far the streams have been read, and how much the queries have answered."""
        return self.streaming.metrics()

    @property
    def streaming(self) -> Streaming:
        """The part of the engine for streams, made when it is first needed: until then, Spark is not
        imported."""
        if self._streaming is None:
            from rheos.runtime.driver.service import Streaming
            from rheos.sources.base import BATCH_BYTES

            self._streaming = Streaming(
                self.session,
                self.graphs,
                checkpoint=self._checkpoint,
                shards=self._shards,
                shard_by=self._shard_by,
                incremental=self._incremental,
                dead_letters=self._dead_letters,
                batch_bytes=self._batch_bytes or BATCH_BYTES,
                execution=self.execution,
                hosting=self._hosting,
                drain=self._drain,
                allowed=self._allowed,
            )
        return self._streaming

    def _stream_names(self) -> list[str]:
        """The IRIs of the streams with a source, and of the streams that queries make."""
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
        """Close the streams and the data, and stop Spark if the engine has started it."""
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
