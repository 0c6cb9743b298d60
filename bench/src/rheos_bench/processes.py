"""Processes: what a process and all that it has started use together, read from /proc (Linux)."""

from __future__ import annotations

import re
from collections import Counter

from rheos.processes import memory as memory_of
from rheos.processes import text, tree


def memory(root: int) -> Counter[str]:
    """The bytes in memory of a process and all below it, by the name of the program."""
    found: Counter[str] = Counter()
    for process in tree(root):
        if size := memory_of(process):
            found[text(process, "comm").strip()] += size
    return found


def written(root: int) -> int:
    """The bytes that a process and all below it have sent to the disk so far.

    A child that has ended is no longer in it: take the difference of two calls only while none ends.
    """
    sizes = (re.search(r"^write_bytes: (\d+)", text(one, "io"), re.MULTILINE) for one in tree(root))
    return sum(int(size[1]) for size in sizes if size)
