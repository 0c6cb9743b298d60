"""Sessions: the text of a query and an engine with loaded files, which several commands need."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from rheos.cli.options import Entailment, Execution
from rheos.cli.progress import progress
from rheos.cli.startup import keep_pandas_out
from rheos.errors import LoadError

if TYPE_CHECKING:
    from rheos import Engine


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a query, and its name in messages."""

    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """The options that `query` and `explain` share."""

    data: list[str]
    graphs: list[tuple[str, str]]
    base: str | None
    entailment: Entailment
    execution: Execution

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """An engine with the data of this session."""
        if self.execution is not Execution.catalyst:
            keep_pandas_out()
        from rheos import Engine

        entailment = self.entailment.value
        with Engine(execution=self.execution.value, entailment=entailment, quick=True) as engine:
            load(engine, self.data, self.graphs)
            yield engine


def load(engine: Engine, data: Sequence[str], graphs: Sequence[tuple[str, str]]) -> None:
    """Load the files of the default graph and of the named graphs."""
    for path in data:
        with progress(f"loading {path}"):
            engine.load(path)
    for iri, path in graphs:
        with progress(f"loading {path}"):
            engine.load(path, graph=iri)


def read_query(path: str | None, text: str | None) -> Source:
    """The query from exactly one of a file, standard input and the command line."""
    if (path is None) == (text is None):
        wrong = (
            "a query is needed: a file, - for standard input, or --text"
            if path is None
            else ("give the query either as a file or with --text, not both")
        )
        raise typer.BadParameter(wrong, param_hint="QUERY")
    if text is not None:
        return Source(None, text)
    assert path is not None
    name = "standard input" if path == "-" else path
    if path == "-":
        content = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            content = file.read()
    try:
        return Source(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LoadError("not a query: the text is not UTF-8", name, line) from None
