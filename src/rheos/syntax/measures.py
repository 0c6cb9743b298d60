"""Durations and counts: tokens come in; numbers with their positions go out, or a `Fault` is raised there."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from rheos.errors import Position
from rheos.syntax.terms import Fault, position

Measure = tuple[Position, int]

_NANOSECONDS = {
    "ns": 1,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3_600 * 10**9,
    "d": 86_400 * 10**9,
}
_LONGEST = 3_652_500 * _NANOSECONDS["d"]  # ten thousand years: in microseconds, this fits well into 64 bits
_MOST_TRIPLES = 10**15


def nanoseconds(parts: Sequence[Token]) -> Measure:
    """The sum of numbers and units that alternate, as in `1h30m`."""
    where = position(parts[0])
    pairs = zip(parts[::2], parts[1::2], strict=True)
    total = sum(_whole(number, _LONGEST) * _NANOSECONDS[unit] for number, unit in pairs)
    if total > _LONGEST:
        raise Fault("this is longer than ten thousand years", where)
    return where, total


def microseconds(parts: Sequence[Token]) -> Measure:
    """The same sum in microseconds, rounded down."""
    where, total = nanoseconds(parts)
    return where, total // 1_000


def triples(number: Token) -> Measure:
    count = _whole(number, _MOST_TRIPLES)
    if count > _MOST_TRIPLES:
        raise Fault("these are more triples than a window can hold", position(number))
    return position(number), count


def positive(measure: Measure, what: str, hint: str = "") -> int:
    """The number of a measure; Fault if it is 0."""
    where, size = measure
    if size == 0:
        raise Fault(f"{what} must be more than 0{hint}", where)
    return size


def _whole(number: Token, most: int) -> int:
    """The number, or `most + 1` if it has too many digits: Python refuses to read thousands of digits."""
    digits = number.lstrip("0") or "0"
    return int(digits) if len(digits) <= len(str(most)) else most + 1
