"""What a user names as a source comes in (a path, a glob, `-`, a URL, a source, a DataFrame); a Source, or a
Frame goes out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheos import filesystems
from rheos.errors import LoadError, RheosError
from rheos.sources.base import Source
from rheos.sources.files import FileSource
from rheos.sources.standard_input import Spool

if TYPE_CHECKING:
    from rheos.sources.frames import Frame

STANDARD_INPUT = "-"

# How URLs are opened: a function of the URL and the prefix for blank nodes, by scheme. More can be put here.
SCHEMES: dict[str, Callable[[str, str], Source]] = {}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)


def blank_prefix(stream: str) -> str:
    """What goes before the labels of a stream's blank nodes, so that they are like no other's."""
    return f"s{hashlib.blake2b(stream.encode(), digest_size=4).hexdigest()}_"


def open_source(given: Any, stream: str, spool: Path, *, follow: bool) -> Source | Frame:
    """The source of a stream (its IRI); standard input will be copied into the folder `spool`."""
    prefix = blank_prefix(stream)
    if isinstance(given, Source):
        return given
    if isinstance(given, str | os.PathLike):
        text = os.fspath(given)
        if text == STANDARD_INPUT:
            return Spool(str(spool), prefix)
        match = _SCHEME.fullmatch(text)
        if match and match[1].lower() == "file":
            return FileSource.of(match[2], prefix, follow=follow)
        if match and match[1].lower() in filesystems.SCHEMES:
            return FileSource.of(text, prefix, follow=follow)
        if match:
            known = SCHEMES.get(match[1].lower())
            if known is None:
                others = ", ".join(f"{name}://" for name in sorted([*filesystems.SCHEMES, *SCHEMES]))
                raise LoadError(f"there is no source for {match[1]}:// (there is {others})", text)
            return known(text, prefix)
        return FileSource.of(text, prefix, follow=follow)
    if type(given).__name__ == "DataFrame" and hasattr(given, "isStreaming"):
        from rheos.sources.frames import checked

        return checked(given, f"<{stream}>", prefix)
    raise RheosError(
        f"a stream comes from a path, '-', a URL, a Source or a streaming DataFrame, not {given!r}"
    )
