"""`rheos bench mapping`: both ways make the same, and a short run tells all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos.mapping import Mapping
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource
from rheos_bench import mapping
from tests.cli.command import called
from tests.runtime.test_sources import everything


@pytest.mark.parametrize("at", [0, 1], ids=["json", "csv"])
def test_plain_python_makes_the_same_elements(tmp_path: Path, at: int) -> None:
    path = mapping.write_files(tmp_path, 20)[at]
    source = FileSource.of(path, decoding=Decoding(Mapping(mapping.CONSTRUCT), "field:ts"))
    made = [row for chunk in everything(source) for row in chunk.elements.to_pylist()]
    lines = mapping.lines_of({"path": str(path), "start": 0, "end": path.stat().st_size})
    assert len(made) == len(lines) == 20 * mapping.ELEMENTS
    for row, line in zip(made, lines, strict=True):
        assert line.startswith(f"{row['s']} {row['p']} {row['o']} ")


@pytest.mark.slow
def test_a_short_run() -> None:
    done = called("bench", "mapping", "--quick", "--triples", "1000", "--only", "construct")
    assert done.status == 0, done
    assert "JSON, a CONSTRUCT query" in done.out
    assert "plain Python" in done.out
