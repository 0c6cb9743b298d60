"""What the tests of sources share: short pauses between the attempts of a receiver."""

from __future__ import annotations

import pytest

from rheos.sources.receivers import base


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(base, "LONGEST_PAUSE", 0.5)
