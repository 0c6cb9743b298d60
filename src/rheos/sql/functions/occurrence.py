"""The interval of a solution of EP-SPARQL as terms: getSTARTTIME(), getENDTIME() and getDURATION().

A solution of static data alone has no interval: then each of these functions is an error.
"""

from __future__ import annotations

from rheos.sql import durations
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.temporal import DATE_TIME, DurationValue, MomentValue
from rheos.sql.values import ErrorValue, Value
from rheos.sql.views import Bare, Duration, Moment, once


def start_time(scope: Scope) -> Value:
    return _bound(scope, 0)


def end_time(scope: Scope) -> Value:
    return _bound(scope, 1)


def _bound(scope: Scope, which: int) -> Value:
    interval = scope.interval
    if interval is None:
        return ErrorValue(scope)
    bare = Bare(interval[which], _is_one(*interval))
    micros = once(scope, bare.safe)
    return MomentValue(scope, Moment(DATE_TIME, micros, True, "'Z'", bare), micros)


def duration(scope: Scope) -> Value:
    interval = scope.interval
    if interval is None:
        return ErrorValue(scope)
    start, end = interval
    # For static data the difference is -2**63, the least BIGINT, so it does not overflow.
    bare = Bare(f"{end} - {start}", _is_one(start, end))
    return DurationValue(scope, Duration(durations.ANY, 0, once(scope, bare.safe), bare))


def _is_one(start: str, end: str) -> str:
    return f"{start} <= {end}"


FUNCTIONS: dict[str, Function] = {
    "STARTTIME": start_time,
    "ENDTIME": end_time,
    "DURATION": duration,
}
