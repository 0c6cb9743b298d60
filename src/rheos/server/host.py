"""The host: runs an engine with the streams and queries of a server, and starts it again when it fails.

All changes go through the host, one at a time, from any thread. A change is on the disk before the call
returns.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rheos.algebra.streams import MovingWindow
from rheos.engine import Engine
from rheos.errors import LoadError, QuerySyntaxError, RheosError
from rheos.runtime.driver.handle import Handle
from rheos.runtime.driver.hosting import Hosting
from rheos.runtime.driver.metrics import Metrics
from rheos.server.answers import AnswerLog, Writer
from rheos.server.config import Config, StreamConfig, stream_of
from rheos.server.health import Health
from rheos.server.logs import log
from rheos.server.problems import Problem
from rheos.server.rates import Rates, counted
from rheos.server.sinks import allowed, specs_of, stored
from rheos.server.sources import check_topic, is_topic
from rheos.server.state import Asked, KeptQuery, State
from rheos.server.views import View, Views
from rheos.sinks.base import SinkSpec
from rheos.sources.ahead import HOUR
from rheos.sources.decoding import AS_RDF, Decoding
from rheos.sources.push import PushLog
from rheos.sources.times import NEVER
from rheos.syntax import ast, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK = 0.5  # seconds between two looks at the engine
_LONGEST_PAUSE = 60.0


@dataclass
class Stream:
    """A stream from outside. A push stream has a `log`, and `decoding` says how the bodies that clients push
    are read. `described` is the description from which a client made the stream; None for a stream of the
    configuration. `refused` counts the lines from clients that were no elements."""

    name: str
    iri: str
    config: StreamConfig
    log: PushLog | None = None
    decoding: Decoding = AS_RDF
    described: Mapping[str, Any] | None = None
    refused: int = 0


@dataclass
class Query:
    """A query of the server. `handle` is None if the query could not be registered when the server started.
    `error` says why the query does not run."""

    kept: KeptQuery
    handle: Handle | None = None
    error: str | None = None

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def failure(self) -> str | None:
        """Why the query does not run although it should; None if nothing is wrong."""
        return self.error or (None if self.handle is None else self.handle.metrics.failure)

    @property
    def stream(self) -> str | None:
        """The IRI of the stream that the query makes; None if it makes none."""
        derived = None if self.handle is None else self.handle.registered.derived
        return None if derived is None else derived[1:-1]


class Host:
    """An engine with its streams and queries. All addresses of the server begin with `base`."""

    def __init__(self, config: Config, port: int, spark: SparkSession | None = None) -> None:
        """`port` is the port that the server listens on: the configuration may have left it open."""
        self.config = config
        self.port = port
        self.base = config.base or address(config, port)
        self.limits = config.limits
        self.streams: dict[str, Stream] = {}
        self.queries: dict[str, Query] = {}
        self.rates = Rates()
        self.failure: str | None = None
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._state = State(config.state)
        try:
            folder = config.load_folder or config.state / "load"
            folder.mkdir(parents=True, exist_ok=True)
            self.engine = Engine(
                spark,
                execution=config.execution,
                entailment=config.entailment,
                base=self.base,
                checkpoint=config.state / "engine",
                dead_letters=config.state / "dead-letters.ndjson",
                load_root=folder,
                hosting=Hosting(lambda message: log(message, level="warning"), config.limits.evaluation),
                allow=allowed(config),
                kafka=config.kafka or any(is_topic(stream.source) for stream in config.streams),
            )
        except BaseException:
            self._state.close()
            raise
        self.views = Views(self.engine, config.limits)
        self.health = Health(self)

    # --- begin and end -------------------------------------------------------------------------------

    def open(self) -> None:
        """Load, register and start everything that is in the configuration or was there before a restart."""
        kept = self._state.read()
        if kept is not None and kept.base != self.base:
            raise RheosError(
                f"the folder {self.config.state} is of a server with the base {kept.base}, and this one has "
                f'{self.base}: say base = "{kept.base}", or take another folder'
            )
        for path in self.config.data:
            self.engine.load(path)
        for graph, path in self.config.graphs.items():
            self.engine.load(path, graph=graph)
        self.engine.graphs.keep(self.config.state / "static")
        kinds = dict(kept.kinds) if kept else {}
        for config in self.config.streams:
            self._open_stream(config, None, kinds)
        for name, described in (kept.streams if kept else {}).items():
            if name in self.streams:
                raise RheosError(f"{name} is in the configuration, and also a stream that a client has made")
            self._open_stream(stream_of(name, described, self.config.allow), described, kinds)
        queries = self._queries_to_open({query.name: query for query in kept.queries} if kept else {})
        known = {query.name: query.since for query in queries}
        self.answers = AnswerLog(self.config.state / "answers", self.limits.kept, known)
        self.engine.stream_to(self.answers, Writer())
        for stream in self.streams.values():
            self._open_view(stream.name, stream.iri, stream.config.window)
        self._open_queries(queries)
        self._save()
        self._start()
        threading.Thread(target=self._look_after, daemon=True, name="rheos-host").start()

    def _open_stream(
        self, config: StreamConfig, described: Mapping[str, Any] | None, kinds: dict[str, str]
    ) -> None:
        kind = "push" if config.is_push else "source"
        if kinds.get(config.name, kind) != kind:
            raise RheosError(
                f"the stream {config.name} was of another kind before ({kinds[config.name]}): "
                f"take another name, or another folder than {self.config.state}"
            )
        iri = config.iri or self.base + config.name
        if config.is_push:
            ahead = HOUR if config.ahead == "auto" else config.ahead
            pushed = PushLog(self.config.state / "pushed" / config.name, ahead)
            self.engine.add_stream(iri, pushed, lateness=config.lateness, idle=config.idle)
        else:
            pushed = None
            self.engine.add_stream(
                iri,
                config.source or "",
                lateness=config.lateness,
                idle=config.idle,
                follow=config.follow,
                ahead=config.ahead,
                mapping=config.mapping,
                time=config.time,
                options=dict(config.options) or None,
            )
        decoding = Decoding(config.mapping, config.time, iri)
        self.streams[config.name] = Stream(config.name, iri, config, pushed, decoding, described)

    def _queries_to_open(self, kept: Mapping[str, KeptQuery]) -> list[KeptQuery]:
        """The queries of the configuration as they are now, and those that clients have registered."""
        configured = {query.name: query for query in self.config.queries}
        found = [query for query in kept.values() if not query.configured and query.name not in configured]
        own = []
        for query in configured.values():
            before = kept.get(query.name)
            if before is not None and before.asked == query.asked:
                own.append(replace(before, configured=True))
            else:
                since = before.since if before else 0
                own.append(
                    KeptQuery(
                        query.name,
                        query.text,
                        query.dialect,
                        since=since,
                        configured=True,
                        entailment=query.entailment,
                    )
                )
        return [*own, *found]

    def _open_queries(self, left: list[KeptQuery]) -> None:
        """Register queries, in several turns: a query can be registered only after the queries whose streams
        it reads."""
        count = None
        while left and len(left) != count:
            count = len(left)
            left = [query for query in left if not self._open_query(query)]
        wrong = [f"{kept.name}: {self.queries[kept.name].error}" for kept in left if kept.configured]
        if self.config.strict and wrong:
            raise RheosError("queries of the configuration are wrong\n" + "\n".join(wrong))
        for kept in left:
            error = self.queries[kept.name].error
            log("a query could not be registered", level="error", query=kept.name, error=error)

    def _open_query(self, kept: KeptQuery) -> bool:
        query = self.queries[kept.name] = Query(kept)
        if kept.name in self.streams:
            query.error = f"{kept.name} is the name of a stream now"
            return False
        try:
            # A rehearsal may take as long as an evaluation, so it is not repeated for queries of clients,
            # which were rehearsed when they came. A running query of the configuration may be new.
            rehearsed = not (kept.configured and kept.running)
            query.handle = self._register(kept.name, kept.asked, rehearsed=rehearsed)
            self.engine.streaming.sinks.assign(query.handle.info, specs_of(kept, self.config))
        except RheosError as error:
            query.error = str(error)
            if query.handle is not None:
                query.handle.unregister()
                query.handle = None
            return False
        if not kept.running:
            query.handle.stop()
        self._open_view_of(query)
        return True

    def close(self) -> None:
        """Stop the engine. Everything that was accepted is on the disk."""
        with self._lock:
            if self._stopping.is_set():
                return
            self._stopping.set()
            try:
                self.engine.close()
            except Exception as error:
                # The signal may have ended the JVM too. What is on the disk is enough to go on.
                log("the engine did not stop by itself", level="warning", error=type(error).__name__)
            for stream in self.streams.values():
                if stream.log is not None:
                    stream.log.close()
            if hasattr(self, "answers"):
                self.answers.close()
            self._state.close()

    # --- reading -------------------------------------------------------------------------------------

    def metrics(self) -> Metrics:
        return self.engine.metrics

    @property
    def runs(self) -> bool:
        """True while streams flow, and after all of them have ended."""
        loop = self.engine.streaming.loop
        return not self.streams or (loop is not None and (loop.active or loop.finished.is_set()))

    def failure_of(self, name: str) -> str | None:
        """Why the engine has stopped a query; None if it has not, or there is no such query."""
        query = self.queries.get(name)
        return None if query is None or query.handle is None else query.handle.failure

    def stream_iri(self, name: str) -> str | None:
        """The IRI of a stream, from outside or made by a query; None if there is no such stream."""
        if name in self.streams:
            return self.streams[name].iri
        query = self.queries.get(name)
        return None if query is None else query.stream

    def window_of(self, name: str) -> MovingWindow:
        """The window of a stream for clients that do not choose one."""
        stream = self.streams.get(name)
        return (stream.config.window if stream else None) or self.config.window

    def view(self, name: str, window: MovingWindow | None) -> View | None:
        """A window on a stream; None if there is no such stream."""
        iri = self.stream_iri(name)
        own = self.window_of(name)
        if iri is None:
            return None
        return self.views.open(name, iri, window or own, lasting=window is None or window == own)

    # --- queries -------------------------------------------------------------------------------------

    def put_query(self, name: str, asked: Asked, sinks: tuple[SinkSpec, ...] = ()) -> bool:
        """Register a query, or replace the query of that name. True if it is new."""
        tree = self._parsed(name, asked)
        with self._lock:
            if name in self.streams:
                raise Problem(409, f"{name} is the name of a stream that has a source")
            known = self.queries.get(name)
            if known is None and len(self.queries) >= self.limits.queries:
                detail = f"at most {self.limits.queries} are registered"
                raise Problem(403, "There are too many queries", detail)
            if known is not None and known.handle is not None:
                if known.kept.asked == asked:
                    self._change_sinks(known, known.handle, sinks)
                    return False
                if known.stream is not None and not makes_stream(tree):
                    self._check_readers(name, known.stream)
                    self.views.close(name)
            try:
                self._add_query(self._register(name, asked, dry=True), asked, sinks)
            except (RheosError, Problem):
                if known is not None:
                    self._open_view_of(known)
                raise
            self._open_view_of(self.queries[name])
            return known is None

    def _add_query(self, checked: Handle, asked: Asked, sinks: tuple[SinkSpec, ...]) -> None:
        # The first answers may come before `register` returns, so the log and the sinks must be ready.
        name = checked.name
        self.engine.streaming.sinks.check(checked.info, sinks)
        with self.answers.beginning(name) as since:
            query = KeptQuery(
                name, asked.text, asked.dialect, since=since, entailment=asked.entailment, sinks=stored(sinks)
            )
            with self._stored(queries={**self.queries, name: Query(query)}):
                self.engine.streaming.sinks.assign(checked.info, sinks)
                self.queries[name] = Query(query, self._register(name, asked, rehearsed=True))

    def _change_sinks(self, query: Query, handle: Handle, sinks: tuple[SinkSpec, ...]) -> None:
        """Give a query other sinks while it goes on."""
        if stored(sinks) == stored(self.engine.streaming.sinks.specs(query.name)):
            return
        self.engine.streaming.sinks.check(handle.info, sinks)
        changed = replace(query.kept, sinks=stored(sinks), configured=False)
        with self._stored(queries={**self.queries, query.name: replace(query, kept=changed)}):
            self.engine.streaming.sinks.assign(handle.info, sinks)
        query.kept = changed

    def check_query(self, name: str, asked: Asked) -> Handle:
        """Check a query without registering it; returns the handle that it would have."""
        self._parsed(name, asked)
        if name in self.streams:
            raise Problem(409, f"{name} is the name of a stream that has a source")
        return self._register(name, asked, dry=True)

    @contextmanager
    def trial(self, checked: Handle, asked: Asked, secret: str) -> Iterator[Handle]:
        """Run a checked query during the block, under a name that nobody sees. It makes no stream. A query of
        C-SPARQL also sees the elements that are still held for other queries."""
        tree = replace(parse(asked.text, asked.dialect), registration=None)
        view = checked.registered.operator.language == "C-SPARQL"
        handle = self.engine.streaming.register(
            tree,
            name=secret,
            base=self.base,
            keep=None,
            view=view,
            entailment=self.entailment_of(asked),
        )
        try:
            self.engine.streaming.ask_for_batch()
            yield handle
        finally:
            handle.unregister()

    def run_query(self, name: str, *, run: bool) -> None:
        """Start or stop a query."""
        with self._lock:
            query = self.queries[name]
            if query.handle is None:
                raise Problem(409, f"{name} could not be registered", query.error)
            kept = replace(query.kept, running=run)
            with self._stored(queries={**self.queries, name: replace(query, kept=kept)}):
                if run:
                    query.handle.start()
                else:
                    query.handle.stop()
            query.kept, query.error = kept, None

    def delete_query(self, name: str) -> None:
        with self._lock:
            query = self.queries[name]
            if query.stream is not None:
                self._check_readers(name, query.stream)
            with self._stored(queries={n: q for n, q in self.queries.items() if n != name}):
                if query.stream is not None:
                    self.views.close(name)
                if query.handle is not None:
                    query.handle.unregister()
                del self.queries[name]
            self.answers.forget(name)

    def entailment_of(self, asked: Asked) -> str:
        return asked.entailment or self.config.entailment

    def _parsed(self, name: str, asked: Asked) -> ast.Query:
        tree = parse(asked.text, asked.dialect)
        if tree.registration is not None and tree.registration.name != name:
            message = f"the query calls itself {tree.registration.name}, but it is to be called {name}"
            raise QuerySyntaxError(message, tree.text, tree.registration.position)
        return tree

    def _register(self, name: str, asked: Asked, *, dry: bool = False, rehearsed: bool = False) -> Handle:
        return self.engine.streaming.register(
            self._parsed(name, asked),
            name=name,
            base=self.base,
            keep=0,
            entailment=self.entailment_of(asked),
            replace=True,
            dry=dry,
            rehearsed=rehearsed,
        )

    def _check_readers(self, name: str, iri: str) -> None:
        """Refuse to take away a stream that other queries read. Views do not count."""
        readers = [
            query.name
            for query in self.queries.values()
            if query.name != name and query.handle and f"<{iri}>" in query.handle.registered.streams
        ]
        if readers:
            raise Problem(409, f"{name} is a stream that is read by {', '.join(sorted(readers))}")

    # --- streams -------------------------------------------------------------------------------------

    def put_stream(self, name: str, described: Mapping[str, Any]) -> bool:
        """Make a stream. True if it is new. All streams pause while it is added."""
        config = stream_of(name, described, self.config.allow)
        with self._lock:
            known = self.streams.get(name)
            if known is not None and known.described == described:
                return False
            if known is not None or name in self.queries:
                raise Problem(409, f"{name} is the name of something else already")
            if len(self.streams) >= self.limits.streams:
                raise Problem(403, "There are too many streams", f"at most {self.limits.streams} are taken")
            check_topic(self.engine, config.source)
            new = Stream(name, config.iri or self.base + name, config, described=described)
            with self._stored(streams={**self.streams, name: new}), self._paused():
                self._open_stream(config, described, {})
                self._open_view(name, new.iri, config.window)
            return True

    def delete_stream(self, name: str) -> None:
        with self._lock:
            stream = self.streams[name]
            if stream.described is None:
                raise Problem(409, f"{name} is a stream of the configuration: take it out there")
            self._check_readers(name, stream.iri)
            with self._stored(streams={n: s for n, s in self.streams.items() if n != name}), self._paused():
                if stream.log is not None:
                    stream.log.forget()
                self.views.close(name)
                self.engine.remove_stream(stream.iri)
                del self.streams[name]
            if stream.log is not None:
                stream.log.close()

    def reset_stream(self, name: str) -> None:
        """Start the clock of a stream anew; see `Engine.reset_stream`."""
        with self._lock:
            stream = self.streams[name]
            self.engine.reset_stream(stream.iri)
            if stream.log is not None:
                stream.log.high = NEVER

    def clock_of(self, stream: Stream) -> int:
        """The highest time of a stream, as far as the engine has read it."""
        loop = self.engine.streaming.loop
        progress = None if loop is None else loop.progress.get(f"<{stream.iri}>")
        return NEVER if progress is None else progress.high

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Stop all streams during the block. Sources can only come and go while nothing flows."""
        self.engine.stop()
        try:
            yield
        finally:
            self._start()

    # --- views ---------------------------------------------------------------------------------------

    def _open_view(self, name: str, iri: str, window: MovingWindow | None) -> None:
        self.views.open(name, iri, window or self.config.window, lasting=True)

    def _open_view_of(self, query: Query) -> None:
        if query.stream is not None:
            self._open_view(query.name, query.stream, None)

    # --- the engine ----------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.streams:
            try:
                self.engine.start()
            except LoadError:
                return  # a source cannot be reached: `_look_after` logs the error and tries again
            self.engine.streaming.ask_for_batch()  # its answers fill the views

    def _save(
        self, queries: Mapping[str, Query] | None = None, streams: Mapping[str, Stream] | None = None
    ) -> None:
        """Store the queries and streams: the present ones, or the given ones."""
        queries = self.queries if queries is None else queries
        streams = self.streams if streams is None else streams
        made = {s.name: s.described for s in streams.values() if s.described is not None}
        kinds = {s.name: "push" if s.config.is_push else "source" for s in streams.values()}
        self._state.write(self.base, (query.kept for query in queries.values()), made, kinds)

    @contextmanager
    def _stored(
        self, queries: Mapping[str, Query] | None = None, streams: Mapping[str, Stream] | None = None
    ) -> Iterator[None]:
        """Store these queries or streams, then run the block that makes the change. A change that cannot be
        stored is not made. If the block fails, the present queries and streams are stored again."""
        try:
            self._save(queries, streams)
            yield
        except BaseException as error:
            with suppress(OSError):
                self._save()
            if isinstance(error, OSError):
                raise Problem(507, "The change could not be stored", error.strerror) from error
            raise

    def _look_after(self) -> None:
        """Do the regular work of the host, and start the engine again when it has failed. The pause before
        that doubles with every failure."""
        pause, well = 1.0, time.monotonic()
        while not self._stopping.wait(_LOOK):
            self._guarded(self.views.close_unasked)
            self._guarded(self._note_failures)
            self._guarded(self._note_rates)
            self._guarded(self.health.look)
            failure = self.engine.streaming.failure
            if failure is None:
                if self.runs and time.monotonic() - well > _LONGEST_PAUSE:
                    pause = 1.0
                continue
            reason = (str(failure).strip().splitlines() or [type(failure).__name__])[0]
            self.failure = reason
            log("the streams have stopped", level="error", error=reason, again_in=pause, exception=failure)
            if self._stopping.wait(pause):
                return
            pause, well = min(2 * pause, _LONGEST_PAUSE), time.monotonic()
            self._guarded(self._start_again)

    def _start_again(self) -> None:
        with self._lock, self._paused():
            pass
        if self.engine.streaming.failure is None:
            self.failure = None

    def _note_failures(self) -> None:
        """Store which queries the engine had to stop, so that they stay stopped after a restart."""
        for query in list(self.queries.values()):
            failure = None if query.handle is None else query.handle.metrics.failure
            if failure is not None and query.kept.running:
                with self._lock:
                    query.kept, query.error = replace(query.kept, running=False), failure
                    self._save()
                self.answers.changed({query.name})

    def _note_rates(self) -> None:
        names = {stream.iri: stream.name for stream in list(self.streams.values())}
        self.rates.add(counted(self.metrics(), names))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do some work, and log an error instead of raising it: the thread has to go on."""
        try:
            if not self._stopping.is_set():
                work()
        except Exception as error:
            log("looking after the engine failed", level="error", error=str(error), exception=error)


def makes_stream(tree: ast.Query) -> bool:
    return tree.registration is not None and tree.registration.kind == "STREAM"


def address(config: Config, port: int) -> str:
    """The base of a server whose configuration has none."""
    host = socket.gethostname() if config.host in ("0.0.0.0", "::") else config.host
    scheme = "http" if config.tls is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
