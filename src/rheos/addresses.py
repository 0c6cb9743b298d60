"""Addresses: the URLs of sources and sinks come in; their hosts and ports go out, if these may be contacted.

A URL is shown in logs and lists, so it may have no user and no password: these are given as options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from rheos.errors import RheosError

# The ports for URLs that name none, by scheme.
PORTS = {
    "http": 80,
    "https": 443,
    "ws": 80,
    "wss": 443,
    "mqtt": 1883,
    "mqtts": 8883,
    "kafka": 9092,
}
_HOST = r"\[[0-9A-Fa-f:.]+\]|[^\s\[\]:/?#@,]+"
_PLACE = re.compile(rf"(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?")


class AddressError(RheosError):
    """A URL names no place, or one that may not be contacted. The message names the URL and the reason."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a URL. There are several places for a cluster of Kafka. The fragment has its `#`."""

    scheme: str
    places: tuple[tuple[str, int], ...]
    path: str
    query: str
    fragment: str = ""

    @property
    def host(self) -> str:
        return self.places[0][0]

    @property
    def port(self) -> int:
        return self.places[0][1]


def address(url: str) -> Address:
    """Take a URL apart. The part of a scheme before a `+` (`poll+http`) is left out: it is not about the
    address."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower().rpartition("+")[2]
    if "@" in parts.netloc:
        # The message does not repeat the password: a secret must not get into a log.
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise AddressError(f"{shown}: a URL has no user and no password here; give them as options")
    if scheme not in PORTS:
        raise AddressError(f"{url}: no port is known for {scheme}://")
    places = tuple(_place(text, PORTS[scheme], url) for text in parts.netloc.split(","))
    return Address(scheme, places, unquote(parts.path), parts.query, "".join(url.partition("#")[1:]))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The places that may be contacted: `host:port`, or `host` for all of its ports. None: all places."""

    places: frozenset[tuple[str, int | None]] | None = None

    @classmethod
    def of(cls, texts: Iterable[str] | None) -> Allowed:
        return cls(None if texts is None else frozenset(map(allowed_place, texts)))

    def check(self, url: str) -> Address:
        """The parts of a URL; AddressError if one of its places may not be contacted."""
        found = address(url)
        for host, port in found.places:
            if self.places is not None and not {(host, port), (host, None)} & self.places:
                raise AddressError(f'{url}: {host}:{port} is not allowed; allow = ["{host}:{port}"] does it')
        return found

    def also(self, urls: Iterable[str]) -> Allowed:
        """The same places and, in addition, the places of some URLs."""
        if self.places is None:
            return self
        return Allowed(self.places.union(place for url in urls for place in address(url).places))


def allowed_place(text: str) -> tuple[str, int | None]:
    """An item of `allow` as host and port; ValueError if the text is no such item."""
    match = _PLACE.fullmatch(text)
    if match is None or int(match["port"] or 0) > 65535:
        raise ValueError(f"expected host:port or host, not {text!r}")
    return _plain(match["host"]), None if match["port"] is None else int(match["port"])


def _place(text: str, default: int, url: str) -> tuple[str, int]:
    try:
        host, port = allowed_place(text)
    except ValueError:
        raise AddressError(f"{url}: expected host:port, not {text!r}") from None
    return host, default if port is None else port


def _plain(host: str) -> str:
    return host.strip("[]").lower()
