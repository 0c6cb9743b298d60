"""The type of the compiler's functions: from the scope and a value for each argument to a value."""

from __future__ import annotations

from collections.abc import Callable

from rheos.sql.values import Value

Function = Callable[..., Value]
