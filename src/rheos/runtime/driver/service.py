"""The streaming half of an engine: its streams, its continuous queries, and the loop that runs them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace as changed
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from rheos import iris
from rheos.addresses import Allowed
from rheos.algebra.nodes import KINDS
from rheos.algebra.translate import Names
from rheos.answers.continuous import QueryInfo
from rheos.deadline import within
from rheos.errors import CheckpointError, RheosError, UnsupportedError
from rheos.runtime.driver.checkpoint import go_on
from rheos.runtime.driver.handle import Handle
from rheos.runtime.driver.hosting import Hosting
from rheos.runtime.driver.location import Location
from rheos.runtime.driver.loop import Loop
from rheos.runtime.driver.metrics import NONE, Metrics, StreamMetrics
from rheos.runtime.driver.output import Output, Writer
from rheos.runtime.driver.registry import Registry
from rheos.runtime.driver.rehearsal import rehearse
from rheos.runtime.driver.sinks import Sinks
from rheos.runtime.driver.watch import Stream
from rheos.runtime.languages import understand
from rheos.runtime.operator import Operator
from rheos.runtime.plan import Registered
from rheos.runtime.sharding import Way as ShardBy
from rheos.runtime.state.journal import Journal, OutputFile
from rheos.sinks.opening import Surroundings
from rheos.sources.ahead import HOUR
from rheos.sources.base import BATCH_BYTES, Source
from rheos.sources.chunks import ELEMENTS
from rheos.sources.decoding import RdfDecoder
from rheos.sources.kafka import Kafka, open_topic
from rheos.sources.opening import Way, blank_prefix, open_source
from rheos.sources.push import PushLog
from rheos.sources.receivers.base import FIRST_PAUSE, LONGEST_PAUSE, Receiver
from rheos.sources.receivers.opening import Receivers
from rheos.sources.standard_input import Spool, copy
from rheos.store.graphs import StaticGraphs
from rheos.syntax import ast
from rheos.terms import iri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheos.mapping import Mapping

DRAIN = 60.0
EVERYWHERE = Allowed()


class Streaming:
    """The streams and registered queries of an engine, and the loop that runs them.

    `checkpoint` is a folder or a URI: a run that keeps its state there can go on in another process. Without
    it, the state is in a folder that is removed with the engine. At its end, a run waits up to `drain`
    seconds for sinks that have not taken everything. Only `allowed` addresses are contacted.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        graphs: StaticGraphs,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        shards: int | None = None,
        shard_by: ShardBy | None = None,
        incremental: bool | None = None,
        dead_letters: Path | None = None,
        batch_bytes: int = BATCH_BYTES,
        execution: str = "auto",
        hosting: Hosting | None = None,
        drain: float = DRAIN,
        allowed: Allowed = EVERYWHERE,
    ) -> None:
        self._session = session
        self._graphs = graphs
        self.checkpoint = checkpoint
        self._dead_letters = dead_letters
        self._shards, self._shard_by, self._incremental = shards, shard_by, incremental
        self._batch_bytes = batch_bytes
        self._execution = execution
        self._hosting = hosting
        self._allowed = allowed
        self._warn = warn if hosting is None else hosting.warn
        self.registry = Registry(
            derivations=lambda schema: graphs.entailments.closure(schema).derivations, warn=self._warn
        )
        self._drain = drain
        self.sinks = Sinks(
            lambda: self.location.store,
            Surroundings(session, self._push, allowed, hosting is not None, self._log_of),
            warn=self._warn,
            fail=self.registry.fail,
        )
        self.registry.sinks = self.sinks
        self.streams: dict[str, Stream] = {}
        self.receivers = Receivers(self._warn)
        self.logs: dict[str, PushLog] = {}  # of the streams that elements can be pushed to
        self.output = Output()
        self.loop: Loop | None = None
        self._not_started: RheosError | None = None
        self._journal: Journal | None = None
        self._location: Location | None = None
        self._letters_file: OutputFile | None = None
        self._copying: set[str] = set()  # the folders to which a thread already copies standard input
        self._unnamed = 0

    def add_stream(
        self,
        name: str,
        source: Any,
        *,
        lateness: int | None,
        idle: float | None,
        follow: bool,
        ahead: int | Literal["auto"] | None = "auto",
        mapping: str | os.PathLike[str] | Mapping | None = None,
        time: str | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        term = iri(absolute(name))
        if term in self.streams:
            raise RheosError(f"the stream {name} has a source already")
        if any(handle.registered.derived == term for handle in self.registry.handles.values()):
            raise RheosError(f"the stream {name} is made by a query")
        if self.loop is not None and self.loop.active:
            raise RheosError(f"streams are running: stop() before adding {name}, then start() again")
        if isinstance(source, PushLog):
            self.logs[term] = source
            source = source.source
        opened = open_source(
            source,
            absolute(name),
            self.location.folder / "spool" / _file_name(name),
            follow=follow,
            mapping=mapping,
            time=time,
            way=Way(options, self._allowed),
        )
        if isinstance(opened, Receiver):
            bound = HOUR if ahead == "auto" else ahead
            log = self.receivers.add(term, opened, self.location.folder / "received" / _own_name(name), bound)
            # The log has already refused elements that are too far ahead.
            self.streams[term] = Stream(log.source_of(opened.url), lateness or 0, idle)
        elif isinstance(opened, Source):
            # A replayed source is not live, so its elements are not compared with the clock.
            bound = (opened.ahead if ahead == "auto" else ahead) if opened.live else None
            self.streams[term] = Stream(opened, lateness or 0, idle, ahead=bound)
        else:
            bound = (opened.ahead if isinstance(opened, Kafka) else None) if ahead == "auto" else ahead
            self.streams[term] = Stream(None, lateness or 0, idle, opened, bound)
            if isinstance(opened, Kafka):
                self.receivers.watch(term, str(source), opened.servers)
        self.registry.sources.add(term)

    def reset_stream(self, name: str) -> None:
        """Start the clock of a stream anew. When this returns, the change is on the disk."""
        term = iri(absolute(name))
        if term not in self.streams:
            made = any(handle.registered.derived == term for handle in self.registry.handles.values())
            reason = "is made by a query: reset the streams that that reads" if made else "is not there"
            raise RheosError(f"the stream {name} {reason}")
        if self.loop is None:
            raise RheosError(f"the stream {name} has no clock before streams are started")
        self.loop.reset(term)

    def remove_stream(self, name: str) -> None:
        term = iri(absolute(name))
        if term not in self.streams:
            raise RheosError(f"there is no stream {name}")
        if self.loop is not None and self.loop.active:
            raise RheosError(f"streams are running: stop() before removing {name}, then start() again")
        readers = sorted(h.name for h in self.registry.handles.values() if h.reads(term))
        if readers:
            raise RheosError(f"the stream {name} is read by {', '.join(readers)}")
        del self.streams[term]
        self.receivers.remove(term)
        self.logs.pop(term, None)
        self.registry.sources.discard(term)

    def _log_of(self, name: str) -> PushLog:
        log = self.logs.get(iri(absolute(name)))
        if log is None:
            raise RheosError(f"there is no push stream {name}")
        return log

    def _push(self, name: str, elements: pa.Table) -> None:
        """Add elements to a push stream."""
        log = self._log_of(name)
        known = {name: elements.column(name) for name in ELEMENTS.names if name not in ("line", "graph")}
        columns = [known.get(field.name, pa.nulls(len(elements), field.type)) for field in ELEMENTS]
        chunks = pa.table(columns, names=ELEMENTS.names).cast(ELEMENTS).combine_chunks().to_batches()
        for elements in chunks:
            log.append(elements)

    def register(
        self,
        tree: ast.Query,
        *,
        name: str | None,
        base: str,
        keep: int | None,
        entailment: str = "none",
        replace: bool = False,
        view: bool = False,
        dry: bool = False,
        rehearsed: bool = False,
    ) -> Handle:
        """Register a query. It is rehearsed first, unless it was `rehearsed` before."""
        if not (tree.streams or tree.stream_patterns or tree.dialect == "epsparql"):
            where = tree.registration.position if tree.registration else tree.position
            raise UnsupportedError(
                "a continuous query reads a stream: FROM STREAM <iri> [RANGE …] is missing; "
                "a query over static data alone is answered by query()",
                tree.text,
                where,
            )
        if tree.registration is None and name is None:
            self._unnamed += 1
            name = f"query-{self._unnamed}"
        made = (handle.registered.derived for handle in self.registry.handles.values())
        known = [stream[1:-1] for stream in (*self.streams, *made) if stream is not None]
        found = understand(tree, name or "", base, known, entailment, view=view)
        operator = found.operator
        if not rehearsed:
            self._rehearse(tree, operator)
        names = Names.of(tree, base)
        kind = KINDS[type(operator.algebra.form)]
        info = QueryInfo(
            found.name,
            kind,
            found.variables,
            names.prefixes,
            operator.occurs,
            operator.late,
            operator.errors,
            operator.skips,
        )
        derived = iri(iris.resolve(found.name, base)) if found.makes_stream else None
        if operator.unbounded:
            self._warn(
                f"{found.name}: nothing bounds the duration of its solutions, so all events are remembered"
            )
        registered = Registered(info, operator, derived)
        named = [clause.iri for clause in tree.streams]
        named += [pattern.name for pattern in tree.stream_patterns if not isinstance(pattern.name, ast.Var)]
        streams = [(iri(names.iri(stream)), stream.position) for stream in named]
        checked = self._hosting is not None or (self.loop is not None and self.loop.active)
        return self.registry.add(
            registered,
            tree.text,
            streams,
            base=base,
            keep=keep,
            entailment=entailment,
            replace=replace,
            checked=checked,
            dry=dry,
        )

    def _rehearse(self, tree: ast.Query, operator: Operator) -> None:
        """Refuse a query that could only fail. Of a family, only the first member is rehearsed."""
        known = (handle.registered.operator.family for handle in list(self.registry.handles.values()))
        if operator.family is not None and operator.family in known:
            return
        try:
            with within(None if self._hosting is None else self._hosting.limit):
                rehearse(operator, tree.text)
        except Exception as error:
            where = tree.registration.position if tree.registration else tree.position
            reason, *_ = str(error).splitlines() or [type(error).__name__]
            raise UnsupportedError(f"the query cannot be evaluated: {reason}", tree.text, where) from error

    def stream_to(self, target: Any, writer: Writer) -> None:
        self.output.target, self.output.writer = target, writer

    def check_topic(self, url: str) -> None:
        """LoadError if Kafka does not know the topic of a URL; EnvironmentFault without the connector."""
        open_topic(url, "", "", RdfDecoder(), allowed=self._allowed).partitions(self._session())

    @property
    def needs_kafka(self) -> bool:
        """True if a stream is a topic of Kafka."""
        return any(isinstance(stream.frame, Kafka) for stream in self.streams.values())

    def start(self) -> None:
        if self.loop is not None and self.loop.active:
            return
        if not self.registry.handles and self._hosting is None:
            raise RheosError("no query is registered: there is nothing to run")
        session = self._session()
        journal = self._opened_journal()
        self.registry.resolve()
        self.registry.check()
        self.location.probe(session)
        used = dict(self.streams)
        if self._hosting is None:
            read = {name for handle in self.registry.handles.values() for name in handle.registered.streams}
            used = {name: stream for name, stream in used.items() if name in read}
        self.output.letters = self._letters()
        self.loop = Loop(
            session,
            self.registry,
            self._graphs,
            used,
            journal,
            self.output,
            self.sinks,
            self.location.spark_checkpoint(session, self._warn),
            self._execution,
            self._batch_bytes,
            warn=self._warn,
            limit=None if self._hosting is None else self._hosting.limit,
            shards=self._shards,
            shard_by=self._shard_by,
            incremental=self._incremental,
            batch_times=NONE if self.loop is None else self.loop.batch_times,
        )
        for stream in used.values():
            if isinstance(stream.source, Spool) and stream.source.folder not in self._copying:
                self._copying.add(stream.source.folder)
                copy(standard_input(), stream.source)
        self.receivers.start(used)
        try:
            self.loop.start()
        except RheosError as error:
            self._not_started = error
            raise
        self._not_started = None
        self.registry.clocked(self.loop.now)

    def run(self, timeout: float | None = None) -> bool:
        """Run until all streams have ended, or for `timeout` seconds; True if they have ended. SinkError if a
        sink has not taken everything by then."""
        self.start()
        try:
            ended = self._wait(timeout)
        finally:
            self.stop()
        self.sinks.drain(self._drain)
        return ended

    def _wait(self, timeout: float | None) -> bool:
        """Wait for the end. If Spark gives up because Kafka cannot be reached, go on when it can be again."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_PAUSE
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                if self._not_started is not None:
                    self.start()
                assert self.loop is not None
                return self.loop.wait(left, until_read=True)
            except RheosError as error:
                if not self._kafka_is_away(error):
                    raise
                if left is not None and left <= pause:
                    return False
                assert self.loop is not None
                self.loop.stop()
                self._not_started = error
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _kafka_is_away(self, error: BaseException) -> bool:
        told = f"{error}{error.__cause__ or ''}"
        unreachable = any(found.trouble for found in self.receivers.health().values())
        return self.needs_kafka and (unreachable or "org.apache.kafka.common.errors" in told)

    def stop(self) -> None:
        if self._hosting is None:
            # In a server, streams only pause while sources come and go. Receivers go on, and what they
            # receive meanwhile waits in their logs.
            self.receivers.stop()
        if self.loop is not None:
            self.loop.stop()

    def ask_for_batch(self) -> None:
        """Have queries evaluated even if no stream has new elements."""
        if self.loop is not None:
            self.loop.ask_for_batch()

    @property
    def failure(self) -> BaseException | None:
        """The error for which streams no longer flow although they should."""
        return self._not_started or (None if self.loop is None else self.loop.failure)

    def metrics(self) -> Metrics:
        if self.loop is not None:
            found = self.loop.metrics()
        else:
            streams = {name[1:-1]: StreamMetrics() for name in self.streams}
            found = Metrics(streams, self.registry.metrics(), sinks=self.sinks.metrics())
        for name, health in self.receivers.health().items():
            if name[1:-1] in found.streams:
                found.streams[name[1:-1]] = changed(found.streams[name[1:-1]], **health._asdict())
        return found

    def clear(self) -> None:
        """Drop all streams and queries, and the state of the run."""
        self.close()
        self.loop = None
        self.registry.clear()
        self.streams.clear()
        self.logs.clear()
        self.output = Output()

    def close(self) -> None:
        self.stop()
        self.receivers.close()
        self.sinks.close()
        if self._journal is not None:
            if self.loop is not None and self._journal.durable:
                # Queries may have been registered or removed since the last batch.
                self._journal.amend(self.registry.described())
            self._journal.close()
            self._journal = None
        if self._letters_file is not None:
            self._letters_file.close()
            self._letters_file = None
        if self._location is not None:
            self._location.remove()
            self._location = None

    @property
    def location(self) -> Location:
        """Where a run keeps its state."""
        if self._location is None:
            self._location = Location.of(self.checkpoint)
        return self._location

    def _opened_journal(self) -> Journal:
        """The journal of this engine. When it is first opened, and the checkpoint has a record, the queries
        go on from there."""
        if self._journal is None:
            journal = Journal(self.location.store, self.location.folder)
            found = journal.last()
            if found is not None:
                try:
                    go_on(
                        found[1],
                        self.registry,
                        str(self.checkpoint),
                        self._warn,
                        hosted=self._hosting is not None,
                    )
                except CheckpointError:
                    journal.close()
                    raise
            self._journal = journal
        return self._journal

    def _letters(self) -> OutputFile | None:
        if self._letters_file is None and self._dead_letters is not None:
            # A run with a checkpoint appends to the file of the run before.
            self._letters_file = OutputFile(self._dead_letters, go_on=self.checkpoint is not None)
        return self._letters_file


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


def standard_input() -> BufferedReader:
    stream = sys.stdin.buffer
    assert isinstance(stream, BufferedReader)
    return stream


def absolute(name: str) -> str:
    try:
        return iris.resolve(name, iris.DEFAULT_BASE)
    except ValueError as error:
        raise RheosError(f"the name of a stream is not an IRI: {error}") from None


def _own_name(name: str) -> str:
    """A folder name that no other stream has."""
    return f"{blank_prefix(absolute(name))}{_file_name(name)}"


def _file_name(name: str) -> str:
    return "".join(mark if mark.isalnum() else "-" for mark in name)[-80:]
