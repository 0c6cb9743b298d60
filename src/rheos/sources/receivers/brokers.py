"""Brokers: watches from the driver whether the brokers that Spark reads from can be reached.

Spark tries again by itself and reports nothing meanwhile. So a thread tries to connect every few seconds; a
broker that does not answer is shown in the health of its stream.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from rheos.sources.receivers.base import Health

_EVERY = 2.0
_SECONDS = 5.0


class BrokerWatch:
    """Watches the brokers of a topic: at least one of them must answer."""

    def __init__(self, url: str, servers: str) -> None:
        self.url = url
        self._places = [server.rpartition(":") for server in servers.split(",")]
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._connected = False
        self._trouble: str | None = None
        self._failures = 0

    @property
    def health(self) -> Health:
        return Health(self._connected, self._trouble, self._failures)

    def start(self, warn: Callable[[str], None]) -> None:
        if self._thread is None:
            self._stopping = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stopping, warn), daemon=True, name="rheos-brokers"
            )
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread = None

    def _run(self, stopping: threading.Event, warn: Callable[[str], None]) -> None:
        while not stopping.wait(_EVERY):
            reasons = [self._reason(host.strip("[]"), int(port)) for host, _, port in self._places]
            if all(reasons):
                if self._trouble is None:
                    warn(f"{self.url}: {reasons[0]}; trying again until it works")
                    self._failures += 1
                self._connected, self._trouble = False, reasons[0]
                continue
            if self._trouble is not None:
                warn(f"{self.url}: reached again")
            self._connected, self._trouble = True, None

    def _reason(self, host: str, port: int) -> str | None:
        try:
            socket.create_connection((host, port), _SECONDS).close()
        except OSError as error:
            return f"no broker answers at {host}:{port} ({error.strerror or error})"
        return None
