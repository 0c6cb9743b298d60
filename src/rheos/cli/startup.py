"""What makes a start from cold short, beyond importing late."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# Whether this process exists for one command; `main` says so. Under a test runner it does not.
own_process = False


class _NoPandas(MetaPathFinder):
    """While it is in `sys.meta_path`, there is no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ImportError(fullname)
        return None


def keep_pandas_out() -> None:
    """Let pyarrow answer without pandas, for the whole of this process if it is our own.

    The first `pyarrow.array()` imports pandas, only to ask whether it was given a Series: about a third of
    the time of a small query. After this, pyarrow takes it that there is none. That is not for a library,
    and not where Spark is asked for.
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
