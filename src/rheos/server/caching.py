"""Validators and what clients ask of them (RFC 9110, section 13): a request and the state of what it is for
come in, headers go out, and whether the client has it already."""

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
    """What tells one state of something from another. Times are microseconds; where it changed more than once
    in its last second, only the tag can tell (`ambiguous`)."""

    tag: str
    modified: int | None
    expires: int
    ambiguous: bool = False

    @property
    def headers(self) -> dict[str, str]:
        found = {"ETag": self.tag, "Expires": http_date(self.expires)}
        # Times of a stream may be those of tomorrow; what was sent has been modified by now at the latest.
        if self.modified is not None:
            found["Last-Modified"] = http_date(min(self.modified, time.time_ns() // 1000))
        return found

    def is_known(self, headers: Mapping[str, str]) -> bool:
        """Whether a client says that it has this; a tag says more than a date."""
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
    """A time as headers have it; they know no times before 1970 and none after 9999."""
    return formatdate(min(max(moment // SECOND, 0), 253_402_300_799), usegmt=True)
