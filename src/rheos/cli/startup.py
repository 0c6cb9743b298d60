"""Startup: makes the start of a command short, beyond importing late."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# True if this process exists for one command: `main` sets it. Under a test runner it stays False.
own_process = False


class _NoPandas(MetaPathFinder):
    """A finder that makes every import of pandas fail while it is in `sys.meta_path`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ImportError(fullname)
        return None


def keep_pandas_out() -> None:
    """Make pyarrow work without pandas for the rest of this process, if the process is our own.

    The first `pyarrow.array()` imports pandas, only to check whether its argument is a Series. This takes
    about a third of the time of a small query. After this call, pyarrow believes that pandas is not
    installed. A library must not do that, and neither may a command that uses Spark.
    """
    if not own_process or "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow

        pyarrow.array([0])
    finally:
        sys.meta_path.remove(finder)
