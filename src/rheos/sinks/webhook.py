"""Webhooks: the answers of a query as POST requests with JSON.

    POST /alarms
    Content-Type: application/json
    Idempotency-Key: "high/4f0c…-17-0"

    {"query":"high","batch":17,"number":0,"answers":[{"query":"high","at":"…","row":{…}}, …]}

A request has up to `size` answers; `number` is the position of the first of them in the batch. Any status
except 2xx is a failure: the same request is sent again, with the same key, until the receiver takes it. A
receiver that notes the keys that it has seen gets every answer exactly once.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import quote

from rheos import __version__
from rheos.addresses import Address
from rheos.errors import RheosError
from rheos.sinks.base import Batch, Lines, Notes, Sink, Taken, Unreachable, filled

SIZE = 100
TIMEOUT = 30.0
_SHOWN = 200  # characters of a refusal that an error shows at most


class Webhook(Sink):
    """A receiver of POST requests. Redirections are not followed: they could lead to any address."""

    OPTIONS = ("authorization", "size", "ca")

    def __init__(self, address: Address, options: Mapping[str, str]) -> None:
        self._address = address
        self._target = quote(address.path or "/", safe="/%:@!$&'()*+,;=~{}") + (
            f"?{address.query}" if address.query else ""
        )
        self._authorization = options.get("authorization")
        size = options.get("size", str(SIZE))
        if not (size.isascii() and size.isdecimal() and int(size)):
            raise RheosError(f"size is how many answers a request has, not {size!r}")
        self._size = int(size)
        self._ca = options.get("ca")
        if self._ca is not None and address.scheme != "https":
            raise RheosError("the option ca is for https://")
        self._connection: HTTPConnection | None = None

    def open(self, run: str, query: str, notes: Notes) -> None:
        host, port = self._address.host, self._address.port
        if self._address.scheme == "https":
            context = ssl.create_default_context(cafile=self._ca)
            self._connection = HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
        else:
            self._connection = HTTPConnection(host, port, timeout=TIMEOUT)

    def take(self, batch: Batch, taken: Taken) -> None:
        for start, table in batch.pieces(self._size):
            answers = ",".join(Lines().of(batch.query, table))
            head = json.dumps({"query": batch.query.name, "batch": batch.number, "number": start})
            self._post(f'{head[:-1]}, "answers": [{answers}]}}'.encode(), batch, start)
            taken(start + len(table))

    def _post(self, body: bytes, batch: Batch, start: int) -> None:
        assert self._connection is not None
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"rheos/{__version__}",
            "Idempotency-Key": f'"{quote(batch.query.name, safe="")}/{batch.name(start)}"',
        }
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        try:
            response, told = self._exchange(
                self._connection, filled(self._target, batch.query.name, ""), body, headers
            )
        except (HTTPException, OSError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        if not 200 <= response.status < 300:
            text = " ".join(told.decode(errors="replace").split())[:_SHOWN]
            reason = f"it answers {response.status} {response.reason}{': ' if text else ''}{text}"
            raise Unreachable(reason, retry_after(response))

    def _exchange(
        self, connection: HTTPConnection, target: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        """The response to a request, and its body. A receiver may have closed the connection after the last
        request, without anything being wrong: then the request is repeated once on a new one. Its key makes
        that safe."""
        reused = connection.sock is not None
        try:
            return _sent(connection, target, body, headers)
        except TimeoutError:
            raise
        except (HTTPException, OSError):
            if not reused:
                raise
        connection.close()
        return _sent(connection, target, body, headers)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _sent(
    connection: HTTPConnection, target: str, body: bytes, headers: Mapping[str, str]
) -> tuple[HTTPResponse, bytes]:
    connection.request("POST", target, body, dict(headers))
    response = connection.getresponse()
    return response, response.read(1 << 16)


def retry_after(response: HTTPResponse) -> float:
    """The seconds that the receiver asks to wait. If it gives a date instead, 0: the pauses of the delivery
    are enough."""
    text = (response.getheader("Retry-After") or "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
