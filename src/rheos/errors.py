"""The errors a user can meet: each has a message to act on and, for a text, the place in it."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text: line and column count from 1."""

    line: int
    column: int


class RheosError(Exception):
    """The base of every error that rheos raises on purpose."""


class PlacedError(RheosError):
    """An error with a place in a text; `str()` shows the line with a caret under the place."""

    def __init__(self, message: str, text: str, position: Position) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.line = position.line
        self.column = position.column

    def __str__(self) -> str:
        lines = self.text.split("\n")
        where = f"line {self.line}, column {self.column}: {self.message}"
        if not 1 <= self.line <= len(lines):
            return where
        source, at = _around(lines[self.line - 1].replace("\t", " "), self.column - 1)
        return f"{where}\n  {source}\n  {' ' * at}^"


def _around(line: str, at: int) -> tuple[str, int]:
    """What to show of a line, and where the place is in that: of one that is long, what is near."""
    if len(line) <= _LONGEST_LINE:
        return line, at
    start = max(0, at - _LONGEST_LINE // 2)
    end = start + _LONGEST_LINE
    before, after = ("…" if start else ""), ("…" if end < len(line) else "")
    return f"{before}{line[start:end]}{after}", at - start + len(before)


class QuerySyntaxError(PlacedError):
    """The text of a query or an update is not in its language."""


class UnsupportedError(QuerySyntaxError):
    """The query is right, but asks for something that rheos refuses (SERVICE, for one)."""


class LoadError(RheosError):
    """A file or text of RDF cannot be read: which one, where, and why."""

    def __init__(self, reason: str, source: str, line: int | None = None) -> None:
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {reason}")
        self.reason = reason
        self.source = source
        self.line = line


class UpdateError(PlacedError):
    """An operation of an update cannot be done (the graph to drop is not there, say), and so none is."""


class EvaluationError(RheosError):
    """A query that compiled could not be run to its end."""


class ResourceError(EvaluationError):
    """A query needed more time or memory than it may have, and was stopped."""


class TimeLimitError(ResourceError):
    """A query took longer than it was allowed to, and was stopped."""


class CheckpointError(RheosError):
    """A run cannot go on from a checkpoint: what was there when it was made is missing, or has changed."""


class SinkError(RheosError):
    """Sinks have not taken all answers: which ones, how many, and why."""


class EnvironmentFault(RheosError):
    """The machine lacks something that is needed (Java, for one); the message says how to get it."""
