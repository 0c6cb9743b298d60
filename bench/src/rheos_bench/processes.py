"""Processes: what a process and all that it has started use together, read from /proc (Linux)."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

PROC = Path("/proc")


def tree(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir(PROC):
        if entry.isdigit() and (status := _read(int(entry), "stat")):
            # The name of a process stands in parentheses and may hold anything.
            parent = int(status[status.rindex(")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(entry))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def memory(root: int) -> Counter[str]:
    """The bytes in memory of a process and all below it, by the name of the program.

    A page that several processes share counts once in all: each has its part of it (PSS).
    """
    found: Counter[str] = Counter()
    for process in tree(root):
        size = re.search(r"^Pss:\s+(\d+) kB", _read(process, "smaps_rollup"), re.MULTILINE)
        if size:
            found[_read(process, "comm").strip()] += int(size[1]) * 1024
    return found


def written(root: int) -> int:
    """The bytes that a process and all below it have sent to the disk so far.

    A child that has ended is no longer in it: take the difference of two calls only while none ends.
    """
    sizes = (re.search(r"^write_bytes: (\d+)", _read(one, "io"), re.MULTILINE) for one in tree(root))
    return sum(int(size[1]) for size in sizes if size)


def _read(process: int, name: str) -> str:
    """A file about a process; empty if the process has just ended."""
    try:
        return (PROC / str(process) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
