"""The notebooks run from their first cell to their last, and are stored without what came out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.cli.command import ROOT
from tests.conftest import java_is_missing

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def executed(path: Path) -> list[Any]:
    """What the cells of a notebook give, in order. It runs in its own folder, as in a browser."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    return outputs(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook) == []
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert "/home/" not in path.read_text()
    assert "/tmp/" not in path.read_text()


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_dataframes() -> None:
    found = executed(FOLDER / "dataframes.ipynb")
    drawn = [
        output.data["text/html"] for output in found if "<svg" in output.get("data", {}).get("text/html", "")
    ]
    assert drawn[-1].count("<polyline") == 3
    [table] = [output.data["text/plain"] for output in found if "highest" in str(output.get("data"))]
    assert all(room in table for room in ("room0", "room1", "room2"))


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_papers() -> None:
    found = executed(FOLDER / "papers.ipynb")
    tables = [output.data["text/plain"] for output in found if "text/html" in output.get("data", {})]
    assert len(tables) == 6
    for name, query in (("passages", tables[0]), ("locName", tables[2]), ("company", tables[4])):
        assert name in query
    expected = (ROOT / "examples/csparql/cars-entering-per-district.expected.ndjson").read_text().splitlines()
    assert len(tables[0].splitlines()) == 1 + len(expected)
    for table in (tables[1], tables[3], tables[5]):
        rows = [line.split() for line in table.splitlines()[1:]]
        assert len(rows) == 3
        assert all(float(row[-1]) > 0 for row in rows), json.dumps(rows)
