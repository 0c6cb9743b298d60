"""The `--output` options of `rheos run`: texts come in, a file for all answers and sinks go out."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rheos.cli.options import Full, RunFormat
from rheos.cli.output import check_target
from rheos.errors import LoadError
from rheos.sinks.base import LIMIT, SinkSpec
from rheos.sinks.opening import scheme_of

if TYPE_CHECKING:
    from rheos.runtime.driver.handle import Handle

# The sinks whose form `--format` chooses.
_FORMATTED = ("file", "kafka", "mqtt", "mqtts")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a run. `file` has the answers of all queries, in one order. `files` are further files,
    and `others` are all other sinks."""

    file: Path | None = None
    files: tuple[SinkSpec, ...] = ()
    others: tuple[SinkSpec, ...] = ()

    def check(self) -> None:
        """Refuse files that cannot be written. This is checked before any work is done."""
        check_target(self.file)
        for spec in self.files:
            check_target(Path(spec.to))
        for spec in self.others:
            if scheme_of(spec.to) == "file" and Path(spec.to).is_file():
                raise LoadError("cannot write: it is a file, not a directory", spec.to)

    def sinks(self, format: RunFormat | None, handles: Sequence[Handle]) -> list[SinkSpec]:
        """The sinks of each query, with the format of `--format` where they take one."""
        if self.files and len(handles) > 1:
            raise typer.BadParameter(
                f"{self.file} has the answers of all queries, so {self.files[0].to} cannot have them too; a "
                "folder, with a slash at its end, has a file for each query",
                param_hint="--output",
            )
        found = [*self.files, *self.others]
        if found and not handles:
            raise typer.BadParameter(
                f"{found[0].to} takes the answers of streams, and no query reads one", param_hint="--output"
            )
        return [formatted(spec, format) if scheme_of(spec.to) in _FORMATTED else spec for spec in found]


def formatted(spec: SinkSpec, format: RunFormat | None) -> SinkSpec:
    return spec if format is None else replace(spec, options={"format": format.value, **spec.options})


def outputs(texts: Sequence[str], limit: int | None, full: Full, options: Path | None) -> Outputs:
    """The outputs that the options name. The first file takes all answers; a folder has a file for each
    query."""
    known = read_options(options)
    unused = known.keys() - set(texts)
    if unused:
        raise typer.BadParameter(f"there is no --output {min(unused)}", param_hint="--sink-options")
    for at, text in enumerate(texts):
        if text in texts[:at]:
            raise typer.BadParameter(f"{text} is given twice", param_hint="--output")
    file, files, others = None, list[SinkSpec](), list[SinkSpec]()
    for text in texts:
        spec = SinkSpec(text, LIMIT if limit is None else limit, full.value, known.get(text, {}))
        if scheme_of(text) != "file":
            others.append(spec)
        elif text.endswith("/") or Path(text).is_dir():
            others.append(replace(spec, to=f"{text.rstrip('/')}/"))
        elif file is None:
            file = Path(text.removeprefix("file://"))
        else:
            files.append(spec)
    return Outputs(file, tuple(files), tuple(others))


def read_options(path: Path | None) -> Mapping[str, Mapping[str, str]]:
    """The tables of options in a file, by the addresses of their sinks."""
    if path is None:
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LoadError(f"cannot be read: {reason}", str(path)) from None
    for sink, table in found.items():
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise LoadError(f'["{sink}"] is a table of texts', str(path))
    return found
