"""Content negotiation (RFC 9110, section 12): chooses the media type that fits an Accept header best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"\s*({_TOKEN})/({_TOKEN})\s*(.*)", re.DOTALL)
_PARAMETER = re.compile(rf';\s*({_TOKEN})\s*=\s*("(?:[^"\\]|\\.)*"|{_TOKEN})\s*')
_QUALITY = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


class MediaRange(NamedTuple):
    """A media range of an Accept header, with its quality."""

    type: str
    subtype: str
    parameters: int
    quality: float

    def fits(self, offer: str) -> bool:
        kind, _, subtype = offer.partition("/")
        return self.type in ("*", kind) and self.subtype in ("*", subtype)

    @property
    def precision(self) -> tuple[bool, bool, int]:
        """Of two ranges that fit, the more precise one counts."""
        return self.type != "*", self.subtype != "*", self.parameters


def choose(accept: str | None, offers: Sequence[str]) -> str | None:
    """The offer with the highest quality, and the first of equal ones; None if no offer fits. The parameters
    of a range (`text/turtle;charset=ascii`) are ignored when it is compared with an offer."""
    if accept is None or not accept.strip():
        return offers[0]
    ranges = list(media_ranges(accept))
    best, liked = None, 0.0
    for offer in offers:
        fitting = [found for found in ranges if found.fits(offer)]
        quality = max(fitting, key=lambda found: found.precision).quality if fitting else 0.0
        if quality > liked:
            best, liked = offer, quality
    return best


def media_ranges(accept: str) -> Iterator[MediaRange]:
    """The ranges of a header. A range that cannot be read is left out."""
    for part in _split(accept):
        read = _RANGE.fullmatch(part)
        if read is None or (read[1] == "*" and read[2] != "*"):
            continue
        parameters = [(name.lower(), value) for name, value in _PARAMETER.findall(read[3])]
        if _PARAMETER.sub("", read[3]).strip():
            continue
        qualities = [value for name, value in parameters if name == "q"]
        if any(_QUALITY.fullmatch(value) is None for value in qualities):
            continue
        quality = float(qualities[0]) if qualities else 1.0
        yield MediaRange(read[1].lower(), read[2].lower(), len(parameters) - len(qualities), quality)


def media_type(content_type: str | None) -> str:
    """The media type of a body, without parameters."""
    return (content_type or "").partition(";")[0].strip().lower()


def _split(header: str) -> Iterator[str]:
    """Split a header at its commas, except for those in quotation marks."""
    start, quoted, escaped = 0, False, False
    for place, character in enumerate(header):
        if escaped:
            escaped = False
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            yield header[start:place]
            start = place + 1
    yield header[start:]
