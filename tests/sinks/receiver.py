"""A webhook's receiver: a real HTTP server that refuses what it is told to, and notes all requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """`refuse` has the statuses of the next requests; then all are taken. `down`: all are refused."""

    port: int = 0
    refuse: list[int] = field(default_factory=list)
    down: bool = False
    requests: list[tuple[str, str, int]] = field(default_factory=list)  # path, key, status
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)  # bodies by their key
    twice: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    idle: float | None = None  # seconds after which a connection is closed that nothing comes through
    closed: int = 0  # how many of them were
    lock: threading.Lock = field(default_factory=threading.Lock)
    tls: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/alarms?to=me"

    @property
    def answers(self) -> list[dict[str, Any]]:
        """All answers, each key once."""
        return [answer for body in self.taken.values() for answer in body["answers"]]

    def status(self, path: str, key: str, body: bytes) -> int:
        with self.lock:
            status = self.refuse.pop(0) if self.refuse else 503 if self.down else 204
            self.requests.append((path, key, status))
            if status == 204:
                self.twice += key in self.taken
                self.taken[key] = json.loads(body)
            return status


@contextmanager
def receiving(port: int = 0, **told: Any) -> Iterator[Receiver]:
    receiver = Receiver(**told)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = receiver.idle

        def finish(self) -> None:
            super().finish()
            receiver.closed += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.headers = dict(self.headers)
            status = receiver.status(self.path, self.headers["Idempotency-Key"], body)
            told = b"" if status == 204 else b"not\nnow"
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if receiver.tls is not None:
        server.socket = receiver.tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
