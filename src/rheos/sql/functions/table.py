"""What a function of SPARQL is to the compiler: it gets the scope and a value for each argument."""

from __future__ import annotations

from collections.abc import Callable

from rheos.sql.values import Value

Function = Callable[..., Value]
