"""rheos answers continuous SPARQL queries over streams of RDF, on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rheos.errors import (
    CheckpointError,
    EnvironmentFault,
    EvaluationError,
    LoadError,
    QuerySyntaxError,
    RheosError,
    TimeLimitError,
    UnsupportedError,
    UpdateError,
)

if TYPE_CHECKING:
    from rheos.answers.result import Result
    from rheos.engine import Engine, parse

__version__ = "0.2.0"

__all__ = [
    "CheckpointError",
    "Engine",
    "EnvironmentFault",
    "EvaluationError",
    "LoadError",
    "QuerySyntaxError",
    "Result",
    "RheosError",
    "TimeLimitError",
    "UnsupportedError",
    "UpdateError",
    "parse",
]

# These are imported when they are first used. The engine imports DuckDB and Arrow, for which `rheos --help`
# should not have to wait.
_LATER = {"Engine": "rheos.engine", "parse": "rheos.engine", "Result": "rheos.answers.result"}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'rheos' has no attribute {name!r}")
