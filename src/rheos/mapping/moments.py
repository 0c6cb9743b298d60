"""Times of mapped records: a column of terms comes in, microseconds since 1970 go out.

A time is an xsd:dateTime; or its text, also with a space for the T; or a number that counts from 1970:
seconds or, if the number is too large for that, milliseconds, microseconds or nanoseconds.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.sources import times
from rheos.sources.times import Microseconds, Times
from rheos.terms import XSD

_DATE_TIME = f"^^<{XSD}dateTime>"
_NUMBER = (
    rf'^"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"(?:\^\^<{XSD}(?:integer|decimal|double|long|int)>)?$'
)
_SPACED = r'^"([0-9-]{10}) ([0-9])'
# Numbers below this are seconds: that is before the year 5138. The bounds of the other units are in
# proportion.
_MOST = 1e11
NO_TIME = "the record gives no time"


def read(terms: pa.Array) -> Times:
    """The time of each term. NULL gives no time."""
    if terms.null_count:
        there = np.flatnonzero(terms.is_valid().to_numpy(zero_copy_only=False))
        found = read(terms.take(pa.array(there)))
        moments = np.zeros(len(terms), np.int64)
        moments[there] = found.microseconds
        faults = dict.fromkeys(map(int, np.setdiff1d(np.arange(len(terms)), there)), NO_TIME)
        faults |= {int(there[row]): reason for row, reason in found.faults.items()}
        return Times(moments, faults, found.without_zone)
    number = pc.match_substring_regex(terms, _NUMBER)
    plain = pc.and_not(pc.ends_with(terms, '"'), number)
    if pc.any(plain).as_py():
        text = pc.replace_substring_regex(terms, _SPACED, r'"\1T\2')
        terms = pc.if_else(plain, pc.binary_join_element_wise(text, _DATE_TIME, ""), terms)
    if not pc.any(number).as_py():
        return times.read(terms)
    counted = number.to_numpy(zero_copy_only=False)
    moments = np.zeros(len(terms), np.int64)
    moments[counted] = _counted(terms.filter(number))
    rest = np.flatnonzero(~counted)
    found = times.read(terms.take(pa.array(rest)))
    moments[rest] = found.microseconds
    faults = {int(rest[row]): reason for row, reason in found.faults.items()}
    return Times(moments, faults, found.without_zone)


def _counted(numbers: pa.Array) -> Microseconds:
    lexical = pc.extract_regex(numbers, r'^"(?P<number>[^"]*)"').field("number")
    values = lexical.cast(pa.float64()).to_numpy(zero_copy_only=False)
    size = np.abs(values)
    unit = np.select([size < _MOST, size < _MOST * 1e3, size < _MOST * 1e6], [1e6, 1e3, 1.0], 1e-3)
    found: Microseconds = np.round(values * unit).astype(np.int64)
    return found
