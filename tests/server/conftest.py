"""Servers for tests, on free ports of 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from rheos.server.config import Config
from rheos.server.serve import served

PATIENCE = 120.0  # seconds: the machine may be busy


def client(base: str) -> httpx.Client:
    """A client that does not follow redirections: they are what is tested."""
    return httpx.Client(base_url=base, timeout=PATIENCE)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server without streams, so without Spark."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "loadable").mkdir()
    (folder / "loadable" / "more.ttl").write_text("<http://ex/more> <http://ex/p> 1 .")
    (folder / "secret.ttl").write_text("<http://ex/secret> <http://ex/p> 1 .")
    (folder / "loadable" / "link.ttl").symlink_to(folder / "secret.ttl")
    (folder / "city.ttl").write_text("@prefix : <http://ex/> . :a :p 1 , 2 . :b :p 3 .")
    (folder / "news.ttl").write_text("@prefix : <http://ex/> . :n :p 9 .")
    config = Config(
        port=0,
        state=folder / "state",
        data=(str(folder / "city.ttl"),),
        graphs={"http://ex/news": str(folder / "news.ttl")},
        load_folder=folder / "loadable",
    )
    yield from serving(config)


def serving(config: Config) -> Iterator[httpx.Client]:
    with served(config) as host, client(host.base) as http:
        yield http
