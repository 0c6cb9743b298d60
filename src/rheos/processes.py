"""Processes: what an engine, its JVM and its Python workers use, read from /proc. Where there is none (only
Linux has it), nothing is found."""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rheos.memory import used_by

PROC = Path("/proc")
ROLES = ("driver", "jvm", "workers")


@dataclass(frozen=True, slots=True)
class Use:
    """What some processes use together: how many they are, their bytes of memory, and the files, sockets and
    pipes that they have open."""

    processes: int = 0
    memory: int = 0
    files: int = 0

    def plus(self, other: Use) -> Use:
        return Use(self.processes + other.processes, self.memory + other.memory, self.files + other.files)


def tree(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    try:
        entries = os.listdir(PROC)
    except OSError:
        return []
    for entry in entries:
        if entry.isdigit() and (parent := _parent(int(entry))):
            children.setdefault(parent, []).append(int(entry))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


@cache
def executor() -> str:
    """The executor that this process works for: its machine, and the process of its JVM, if there is one."""
    process, machine = os.getpid(), socket.gethostname()
    while process > 1:
        if text(process, "comm").strip() == "java":
            return f"{machine}/{process}"
        process = _parent(process)
    return machine


def memory(process: int) -> int:
    """The bytes of a process in memory. A page that several share counts once in all: each has its part of it
    (PSS), where the system tells."""
    size = re.search(r"^Pss:\s+(\d+) kB", text(process, "smaps_rollup"), re.MULTILINE)
    return int(size[1]) * 1024 if size else used_by(process)


def by_role(root: int) -> dict[str, Use]:
    """What the processes of an engine use: the one that it runs in, its JVM, and all others below it."""
    found = dict.fromkeys(ROLES, Use())
    for process in tree(root):
        name = text(process, "comm").strip()
        if name:
            role = "driver" if process == root else "jvm" if name == "java" else "workers"
            found[role] = found[role].plus(Use(1, memory(process), _files(process)))
    return found


def text(process: int, name: str) -> str:
    """A file about a process; empty if the process has just ended, or is another user's."""
    try:
        return (PROC / str(process) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _parent(process: int) -> int:
    """The process that began another; 0 if that has ended or has none."""
    status = text(process, "stat")
    # The name of a process stands in parentheses and may hold anything.
    return int(status[status.rindex(")") + 2 :].split()[1]) if status else 0


def _files(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(PROC / str(process) / "fd"))
    return 0
