"""How deep JSON is nested: a text comes in, and whether it is deeper than parsers can bear.

pyoxigraph goes down JSON-LD by recursion and takes the process with it where the stack ends, at some
thousand levels. Nothing that somebody means has a hundred.
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
    """Whether a text of JSON is nested too deeply. One that is no JSON may be, too."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    marks = np.frombuffer(_STRING.sub(b"", text), np.uint8)
    opened = (marks == ord("[")) | (marks == ord("{"))
    closed = (marks == ord("]")) | (marks == ord("}"))
    return bool(np.max(np.cumsum(opened.astype(np.int64) - closed), initial=0) > DEEPEST)


def too_deep(texts: pa.Array) -> list[int]:
    """The places of those texts of a column that are nested too deeply."""
    marks = pc.add(pc.count_substring(texts, "["), pc.count_substring(texts, "{"))
    suspect = np.flatnonzero(pc.greater(marks, DEEPEST).to_numpy(zero_copy_only=False))
    return [int(row) for row in suspect if is_too_deep(texts[int(row)].as_py().encode())]
