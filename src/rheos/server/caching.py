"""Caching: the headers that identify the version of a graph, and the conditions of requests that use these
headers (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime

from rheos.server.views import SECOND

_TAG = re.compile(r'\s*(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a graph. Times are in microseconds. It is `ambiguous` if another version may have the same
    second: dates in headers have whole seconds, so only the tag can tell the two apart."""

    tag: str
    modified: int | None
    expires: int
    ambiguous: bool = False

    @property
    def headers(self) -> dict[str, str]:
        found = {"ETag": self.tag, "Expires": http_date(self.expires)}
        # Event time may be in the future, but Last-Modified may not.
        if self.modified is not None:
            found["Last-Modified"] = http_date(min(self.modified, time.time_ns() // 1000))
        return found

    def is_known(self, headers: Mapping[str, str]) -> bool:
        """True if the client has this version already. A tag counts more than a date."""
        tags = headers.get("if-none-match")
        if tags is not None:
            return tags.strip() == "*" or self.tag in _TAG.findall(tags)
        since = headers.get("if-modified-since")
        if since is None or self.modified is None or self.ambiguous:
            return False
        try:
            then = parsedate_to_datetime(since).timestamp()
        except (ValueError, TypeError, OverflowError):
            return False
        return self.modified // SECOND <= then


def tag_of(body: bytes) -> str:
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


def http_date(moment: int) -> str:
    """A time as headers write it. They have no times before 1970 and none after 9999."""
    return formatdate(min(max(moment // SECOND, 0), 253_402_300_799), usegmt=True)
