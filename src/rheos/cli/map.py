"""`rheos map`: a mapping and records come in, their elements go out as lines of a stream file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rheos.cli.failures import FAULT
from rheos.cli.output import check_target
from rheos.iris import DEFAULT_BASE

if TYPE_CHECKING:
    from rheos.sources.chunks import Chunk
    from rheos.sources.decoding import Decoding

_SHOWN = 200  # characters of a bad record


def show(mapping: str, data: str, time: str | None, base: str | None, output: Path | None) -> None:
    """Write the elements, and print the faults of bad records; status 1 if there are any."""
    from rheos.sources.decoding import Decoding
    from rheos.sources.push import lines

    check_target(output)
    decoding = Decoding(mapping, time, base or DEFAULT_BASE)
    bad, before, place = 0, 0, ""
    out = sys.stdout.buffer if output is None else output.open("wb")
    try:
        for chunk in chunks(decoding, data):
            before = 0 if chunk.first or chunk.place != place else before
            place = chunk.place
            out.write(lines(chunk.elements, 0))
            out.flush()
            for item in chunk.bad:
                bad += 1
                where = f"{place}, line {before + item.line}" if item.line else place
                text = " ".join(item.text.split())
                print(f"{where}: {item.reason}\n  {text[:_SHOWN]}", file=sys.stderr)
            before += chunk.lines
    finally:
        if output is not None:
            out.close()
    if bad:
        raise typer.Exit(FAULT)


def chunks(decoding: Decoding, data: str) -> Iterator[Chunk]:
    """The chunks of a file, of all files of a glob, or of standard input."""
    from rheos.sources.files import FileSource
    from rheos.sources.record_files import record_files, table_format

    if data == "-":
        reader = record_files(decoding, "standard input")
        assert reader is not None
        text = sys.stdin.buffer.read()
        head = text[: text.find(b"\n") + 1] or text
        yield from reader.lines(text, table_format(head), head, "", "standard input", at=0)
        return
    source = FileSource.of(data, decoding=decoding)
    for part in source.parts(source.begin(), source.latest(source.begin(), 1 << 62)):
        yield from source.read(part)
