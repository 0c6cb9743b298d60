"""Pieces of one text as an Arrow column, by their positions, without a Python object for each piece."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]
Text = npt.NDArray[np.uint8]


def pieces(
    text: Text,
    data: pa.Buffer,
    start: Positions,
    length: Positions,
    absent: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """Pieces of one buffer as a column: Arrow's string views, which are made here, and then copied by Arrow.

    A view has 16 bytes: first the length. Then comes the text itself, if it has at most 12 bytes; otherwise
    its first 4 bytes, the number of the buffer, and the position in the buffer.
    """
    count = len(start)
    views = np.zeros((count, 4), np.int32)
    views[:, 0] = length
    # The four bytes at each position as one number. A piece that begins in the last three bytes is short, and
    # is written below.
    fours = np.ndarray((len(text) - 3,), np.dtype("<i4"), text, 0, (1,))
    views[:, 1] = fours[np.minimum(start, len(text) - 4)]
    views[:, 3] = start
    short = np.flatnonzero((length <= 12) & (length > 0))
    if len(short):
        letters = text[np.minimum(start[short][:, None] + np.arange(12), len(text) - 1)]
        letters[np.arange(12) >= length[short][:, None]] = 0
        views.view(np.uint8).reshape(count, 16)[short, 4:] = letters
    validity = None
    if absent is not None and absent.any():
        views[absent] = 0
        validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    column = pa.Array.from_buffers(pa.string_view(), count, [validity, pa.py_buffer(views), data])
    return column.cast(pa.string())
