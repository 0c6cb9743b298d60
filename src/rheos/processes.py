"""Processes: the memory and the open files of an engine, its JVM and its Python workers, read from /proc.

Only Linux has /proc; without it, no processes are found.
"""

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
    """What some processes use together: the number of processes, their memory in bytes, and the number of
    files, sockets and pipes that they have open."""

    processes: int = 0
    memory: int = 0
    files: int = 0

    def plus(self, other: Use) -> Use:
        return Use(self.processes + other.processes, self.memory + other.memory, self.files + other.files)


def tree(root: int) -> list[int]:
    """A process and all processes below it."""
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
    """The name of the executor that this process works for: its machine and, if this process runs below a
    JVM, the number of the JVM's process."""
    process, machine = os.getpid(), socket.gethostname()
    while process > 1:
        if text(process, "comm").strip() == "java":
            return f"{machine}/{process}"
        process = _parent(process)
    return machine


def memory(process: int) -> int:
    """The bytes of memory that a process uses. A page that several processes share counts once in the sum
    over these processes (PSS), if the system tells this."""
    size = re.search(r"^Pss:\s+(\d+) kB", text(process, "smaps_rollup"), re.MULTILINE)
    return int(size[1]) * 1024 if size else used_by(process)


def by_role(root: int) -> dict[str, Use]:
    """What the processes of an engine use, by role: the process that it runs in, its JVM, and all others
    below."""
    found = dict.fromkeys(ROLES, Use())
    for process in tree(root):
        name = text(process, "comm").strip()
        if name:
            role = "driver" if process == root else "jvm" if name == "java" else "workers"
            found[role] = found[role].plus(Use(1, memory(process), _files(process)))
    return found


def text(process: int, name: str) -> str:
    """The content of a file about a process; empty if the process has ended or belongs to another user."""
    try:
        return (PROC / str(process) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _parent(process: int) -> int:
    """The parent of a process; 0 if the process has ended or has no parent."""
    status = text(process, "stat")
    # The name of the process stands in parentheses and may have any characters, also parentheses.
    return int(status[status.rindex(")") + 2 :].split()[1]) if status else 0


def _files(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(PROC / str(process) / "fd"))
    return 0
