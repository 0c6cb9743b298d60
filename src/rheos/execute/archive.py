"""The class archive: a file with the classes of Spark as a JVM has them in memory, so that the next JVM need
not read and check them again (class data sharing).

A JVM writes the classes that it has loaded when it ends, after the user's command. The first Spark of a user
makes the archive, and later ones use it: they start in about half of the time. The JVM itself finds out
whether a file fits, and starts without it if not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rheos.folders import cache_folder

# The kinds of sessions: for one query, and for streams. Each has its own archive, as it loads other classes.
QUICK, LASTING = "quick", "lasting"

# The first bytes of an archive. The JVM writes them last, so a file with them is complete.
_MAGIC = bytes.fromhex("a8ab0bf0")
_HOUR, _MONTH = 3600.0, 30 * 86400.0

# The file that says that the archive of this process's JVM is worth keeping, by the kind of the session.
_marks: dict[str, Path] = {}


def folder_of(spark: Path, java: Path) -> Path | None:
    """The folder in the user's cache for this Spark and this Java; None if there can be none. Its name stays
    the same, because an archive is only valid for the very paths of the class path."""
    try:
        made = java.resolve(strict=True).stat().st_mtime_ns
        key = hashlib.blake2b(f"{spark} {spark.stat().st_mtime_ns} {java} {made}".encode(), digest_size=8)
        folder = cache_folder() / "spark" / key.hexdigest()
        if not folder.exists():
            _remove_unused(folder.parent)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder


def options(folder: Path, kind: str) -> list[str]:
    """The options of a JVM that uses the archive of a kind or, if there is none, makes it."""
    archive = folder / f"{kind}.jsa"
    with suppress(OSError):
        if not archive.exists():
            _promote(folder, kind, archive)
        if archive.exists():
            return [f"-XX:SharedArchiveFile={archive}"]
    new = folder / f"{kind}-{uuid.uuid4().hex[:8]}.part"
    _marks[kind] = new.with_suffix(".worth")
    return [f"-XX:ArchiveClassesAtExit={new}"]


def worth_keeping(kind: str) -> None:
    """Note that a session of this kind has done what it is for. Only then the archive of its JVM is kept: one
    of a command that failed early would have few classes."""
    mark = _marks.pop(kind, None)
    if mark is not None:
        with suppress(OSError):
            mark.touch()


def _promote(folder: Path, kind: str, archive: Path) -> None:
    """Make one of the archives that earlier JVMs left the archive of its kind, and remove old remains."""
    for mark in folder.glob(f"{kind}-*.worth"):
        part = mark.with_suffix(".part")
        if _complete(part):
            part.replace(archive)
            mark.unlink()
            break
    for left in _older(folder.glob(f"{kind}-*"), _HOUR):
        left.unlink(missing_ok=True)


def _complete(part: Path) -> bool:
    try:
        with part.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _remove_unused(folder: Path) -> None:
    """Remove the folders of a Spark or a Java that was not used for a month."""
    for old in _older(folder.glob("*"), _MONTH):
        shutil.rmtree(old, ignore_errors=True)


def _older(found: Iterator[Path], seconds: float) -> list[Path]:
    now = time.time()
    return [path for path in found if now - path.stat().st_mtime > seconds]
