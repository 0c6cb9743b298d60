"""Opening: a user's name for a source comes in (a path, a glob, `-`, a URL, a Source, a DataFrame), the
opened source goes out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheos import filesystems
from rheos.addresses import Allowed
from rheos.errors import LoadError, RheosError
from rheos.sources import kafka
from rheos.sources.base import Source
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource
from rheos.sources.receivers.base import Receiver
from rheos.sources.receivers.opening import RECEIVERS, open_receiver
from rheos.sources.record_files import record_files
from rheos.sources.standard_input import Spool

if TYPE_CHECKING:
    from rheos.mapping import Mapping
    from rheos.sources.frames import Frame
    from rheos.sources.kafka import Kafka

STANDARD_INPUT = "-"

# Functions that open a URL, by its scheme. They get the URL, the prefix for blank nodes, and the Decoding of
# the payloads. More schemes can be added here.
SCHEMES: dict[str, Callable[[str, str, Decoding], Source]] = {}
# The schemes of brokers and of the Web, whose messages a decoder reads.
LIVE_SCHEMES = (kafka.SCHEME, *RECEIVERS)


@dataclass(frozen=True, slots=True)
class Way:
    """How a live source may be reached: the options that do not belong into its URL, such as passwords, and
    the addresses that may be contacted."""

    options: dict[str, str] | None = None
    allowed: Allowed = field(default_factory=Allowed)


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)


def blank_prefix(stream: str) -> str:
    """The prefix for the labels of a stream's blank nodes, so that no other stream has the same labels."""
    return f"s{hashlib.blake2b(stream.encode(), digest_size=4).hexdigest()}_"


def is_live(given: Any) -> bool:
    """True if the name of a source is the URL of a broker or of something on the Web."""
    match = _SCHEME.fullmatch(given) if isinstance(given, str) else None
    return match is not None and match[1].lower() in LIVE_SCHEMES


def open_source(
    given: Any,
    stream: str,
    spool: Path,
    *,
    follow: bool,
    mapping: str | os.PathLike[str] | Mapping | None = None,
    time: str | None = None,
    way: Way | None = None,
) -> Source | Frame | Kafka | Receiver:
    """Open the source of a stream; `stream` is its IRI. Standard input will be copied into the folder
    `spool`. With a `mapping` the source has records that are not RDF; `time` says where their time comes
    from."""
    way = way or Way()
    if way.options and not is_live(given):
        raise RheosError(f"options are for {', '.join(f'{name}://' for name in LIVE_SCHEMES)} only")
    prefix, decoding = blank_prefix(stream), Decoding(mapping, time, stream)
    if isinstance(given, Source):
        if mapping is not None or time is not None:
            raise RheosError("a Source makes elements by itself: it takes neither a mapping nor a time")
        return given
    if isinstance(given, str | os.PathLike):
        text = os.fspath(given)
        if text == STANDARD_INPUT:
            if mapping is None and time is not None:
                raise RheosError("lines of standard input have a time each, unless they have a mapping")
            return Spool(str(spool), prefix, record_files(decoding, "standard input"))
        match = _SCHEME.fullmatch(text)
        if match and match[1].lower() == "file":
            return FileSource.of(match[2], prefix, follow=follow, decoding=decoding)
        if match and match[1].lower() in filesystems.SCHEMES:
            return FileSource.of(text, prefix, follow=follow, decoding=decoding)
        if match and match[1].lower() == kafka.SCHEME:
            topic = f"<{stream}>"
            return kafka.open_topic(text, topic, prefix, decoding.decoder(), way.options, way.allowed)
        if match and match[1].lower() in RECEIVERS:
            return open_receiver(text, prefix, decoding.decoder(), way.options, way.allowed)
        if match:
            known = SCHEMES.get(match[1].lower())
            if known is None:
                others = ", ".join(
                    f"{name}://" for name in sorted([*filesystems.SCHEMES, *SCHEMES, *LIVE_SCHEMES])
                )
                raise LoadError(f"there is no source for {match[1]}:// (there is {others})", text)
            return known(text, prefix, decoding)
        return FileSource.of(text, prefix, follow=follow, decoding=decoding)
    if type(given).__name__ == "DataFrame" and hasattr(given, "isStreaming"):
        from rheos.sources.frames import checked

        return checked(given, f"<{stream}>", prefix, decoding)
    raise RheosError(
        f"a stream comes from a path, '-', a URL, a Source or a streaming DataFrame, not {given!r}"
    )
