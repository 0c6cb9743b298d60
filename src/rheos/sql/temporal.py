"""Computed values of time: moments, durations, and values that may be one of these or a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from rheos.sql import decode, durations
from rheos.sql.decode import QUOTE
from rheos.sql.scope import Scope
from rheos.sql.values import Value
from rheos.sql.views import NULL, Duration, Moment, Number, once

DATE_TIME, DATE = range(2)  # places in `decode.MOMENTS`


class MomentValue(Value):
    """A date or dateTime whose zone is known: `local` is what clocks in this zone show, read as if in UTC."""

    def __init__(self, scope: Scope, moment: Moment, local: str) -> None:
        super().__init__(scope)
        self._moment = moment
        self._local = local

    @property
    def moment(self) -> Moment:
        return self._moment

    @cached_property
    def term(self) -> str:
        d = self.dialect

        def term(kind: int) -> str:
            end = d.string('"' + decode.suffix_of(decode.MOMENTS[kind]))
            return f"{QUOTE} || {self._text(kind)} || {end}"

        return self._by_kind(term)

    @cached_property
    def string(self) -> str:
        return self._by_kind(self._text)

    def _by_kind(self, printed: Callable[[int], str]) -> str:
        kind = self._moment.kind
        if isinstance(kind, int):
            return printed(kind)
        return f"CASE {kind} WHEN {DATE_TIME} THEN {printed(DATE_TIME)} WHEN {DATE} THEN {printed(DATE)} END"

    def _text(self, kind: int) -> str:
        """The canonical lexical form: no zeros at the end of a fraction."""
        d = self.dialect
        full = once(self.scope, d.moment_text(self._local))
        short = d.substring(full, 1, 10) if kind == DATE else d.trim_end(d.trim_end(full, "0"), ".")
        return f"{short} || {self._moment.zone}"


class DurationValue(Value):
    def __init__(self, scope: Scope, duration: Duration) -> None:
        super().__init__(scope)
        self._duration = duration

    @property
    def duration(self) -> Duration:
        return self._duration

    @property
    def term(self) -> str:
        return f"{QUOTE} || {self.string} || {durations.suffix(self.dialect, self._duration.kind)}"

    @cached_property
    def string(self) -> str:
        return durations.text(self.scope, self._duration)


class MixedValue(Value):
    """A number, a duration or a moment, whichever is not an error: what `?x - ?y` gives.

    Durations and moments are made when they are first asked for, so that a sum of many terms does not print
    SQL that is not needed.
    """

    def __init__(
        self,
        scope: Scope,
        number: Value | None,
        duration: Callable[[], Value] | None,
        moment: Callable[[], Value] | None,
    ) -> None:
        super().__init__(scope)
        self._number, self._make_duration, self._make_moment = number, duration, moment

    @cached_property
    def _values(self) -> list[Value]:
        return [value for value in (self._number, self._as_duration, self._as_moment) if value is not None]

    @cached_property
    def _as_duration(self) -> Value | None:
        return self._make_duration and self._make_duration()

    @cached_property
    def _as_moment(self) -> Value | None:
        return self._make_moment and self._make_moment()

    @property
    def term(self) -> str:
        return f"COALESCE({', '.join(value.term for value in self._values)})"

    @property
    def string(self) -> str:
        return f"COALESCE({', '.join(value.string for value in self._values)})"

    @property
    def effective(self) -> str:
        return self._number.effective if self._number else NULL

    @property
    def number(self) -> Number | None:
        return self._number.number if self._number else None

    @cached_property
    def moment(self) -> Moment | None:
        found = self._as_moment.moment if self._as_moment else None
        if found is None or isinstance(found.kind, str):
            return found
        # With a known kind, the value would be taken for a moment in every row.
        return replace(found, kind=f"CASE WHEN {found.micros} IS NOT NULL THEN {found.kind} END")

    @property
    def may_be_moment(self) -> bool:
        return self._make_moment is not None

    @property
    def duration(self) -> Duration | None:
        return self._as_duration.duration if self._as_duration else None

    @property
    def may_be_duration(self) -> bool:
        return self._make_duration is not None
