"""The output of `rheos run`: options come in; the format, and an open file or terminal, go out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from rheos.cli.live import Write
from rheos.cli.options import RunFormat
from rheos.filesystems import uri_of
from rheos.runtime.state.journal import OutputFile
from rheos.runtime.state.store import Store

BY_ENDING = {
    ".ndjson": RunFormat.ndjson,
    ".jsonl": RunFormat.ndjson,
    ".csv": RunFormat.csv,
    ".nq": RunFormat.nquads,
    ".trig": RunFormat.trig,
    ".txt": RunFormat.table,
}


class Terminal:
    """Standard output, to which the engine writes pieces that may end within a line.

    While the figures of `cli.live` are shown on the same terminal, `above` writes whole lines above them.
    """

    def __init__(self, file: BinaryIO, above: Write | None = None) -> None:
        self.file = file
        self.above = above
        self._begun = b""

    def write(self, content: bytes) -> int:
        if self.above is None:
            left = memoryview(content)
            while left:  # a write to a file without a buffer may write only a part
                left = left[self.file.write(left) :]
        else:
            lines, feed, self._begun = (self._begun + content).rpartition(b"\n")
            if feed:
                self.above(lines)
        return len(content)

    def flush(self) -> None:
        self.file.flush()


def chosen_format(asked: RunFormat | None, output: Path | None) -> RunFormat:
    """The format of `--format`, else that of the file's ending, else that which suits the output."""
    by_ending = BY_ENDING.get(output.suffix.lower()) if output else None
    on_terminal = output is None and sys.stdout.isatty()
    return asked or by_ending or (RunFormat.table if on_terminal else RunFormat.ndjson)


def terminal_width(output: Path | None) -> int | None:
    """The width of the terminal to which results go; None if they go elsewhere."""
    if output is not None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns  # 80 where a terminal does not know


@contextmanager
def opened(output: Path | None, checkpoint: str | None) -> Iterator[Terminal | OutputFile]:
    """Open the output for results. A file is begun anew, unless an interrupted run goes on with it."""
    if output is None:
        sys.stdout.flush()
        yield Terminal(sys.stdout.buffer)
        return
    # A run that has written something has records of its batches in the checkpoint.
    goes_on = checkpoint is not None and bool(Store(uri_of(checkpoint)).names("batches"))
    with closing(OutputFile(output, go_on=goes_on)) as file:
        yield file
