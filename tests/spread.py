"""Many random cases, of which `make test` runs some and `make test-all` the rest."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def spread(number: int, quick: int = 2) -> Iterable[int | ParameterSet]:
    """The numbers from 0 on, all but the first `quick` ones marked as slow."""
    return [
        at if at < quick else pytest.param(at, marks=pytest.mark.slow, id=str(at)) for at in range(number)
    ]
