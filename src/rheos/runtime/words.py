"""Phrases that the explanations of all languages use."""

from __future__ import annotations

_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000))


def incremental(reason: str | None) -> str:
    """Says whether a batch only looks for new solutions, or why it does not."""
    if reason is not None:
        return f"no, each batch looks at all that is live: {reason}"
    return "yes, a batch looks for what is new where much more is live; what was found before is kept"


def in_no_window(move: str, amount: str) -> str:
    why = f"the {move} is longer than the range"
    return f"\n  {why}: {amount} between two windows are in neither, and skipped"


def multiples(period: int) -> str:
    return f"the multiples of {duration(period)} since 1970-01-01T00:00:00Z"


def duration(microseconds: int) -> str:
    """A length of time in the largest unit that it is a multiple of."""
    unit, size = next((u for u in _UNITS if microseconds % u[1] == 0), ("µs", 1))
    return f"{microseconds // size:,} {unit}"
