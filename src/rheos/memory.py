"""Memory: how much of it the machine and Spark grant to the evaluation of queries.

DuckDB would take most of the machine for each of its databases. It gets a share, and a folder for what does
not fit into it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Of a machine that is ours: Spark's JVM and the system take the rest.
_SHARE = 0.5
_LEAST = 256 << 20
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def of_machine() -> int:
    """The bytes that this process may have: the machine's, or less where a control group says so."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):  # there is no such group, or it says "max"
            continue
    return total


def of_process() -> int:
    """The bytes that queries of one process may use, where no Spark shares them out."""
    return int(of_machine() * _SHARE)


def of_task(settings: Mapping[str, str], local: bool, at_once: int) -> int:
    """The bytes that a task may use for DuckDB, where so many run at once in a process of Spark's.

    On a cluster these are the executor's `spark.executor.pyspark.memory` or, where nobody set that, as much
    as its JVM has.
    """
    granted = settings.get("spark.executor.pyspark.memory") or settings.get("spark.executor.memory") or "1g"
    total = of_process() if local else in_bytes(granted)
    return max(_LEAST, total // max(1, at_once))


def share(settings: Mapping[str, str], local: bool, cores: int, groups: int) -> tuple[int, int]:
    """The threads and the bytes that DuckDB may use in each of so many tasks.

    Tasks of a cluster have the cores that Spark gives them. A local engine with fewer groups than cores
    shares all of them out.
    """
    cpus = int(settings.get("spark.task.cpus", "1"))
    if local:
        at_once = min(groups, cores)
        return max(cpus, cores // at_once), of_task(settings, True, at_once)
    at_once = int(settings.get("spark.executor.cores", "1")) // cpus
    return cpus, of_task(settings, False, at_once)


def in_bytes(text: str) -> int:
    """A size as Spark writes it: `4g`, `512m`; a bare number is in mebibytes."""
    text = text.strip().lower().removesuffix("b")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    return int(text.removesuffix(unit)) << _UNITS[unit or "m"]


def spill_folder() -> Path:
    """Where this process may put what does not fit into memory."""
    return Path(tempfile.gettempdir(), f"rheos-duckdb-{os.getpid()}")


def used_by(process: int) -> int:
    """The bytes that a process has for itself; files that it has mapped do not count. 0 where nobody says."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
