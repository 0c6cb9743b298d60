"""Nesting: tells whether a text of JSON is nested too deeply for parsers.

pyoxigraph parses JSON-LD by recursion. After some thousand levels the stack overflows, which ends the whole
process. No JSON that somebody means has a hundred levels.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DEEPEST = 100
TOO_DEEP = f"JSON that is nested deeper than {DEEPEST} levels is not read"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def is_too_deep(text: bytes) -> bool:
    """True if a text of JSON is nested too deeply. The answer may also be True for a text that is no JSON."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    marks = np.frombuffer(_STRING.sub(b"", text), np.uint8)
    opened = (marks == ord("[")) | (marks == ord("{"))
    closed = (marks == ord("]")) | (marks == ord("}"))
    return bool(np.max(np.cumsum(opened.astype(np.int64) - closed), initial=0) > DEEPEST)


def too_deep(texts: pa.Array) -> list[int]:
    """The rows of a column whose texts are nested too deeply."""
    marks = pc.add(pc.count_substring(texts, "["), pc.count_substring(texts, "{"))
    suspect = np.flatnonzero(pc.greater(marks, DEEPEST).to_numpy(zero_copy_only=False))
    return [int(row) for row in suspect if is_too_deep(texts[int(row)].as_py().encode())]
