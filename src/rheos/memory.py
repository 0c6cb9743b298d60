"""Memory: how much memory the evaluation of queries may use, by the machine and by Spark's settings.

DuckDB would take most of the machine for each of its databases. So it gets a share of the memory, and a
folder to which it writes what does not fit into this share.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

# The share of this machine's memory for queries. Spark's JVM and the system take the rest.
_SHARE = 0.5
_LEAST = 256 << 20
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def of_machine() -> int:
    """The bytes of memory that this process may use: those of the machine, or fewer if a control group has a
    limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):  # there is no such group, or it says "max"
            continue
    return total


def of_process() -> int:
    """The bytes that the queries of one process may use, without Spark's settings."""
    return int(of_machine() * _SHARE)


def of_task(settings: Mapping[str, str], local: bool, at_once: int) -> int:
    """The bytes that DuckDB may use in a task, if `at_once` tasks run at the same time on a machine or an
    executor.

    On a cluster the tasks share the executor's `spark.executor.pyspark.memory` or, if that is not set, as
    much as the JVM of the executor has.
    """
    granted = settings.get("spark.executor.pyspark.memory") or settings.get("spark.executor.memory") or "1g"
    total = of_process() if local else in_bytes(granted)
    return max(_LEAST, total // max(1, at_once))


def share(settings: Mapping[str, str], local: bool, cores: int, groups: int) -> tuple[int, int]:
    """The threads and the bytes that DuckDB may use in each task, if a batch has `groups` tasks.

    Tasks of a cluster have the cores that Spark gives them. A local engine with fewer groups than cores
    divides all cores among its groups.
    """
    cpus = int(settings.get("spark.task.cpus", "1"))
    if local:
        at_once = min(groups, cores)
        return max(cpus, cores // at_once), of_task(settings, True, at_once)
    at_once = int(settings.get("spark.executor.cores", "1")) // cpus
    return cpus, of_task(settings, False, at_once)


def in_bytes(text: str) -> int:
    """The bytes of a size as Spark writes it: `4g`, `512m`. A number without a unit is in mebibytes."""
    text = text.strip().lower().removesuffix("b")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    return int(text.removesuffix(unit)) << _UNITS[unit or "m"]


def spill_folder() -> Path:
    """The folder to which DuckDB in this process writes what does not fit into memory."""
    return Path(tempfile.gettempdir(), f"rheos-duckdb-{os.getpid()}")


def used_by(process: int) -> int:
    """The bytes of memory that a process does not share; mapped files do not count. 0 if the system does not
    tell."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
