"""Copies: this machine's copies of the files of a state store that is elsewhere.

A copy may be deleted at any time: a process that has mapped it keeps what it has mapped, and one that needs
it again fetches it again. So whoever writes or fetches copies also deletes those that nobody has used lately,
also those of runs that have ended.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_AGAIN = 600.0  # seconds between two looks of a process at the copies of a store
_AGE = 3600.0  # copies that nobody has used for so many seconds are deleted
_STORE_AGE = 24 * 3600.0  # and all copies of a store of which nobody has used any for so many seconds

_looked: dict[Path, float] = {}  # by folder, when this process has looked at it


def folder_of(uri: str) -> Path:
    """The folder with the copies of the store with a URI."""
    own = hashlib.blake2b(uri.encode(), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir(), f"rheos-store-{os.getuid()}", own)


def clean(folder: Path, live: Iterable[str] = ()) -> None:
    """Now and then, delete the copies in a folder that nobody has used lately. Those with the names `live`
    count as used now."""
    now = time.monotonic()
    if now - _looked.get(folder, -_AGAIN) < _AGAIN:
        return
    _looked[folder] = now
    for name in live:
        _touch(folder / name)
    _touch(folder)
    with suppress(OSError):  # another process does the same
        for path in list(folder.rglob("*")):
            if path.is_file() and _age(path) > _AGE:
                path.unlink(missing_ok=True)
    for other in list(folder.parent.glob("*")):
        if other != folder and _age(other) > _STORE_AGE:
            shutil.rmtree(other, ignore_errors=True)


def _touch(path: Path) -> None:
    with suppress(OSError):  # there is none
        os.utime(path)


def _age(path: Path) -> float:
    """How many seconds ago a file was used; 0 if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
