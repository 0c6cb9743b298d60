"""Matching: which elements of a table match triple patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import TriplePattern
from rheos.runtime.operator import Marks, Times


def matches(elements: pa.Table, patterns: Sequence[TriplePattern]) -> Times:
    """The row numbers of the elements that match one of the patterns, by constants and repeated variables."""
    found: Marks = np.zeros(len(elements), bool)
    for pattern in patterns:
        found |= _matching(elements, pattern)
    return np.flatnonzero(found)


def _matching(elements: pa.Table, pattern: TriplePattern) -> Marks:
    found: Marks = np.ones(len(elements), bool)
    columns = dict(zip("spo", pattern.terms, strict=True))
    for name, term in columns.items():
        if isinstance(term, Constant):
            found &= pc.equal(elements.column(name), term.term).to_numpy()
        else:
            for other, same in columns.items():
                if other > name and same == term:
                    found &= pc.equal(elements.column(name), elements.column(other)).to_numpy()
    return found
