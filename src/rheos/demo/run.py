"""The run of the demo: a server with a simulated city, and its answers as text on the terminal.

The events of the city are pushed to the streams of the server every quarter of a second, each with its time.
The queries are in the server's configuration, so its pages show them like any other queries.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rheos.algebra.streams import LogicalWindow
from rheos.demo import world
from rheos.demo.catalogue import DemoQuery, queries
from rheos.demo.city import SECOND, STREAMS, City
from rheos.demo.telling import Telling
from rheos.server import push
from rheos.server.config import Config, QueryConfig, StreamConfig
from rheos.server.host import Host
from rheos.server.pages.overview import LANGUAGES
from rheos.server.problems import Problem
from rheos.server.serve import served

PORT = 8080
NQUADS = "application/n-quads"
BEFORE = 10  # seconds of past events that the streams begin with, so that the first answers come soon

WINDOW = LogicalWindow(30 * SECOND, 2 * SECOND)  # long enough for a viewer to look at a moment in it

_STEP = 0.25  # seconds
_LOOK = 0.5

STYLES = {"csparql": "blue", "cqels": "magenta", "epsparql": "yellow", "rspql": "green", "sparql": "white"}


def run(port: int | None, seconds: float | None) -> None:
    """Run the demo for some seconds, or until Ctrl-C."""
    began = time.monotonic()
    known = queries()
    saying = Console(stderr=True, highlight=False, soft_wrap=True)
    languages = sorted({LANGUAGES[query.language] for query in known})
    saying.print(
        f"[bold]rheos demo[/bold]: a simulated city on {len(STREAMS)} streams, "
        f"{len(known)} continuous queries in {' and '.join((', '.join(languages[:-1]), languages[-1]))}"
    )
    saying.print("starting Spark in this process; this takes some seconds …", style="dim")
    with tempfile.TemporaryDirectory(prefix="rheos-demo-") as folder:
        config = config_of(Path(folder), known, port)
        with served(config) as host, living(host) as life:
            saying.print(f"{after('up', began)}; open [bold]{host.base}[/bold] in a browser")
            for query in known:
                language = LANGUAGES[query.language]
                saying.print(
                    f"  [{STYLES[query.language]}]{language:9}[/] [bold]{query.name}[/bold]  {query.about}"
                )
            ends = f"it ends after {seconds:.0f} s" if seconds is not None else "Ctrl-C ends it"
            saying.print(f"what the queries answer, as it comes ({ends}):", style="dim")
            until = None if seconds is None else time.monotonic() + seconds
            try:
                tell(host, known, until, lambda: saying.print(after("first answers", began), style="dim"))
            except KeyboardInterrupt:
                saying.print()
            summary(saying, host, life)


def config_of(folder: Path, known: tuple[DemoQuery, ...], port: int | None) -> Config:
    """The configuration of the demo's server."""
    data = folder / "city.ttl"
    data.write_text(world.turtle())
    return Config(
        port=free_port() if port is None else port,
        state=folder / "state",
        data=(str(data),),
        streams=tuple(StreamConfig(name) for name in STREAMS),
        window=WINDOW,
        queries=tuple(QueryConfig(query.name, query.text, entailment=query.entailment) for query in known),
    )


def free_port() -> int:
    """The usual port or, if it is taken, 0, which stands for any free port."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


@dataclass
class Life:
    """The thread in which the city lives, and how many elements it has made."""

    host: Host
    elements: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    def live(self) -> None:
        city = City()
        reached = time.time_ns() // 1000 - BEFORE * SECOND
        while True:
            now = time.time_ns() // 1000
            for name, lines in city.between(reached, now).items():
                stream = self.host.streams[name]
                if not lines or stream.log is None:
                    continue
                with suppress(Problem):  # a server that is behind takes nothing, and the city goes on
                    accepted = push.accept(
                        stream.log, stream.decoding, lines, NQUADS, self.host.limits.backlog
                    )
                    self.elements += accepted.elements
            reached = now
            if self.stopping.wait(_STEP):
                return


@contextmanager
def living(host: Host) -> Iterator[Life]:
    life = Life(host)
    thread = threading.Thread(target=life.live, daemon=True, name="rheos-city")
    thread.start()
    try:
        yield life
    finally:
        life.stopping.set()
        thread.join()


def after(what: str, began: float) -> str:
    return f"{what} after {time.monotonic() - began:.0f} s"


def tell(host: Host, known: tuple[DemoQuery, ...], until: float | None, begin: Callable[[], None]) -> None:
    """Write answers until a time, or for ever if it is None. `begin` is called before the first answer."""
    answers = Console(highlight=False, soft_wrap=True)
    telling = Telling(host.answers, [query.name for query in known])
    styles = {query.name: STYLES[query.language] for query in known}
    while until is None or time.monotonic() < until:
        if not telling.told and any(host.answers.last(query.name) for query in known):
            begin()
        for name, at, text in telling.news():
            told = Text.assemble((at, "dim"), "  ", (f"{name:16}", styles[name]), "  ", text)
            if answers.is_terminal:
                told.truncate(answers.width, overflow="ellipsis")
            answers.print(told)
        time.sleep(_LOOK)


def summary(saying: Console, host: Host, life: Life) -> None:
    metrics = host.metrics()
    answered = sum(metrics.queries[query].rows for query in list(host.queries) if query in metrics.queries)
    lags = [found.lag for found in metrics.streams.values() if found.lag is not None]
    behind = f", {max(lags):.1f} s behind" if lags else ""
    saying.print(f"{life.elements:,} elements, {answered:,} rows of answers{behind}", style="dim")
