"""A browser, and a server with streams that go on, for tests of the pages; without Chromium they are
skipped."""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from rheos.answers.continuous import time_text
from rheos.server.config import Config, QueryConfig, StreamConfig
from rheos.server.host import Host
from rheos.server.push import accept
from rheos.server.serve import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page
    from pyspark.sql import SparkSession

PATIENCE = 60_000  # milliseconds: the machine may be busy
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# What would do something if a page took it for more than text.
SCRIPT = "<script>window.harmed = 1</script>"
IMAGE = "'\"><img src=x onerror=window.harmed=1>"
ADDRESS = "javascript:window.harmed=1"
QUOTES = "http://ex/\u00e9'onmouseover='window.harmed=1'"

COUNTS = """\
PREFIX : <http://ex/>
SELECT ?gate (COUNT(*) AS ?cars)
FROM STREAM <tolls> [RANGE 5s STEP 1s]
WHERE { ?gate :registers ?car }
GROUP BY ?gate"""
SAID = f"""\
# {SCRIPT}
PREFIX : <http://ex/>
SELECT ?who ?what ("</pre>{SCRIPT}" AS ?mine) WHERE {{ STREAM <talk> [NOW] {{ ?who :says ?what }} }}"""
TOLD = """\
REGISTER STREAM told AS
PREFIX : <http://ex/>
CONSTRUCT { ?who :said ?what } FROM STREAM <talk> [RANGE 1s STEP 1s] WHERE { ?who :says ?what }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("the browser tests need Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found)
        yield opened
        opened.close()


@dataclass
class Site:
    """A server, and how its streams go on in a thread of their own."""

    host: Host
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def base(self) -> str:
        return self.host.base.rstrip("/")

    def live(self) -> None:
        for turn in itertools.count():
            now = time_text(time.time_ns() // 1000)
            gates = (
                f"<http://ex/gate{gate}> <http://ex/registers> <http://ex/car{turn}>"
                for gate in range(turn % 3 + 1)
            )
            self.push("tolls", gates, now)
            said = (
                f'<{ADDRESS}> <http://ex/says> "{text(SCRIPT)} {turn}"',
                f'<{QUOTES}> <http://ex/says> "{text(IMAGE)} {turn}"@en',
            )
            self.push("talk", said, now)
            if self.stopping.wait(0.2):
                return

    def push(self, name: str, triples: Iterator[str] | tuple[str, ...], now: str) -> None:
        stream = self.host.streams[name]
        assert stream.log is not None
        stamp = f'"{now}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        body = "".join(f"{triple} {stamp} .\n" for triple in triples)
        assert not accept(stream.log, stream.decoding, body.encode(), "application/n-quads", 1 << 30).bad


def text(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


@pytest.fixture(scope="module")
def site(browser: Browser, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A city in which something happens five times a second."""
    config = Config(
        port=0,
        state=tmp_path_factory.mktemp("pages") / "state",
        streams=(StreamConfig("tolls"), StreamConfig("talk")),
        queries=(QueryConfig("counts", COUNTS), QueryConfig("said", SAID), QueryConfig("told", TOLD)),
    )
    with served(config, spark) as host:
        found = Site(host)
        thread = threading.Thread(target=found.live, daemon=True)
        thread.start()
        yield found
        found.stopping.set()
        thread.join()


def is_fault(message: ConsoleMessage) -> bool:
    """Whether a message is one of a fault. That /health is 503 while streams start again, as they do when
    one is added, is none."""
    starting = "status of 503" in message.text and message.location["url"].endswith("/health")
    return message.type == "error" and not starting


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of a browser; whatever goes wrong in its scripts fails the test."""
    context = browser.new_context(base_url=site.base, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.set_default_navigation_timeout(PATIENCE)
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if is_fault(message) else None)
    yield opened
    context.close()
    refused = [
        fault for fault in faults if "status of 40" not in fault
    ]  # what the server refuses is no fault
    assert not refused
