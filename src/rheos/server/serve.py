"""Serving: runs a server as a process until a signal comes, or as a thread while a block runs."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from rheos.errors import RheosError
from rheos.server import logs
from rheos.server.app import Application, application
from rheos.server.config import Config
from rheos.server.events import Subscribers
from rheos.server.host import Host
from rheos.server.logs import log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GRACE = 3  # seconds that running requests have when the server ends
_LONGEST_END = 8.0  # seconds after which the process ends, whatever is still running


class Connection(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """A connection that puts itself into the state of its requests, so that a request can end it."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.app_state: dict[str, Any] = {**self.app_state, "connection": self}


class Server(uvicorn.Server):
    """A web server that ends the connections of its subscribers when it ends."""

    def __init__(self, config: uvicorn.Config, web: Application, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._web = web
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        log("stopping", signal=signal.Signals(sig).name)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._web.close()
        await super().shutdown(sockets)


def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT."""
    logs.begin(config.log.level, config.log.format)
    with opened(config) as (host, listening):
        # uvicorn raises the signal again at its end, but the host is not closed yet.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        asyncio.run(run(host, listening, lambda _: log("listening", address=host.base, port=host.port)))
        threading.Thread(target=end_at_last, daemon=True, name="rheos-end").start()
    log("stopped")


def end_at_last() -> None:
    """End the process if it does not end by itself. All accepted elements are on the disk already."""
    time.sleep(_LONGEST_END - _GRACE)
    log("stopped", level="warning", detail="work was still under way")
    os._exit(0)


@contextmanager
def served(config: Config, spark: SparkSession | None = None) -> Iterator[Host]:
    """Serve in a thread of this process while the block runs."""
    with opened(config, spark) as (host, listening):
        ready = threading.Event()
        running: list[Server] = []

        def started(server: Server) -> None:
            running.append(server)
            ready.set()

        thread = threading.Thread(target=lambda: asyncio.run(run(host, listening, started)), daemon=True)
        thread.start()
        try:
            ready.wait()
            yield host
        finally:
            for server in running:
                server.should_exit = True
            thread.join()


@contextmanager
def opened(config: Config, spark: SparkSession | None = None) -> Iterator[tuple[Host, socket.socket]]:
    """Open a host and its socket. The socket comes first, so that a port that is already taken is reported
    before the engine has started."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server((config.host, config.port), family=family, backlog=1024)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RheosError(f"cannot listen on {config.host}, port {config.port}: {reason}") from None
    with listening:
        host = Host(config, listening.getsockname()[1], spark)
        try:
            host.open()
            yield host, listening
        finally:
            host.close()


async def run(host: Host, listening: socket.socket, ready: Callable[[Server], None]) -> None:
    """Serve an open host. `ready` is called when the server listens."""
    subscribers = Subscribers(asyncio.get_running_loop())
    host.answers.changed = subscribers.changed
    web = application(host, subscribers)
    config = uvicorn.Config(
        web.starlette,
        http=Connection,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws_max_size=1 << 16,
        ssl_certfile=None if host.config.tls is None else host.config.tls.certificate,
        ssl_keyfile=None if host.config.tls is None else host.config.tls.key,
        timeout_graceful_shutdown=_GRACE,
    )
    server = Server(config, web, lambda: ready(server))
    await server.serve(sockets=[listening])
