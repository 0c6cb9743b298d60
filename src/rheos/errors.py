"""The errors that a user can meet. Each has a message to act on and, for a text, the position in it."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_LINE = 100


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a text. Line and column are counted from 1."""

    line: int
    column: int


class RheosError(Exception):
    """The base class of every error that rheos raises on purpose."""


class PlacedError(RheosError):
    """An error at a position in a text. `str()` shows the line with a caret under the position."""

    def __init__(self, message: str, text: str, position: Position) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.line = position.line
        self.column = position.column

    def __str__(self) -> str:
        lines = self.text.split("\n")
        where = f"line {self.line}, column {self.column}: {self.message}"
        line = lines[self.line - 1] if 1 <= self.line <= len(lines) else ""
        if not line.strip():
            return where  # a caret under nothing shows nothing
        source, at = around(line.rstrip("\r").replace("\t", " "), self.column - 1)
        return f"{where}\n  {source}\n  {' ' * at}^"


def around(line: str, column: int) -> tuple[str, int]:
    """At most `LONGEST_LINE` characters of a line around a column, and the column within these."""
    if len(line) <= LONGEST_LINE:
        return line, column
    start = max(0, min(column - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    piece = line[start : start + LONGEST_LINE]
    if start:
        piece = "…" + piece[1:]
    if start + LONGEST_LINE < len(line):
        piece = piece[:-1] + "…"
    return piece, column - start


class QuerySyntaxError(PlacedError):
    """The text of a query or an update is not correct in its language."""


class UnsupportedError(QuerySyntaxError):
    """The query is correct, but asks for something that rheos does not support (SERVICE, for example)."""


class LoadError(RheosError):
    """A file or text cannot be read: which one, where, and why."""

    def __init__(self, reason: str, source: str, line: int | None = None) -> None:
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {reason}")
        self.reason = reason
        self.source = source
        self.line = line


class UpdateError(PlacedError):
    """An operation of an update cannot be done (the graph to drop does not exist, for example), so no
    operation of the update is done."""


class EvaluationError(RheosError):
    """A query was compiled, but its evaluation failed."""


class ResourceError(EvaluationError):
    """A query needed more time or memory than it may use, and was stopped."""


class TimeLimitError(ResourceError):
    """A query took longer than its time limit, and was stopped."""


class CheckpointError(RheosError):
    """A run cannot go on from a checkpoint: something that belongs to it is missing or has changed."""


class SinkError(RheosError):
    """Sinks have not taken all answers: which ones, how many, and why."""


class EnvironmentFault(RheosError):
    """The machine lacks something that is needed (Java, for example); the message says how to get it."""


class MissingExtra(EnvironmentFault):
    """Packages of an extra are not installed. rheos itself may come from a checkout or from a wheel."""

    def __init__(self, lacking: str, extra: str) -> None:
        super().__init__(f"{lacking}: pip install '.[{extra}]' in a checkout, or 'WHEEL[{extra}]' elsewhere")
