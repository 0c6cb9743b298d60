"""Checkpoints of other versions: those of earlier ones are read, those of later ones are refused with what to
do. `formats/` has a record of each form that there was; none of them is ever changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rheos.errors import CheckpointError, RheosError
from rheos.runtime.driver.checkpoint import differences, go_on
from rheos.runtime.driver.registry import Registry
from rheos.runtime.state.journal import FORMAT, Journal, segments_of
from rheos.runtime.state.progress import Progress
from rheos.runtime.state.segments import Segments
from rheos.runtime.state.store import Store
from rheos.server.state import State

FORMATS = Path(__file__).parent / "formats"
QUERY = "CarsEnteringCityCenterPerDistrict"


def journal(folder: Path) -> Journal:
    return Journal(Store(folder.as_uri()), folder)


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_record_of_each_form_is_read(number: int, tmp_path: Path) -> None:
    (tmp_path / "batches").mkdir()
    shutil.copy(FORMATS / f"{number}.json", tmp_path / "batches" / "0.json")
    found = journal(tmp_path).last()
    assert found is not None
    done, record = found
    assert done == 0
    [progress] = [Progress.of_json(values) for values in record["progress"].values()]
    [segments] = [Segments.of_json(values) for values in record["segments"].values()]
    assert (progress.read, progress.ended, segments.rows, segments.dropped) == (6, True, 1, 5)
    assert len(segments_of(record)) == 1
    assert f"the query {QUERY} is missing" in differences(record, Registry())
    go_on(record, Registry(), str(tmp_path), print, hosted=True)


def test_a_record_says_its_form(tmp_path: Path) -> None:
    own = journal(tmp_path)
    own.commit(0, {"segments": {}, "a": 1}, {})
    own.amend({"b": 2})
    assert own.last() == (0, {"segments": {}, "a": 1, "b": 2})
    assert json.loads((tmp_path / "batches" / "0.json").read_bytes())["format"] == FORMAT


def test_a_record_of_a_later_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "3.json").write_text(json.dumps({"format": FORMAT + 1, "other": []}))
    with pytest.raises(CheckpointError, match=r"newer version of rheos .*: go on with that version, or"):
        journal(tmp_path).last()


def test_a_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(json.dumps({"version": 99}))
    state = State(tmp_path)
    with pytest.raises(RheosError, match=r"another version of rheos \(its form is 99, .*: go on with that"):
        state.read()
    state.close()
