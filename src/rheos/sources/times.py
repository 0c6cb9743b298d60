"""Times of stream elements: columns of xsd:dateTime literals come in, microseconds since 1970 (UTC) go out.

Most literals of a stream have one plain form and are read as a column; all others are read one by one. A time
without a zone is taken as UTC, and counted, so that the user can be warned. Digits beyond the microsecond are
dropped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.terms import XSD

Microseconds = npt.NDArray[np.int64]

# Earlier and later than any time that a stream can have.
NEVER, FOREVER = -(2**62), 2**62

_SUFFIX = f'"^^<{XSD}dateTime>'
_PLAIN = (
    r'^"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z"'
    rf"\^\^<{re.escape(XSD)}dateTime>$"
)
_ANY = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
    r"(?:\.(?P<fraction>[0-9]+))?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
)
_ZERO, _NINE = b"09"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = ((day.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND for day in (datetime.min, datetime.max))
_DATATYPES = (f"^^<{XSD}dateTime>", f"^^<{XSD}dateTimeStamp>")


class Times(NamedTuple):
    """The time of each literal, the fault of each row without a time, and how many times had no zone."""

    microseconds: Microseconds
    faults: dict[int, str]
    without_zone: int


def read(literals: pa.Array) -> Times:
    """The times of a column of terms."""
    if _are_plain(literals):
        try:
            found = _column(literals)
        except pa.ArrowInvalid:  # for example the 31st of February
            return _one_by_one(literals.to_pylist())
        if not len(found) or found.min() >= _FIRST:  # Arrow also accepts the year 0, which is none here
            return Times(found, {}, 0)
    return _one_by_one(literals.to_pylist())


def read_some(literals: pa.Array, otherwise: int) -> Times:
    """The times of a column in which NULL stands for the time `otherwise`."""
    if not literals.null_count:
        return read(literals)
    given = np.flatnonzero(literals.is_valid().to_numpy(zero_copy_only=False))
    found = read(literals.take(pa.array(given)))
    microseconds = np.full(len(literals), otherwise, np.int64)
    microseconds[given] = found.microseconds
    faults = {int(given[number]): reason for number, reason in found.faults.items()}
    return Times(microseconds, faults, found.without_zone)


def read_one(term: str) -> tuple[int, bool]:
    """A time and whether it had a zone; ValueError says what is wrong."""
    end = term.rfind('"')
    if not term.startswith('"') or term[end + 1 :] not in _DATATYPES:
        raise ValueError(f"the time is not an xsd:dateTime: {term}")
    match = _ANY.fullmatch(term[1:end])
    if match is None:
        raise ValueError(f"not a dateTime of the years 0001 to 9999: {term[1:end]}")
    try:
        return _microseconds(match), match["zone"] is not None
    except (ValueError, OverflowError):
        raise ValueError(f"there is no such time: {term[1:end]}") from None


def _are_plain(literals: pa.Array) -> bool:
    """True if all literals have the form _PLAIN.

    Most often all literals have one length. Then it is enough that the first one has the form, and that the
    others have digits where the first has digits, and the same characters elsewhere. This check is ten times
    as quick as the regular expression.
    """
    if not len(literals):
        return True
    if literals.null_count:
        return False
    _, offsets, data = literals.buffers()
    bounds = np.frombuffer(offsets, np.int32)[literals.offset : literals.offset + len(literals) + 1]
    length = int(bounds[1] - bounds[0])
    if not np.all(np.diff(bounds) == length):
        return bool(pc.all(pc.match_substring_regex(literals, _PLAIN)).as_py())
    if not pc.match_substring_regex(literals.slice(0, 1), _PLAIN)[0].as_py():
        return False
    letters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].reshape(-1, length)
    is_digit = (letters[0] >= _ZERO) & (letters[0] <= _NINE)
    # The IRI of the datatype has digits too, which must be the same everywhere.
    is_digit[length - len(_SUFFIX) :] = False
    digits, marks = np.flatnonzero(is_digit), np.flatnonzero(~is_digit)
    figures = letters[:, digits]
    return bool(
        np.all(letters[:, marks] == letters[0, marks]) and np.all((figures >= _ZERO) & (figures <= _NINE))
    )


def _column(literals: pa.Array) -> Microseconds:
    lexical = pc.utf8_slice_codeunits(literals, 1, -len(_SUFFIX) - 1)
    times = pc.cast(lexical, pa.timestamp("us"))
    found: Microseconds = times.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _one_by_one(terms: list[str | None]) -> Times:
    found = np.zeros(len(terms), np.int64)
    faults: dict[int, str] = {}
    without_zone = 0
    for number, term in enumerate(terms):
        try:
            found[number], zoned = read_one(term or "")
        except ValueError as error:
            faults[number] = str(error)
        else:
            without_zone += not zoned
    return Times(found, faults, without_zone)


def _microseconds(match: re.Match[str]) -> int:
    hour, minute, second = (int(match[name]) for name in ("hour", "minute", "second"))
    midnight = (hour, minute, second) == (24, 0, 0) and not (match["fraction"] or "").strip("0")
    clock = "00:00:00" if midnight else f"{match['hour']}:{match['minute']}:{match['second']}"
    time = datetime.fromisoformat(f"{match['date']}T{clock}+00:00") + timedelta(days=midnight)
    found = (time - _EPOCH) // _MICROSECOND + _fraction(match["fraction"]) - _zone(match["zone"])
    if not _FIRST <= found <= _LAST:  # in UTC the time is in the year 0 or 10000
        raise ValueError(match[0])
    return found


def _fraction(digits: str | None) -> int:
    return int((digits or "0").ljust(6, "0")[:6])


def _zone(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours * 60 + minutes > 14 * 60 or minutes > 59:
        raise ValueError(zone)
    return (hours * 60 + minutes) * 60_000_000 * (-1 if zone[0] == "-" else 1)
