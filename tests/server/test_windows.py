"""Windows in addresses, and the queries and terms that stand for them."""

from __future__ import annotations

import pytest

import rheos
from rheos import durations
from rheos.algebra.streams import LogicalWindow, PhysicalWindow
from rheos.server import windows

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("path", "window", "canonical"),
    [
        ("physical/1000", PhysicalWindow(1000, 1), "physical/1000"),
        ("logical/PT1H/PT10M", LogicalWindow(60 * MINUTE, 10 * MINUTE), "logical/PT1H/PT10M"),
        ("logical/PT60M/PT600S", LogicalWindow(60 * MINUTE, 10 * MINUTE), "logical/PT1H/PT10M"),
        ("logical/PT1H/tumbling", LogicalWindow(60 * MINUTE, 60 * MINUTE), "logical/PT1H/tumbling"),
        ("logical/PT1H/PT60M", LogicalWindow(60 * MINUTE, 60 * MINUTE), "logical/PT1H/tumbling"),
        ("logical/P1D/PT0.25S", LogicalWindow(1440 * MINUTE, 250_000), "logical/P1D/PT0.25S"),
    ],
)
def test_windows_of_paths(path: str, window: object, canonical: str) -> None:
    read = windows.read(path)
    assert read == window
    assert windows.path_of(read) == canonical
    text = windows.view_text("s/x", "http://ex/s", read)
    assert rheos.parse(text).streams[0].named
    assert windows.kind_of(read).value.startswith(windows.SLD)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "physical",
            "physical/0",
            "physical/x",
            "physical/" + "9" * 30,
            "logical/PT1H",
            "logical/1h/1m",
        ),
        *("logical/P1M/tumbling", "logical/PT1M/PT1H", "logical/PT0S/tumbling", "logical/PT0.0001S/tumbling"),
        *("logical/PT1H/PT0S", "logical/PT1H/sliding", "other/1"),
    ],
)
def test_what_is_no_window(path: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        windows.read(path)


@pytest.mark.parametrize("text", ["PT1H", "P1DT12H", "PT0.25S", "PT1H30M", "PT0S", "P1D", "PT1M0.000001S"])
def test_durations_come_back(text: str) -> None:
    assert durations.to_xsd(durations.from_xsd(text)) == text
