"""Servers of the Web in the test process, on free ports of 127.0.0.1: HTTP with events, and WebSocket."""

from __future__ import annotations

import queue
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.services.processes import HOST

Headers = dict[str, str]


@dataclass
class Reply:
    """What the server says to a request. `events` are pieces of a body that goes on until `None`."""

    status: int = 200
    headers: Headers = field(default_factory=dict)
    body: bytes = b""
    events: queue.Queue[bytes | None] | None = None


@dataclass
class Web:
    """A server and the requests that it got: each its path and headers."""

    port: int
    requests: list[tuple[str, Headers]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{HOST}:{self.port}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


@contextmanager
def web(
    answer: Callable[[str, Headers], Reply], port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Web]:
    """A server for whose requests a function has the replies."""
    ending = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = dict(self.headers.items())
            found.requests.append((self.path, headers))
            reply = answer(self.path, headers)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.events is None:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            while reply.events is not None and not ending.is_set():
                try:
                    piece = reply.events.get(timeout=0.1)
                except queue.Empty:
                    continue
                if piece is None:
                    return
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    found = Web(server.server_address[1])
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield found
    finally:
        ending.set()
        server.shutdown()
        server.server_close()


@contextmanager
def web_socket(
    messages: Callable[[Any], None], port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    """A WebSocket server: a function sends what each connection gets; then the connection is closed. The port
    that it listens on."""
    from websockets.sync.server import serve

    with serve(messages, HOST, port, ssl=tls) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            server.shutdown()
