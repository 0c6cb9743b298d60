"""Compiled values: what is known of an expression decides which SQL is printed for each use of it.

A `Value` has a view for each kind of value it can be: a term, a number, a string, a boolean, a moment, a
duration. A view is None if the value can never be of that kind. So a function that needs a number and gets an
IRI prints only NULL, and `?x < 5` prints no comparison of strings. This module has the terms of rows and of
the query; `computed.py` has the values that functions make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

from rheos.algebra import literals as c
from rheos.sql import decode, durations
from rheos.sql.conditions import FALSE, TRUE, all_of, negated
from rheos.sql.dialect import Dialect
from rheos.sql.scope import Scope
from rheos.sql.views import (
    NULL,
    Duration,
    Moment,
    Number,
    TermNumber,
    Text,
    once,
)
from rheos.terms import is_literal

Test = Callable[[str], str]


class Value(ABC):
    """A compiled expression. This base class is a value that is never of any special kind."""

    #: The term itself, if it is known when the query is compiled.
    constant: str | None = None

    #: Makes a short comparison of the value with the text of a constant, a simple literal or an IRI.
    is_constant: Test | None = None

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @property
    def dialect(self) -> Dialect:
        return self.scope.dialect

    @property
    @abstractmethod
    def term(self) -> str:
        """The SQL of the term; NULL if it is unbound or an error."""

    @property
    def effective(self) -> str:
        """The effective boolean value (17.2.2); NULL is an error."""
        return NULL

    @property
    def number(self) -> Number | None:
        return None

    @property
    def text(self) -> Text | None:
        return None

    @property
    def simple(self) -> str | None:
        """The characters of a literal without a language tag."""
        if self.text is None:
            return None
        if self.text.suffix is None:
            return self.text.lexical
        return f"CASE WHEN {self.text.suffix} = '' THEN {self.text.lexical} END"

    @property
    def truth(self) -> str | None:
        """The value of an xsd:boolean."""
        return None

    @property
    def moment(self) -> Moment | None:
        return None

    @property
    def duration(self) -> Duration | None:
        return None

    @property
    def may_be_moment(self) -> bool:
        """Whether `moment` is not None, told without making the view."""
        return self.moment is not None

    @property
    def may_be_duration(self) -> bool:
        return self.duration is not None

    @property
    @abstractmethod
    def string(self) -> str:
        """What STR gives: the lexical form of a literal, the text of an IRI."""

    @property
    def literal(self) -> bool | None:
        """Whether the value is a literal in every row in which it is not NULL; None if that is not known."""
        return True

    @property
    def tagged(self) -> str:
        """The condition that the value has a language tag."""
        if self.text is None or self.text.suffix is None:
            return FALSE
        return f"{self.text.suffix} <> ''"

    @property
    def opaque(self) -> str:
        """The condition that the term is an ill-formed literal or has a datatype that is not known."""
        return FALSE


class ErrorValue(Value):
    """An unbound variable, or an error that is found when the query is compiled."""

    @property
    def term(self) -> str:
        return self.dialect.null

    @property
    def string(self) -> str:
        return self.dialect.null

    @property
    def literal(self) -> bool | None:
        return None


class TermValue(Value):
    """A term of which nothing is known: a variable, or a choice between values of different kinds."""

    def __init__(self, scope: Scope, sql: str) -> None:
        super().__init__(scope)
        self._sql = sql

    @property
    def term(self) -> str:
        return self._sql

    @cached_property
    def _term(self) -> str:
        return once(self.scope, self._sql)

    @cached_property
    def effective(self) -> str:
        exact, inexact = self.number.exact or NULL, self.number.inexact
        return decode.effective(self.dialect, self._term, exact, inexact)

    @cached_property
    def number(self) -> TermNumber:
        return TermNumber(self.scope, self._term)

    @cached_property
    def text(self) -> Text | None:
        d, term = self.dialect, self._term
        return Text(decode.text_lexical(d, term), decode.text_suffix(d, term))

    @cached_property
    def simple(self) -> str | None:
        return decode.simple(self.dialect, self._term)

    @cached_property
    def truth(self) -> str | None:
        return decode.truth(self.dialect, self._term)

    @cached_property
    def moment(self) -> Moment | None:
        zoned, micros = self._moment(decode.moment(self.dialect, self._term))
        return Moment(decode.moment_kind(self.dialect, self._term, micros), micros, zoned)

    def moment_of(self, kind: int) -> Moment:
        """The moment, if it is of the given kind; its SQL is shorter than that of `moment`."""
        zoned, micros = self._moment(decode.moment_of(self.dialect, self._term, decode.MOMENTS[kind]))
        return Moment(kind, micros, zoned)

    def _moment(self, found: str) -> tuple[str, str]:
        """The SQL of whether a moment has a zone, and of its microseconds."""
        text = self.scope.share(found)
        micros = self.scope.share(decode.micros_of_text(self.dialect, text))
        return decode.zoned_text(self.dialect, text), micros

    @cached_property
    def duration(self) -> Duration | None:
        return durations.of_term(self.scope, self._term)

    @property
    def may_be_moment(self) -> bool:
        return True

    @property
    def may_be_duration(self) -> bool:
        return True

    @cached_property
    def string(self) -> str:
        d, term = self.dialect, self._term
        return (
            f"CASE WHEN {decode.is_literal(d, term)} THEN {decode.lexical(d, term)}"
            f" WHEN {decode.is_iri(d, term)} THEN {d.substring(term, 2, f'{d.length(term)} - 2')} END"
        )

    @property
    def literal(self) -> bool | None:
        return None

    @property
    def tagged(self) -> str:
        return decode.is_tagged(self.dialect, self._term)

    @cached_property
    def opaque(self) -> str:
        d, term = self.dialect, self._term
        assert self.moment is not None
        return once(
            self.scope,
            all_of(
                [
                    decode.is_typed(d, term),
                    negated(self.number.present),
                    f"{self.moment.micros} IS NULL",
                    f"{decode.truth(d, term)} IS NULL",
                    negated(durations.well_formed(self.scope, term)),
                ]
            ),
        )


class NumberTermValue(TermValue):
    """A term that is a number in every row in which it is bound, so that it has no other views."""

    @property
    def text(self) -> Text | None:
        return None

    @property
    def simple(self) -> str | None:
        return None

    @property
    def truth(self) -> str | None:
        return None

    @property
    def moment(self) -> Moment | None:
        return None

    @property
    def duration(self) -> Duration | None:
        return None

    @property
    def may_be_moment(self) -> bool:
        return False

    @property
    def may_be_duration(self) -> bool:
        return False

    @property
    def literal(self) -> bool | None:
        return True

    @property
    def tagged(self) -> str:
        return FALSE

    @property
    def opaque(self) -> str:
        return FALSE


class ShortNumberValue(NumberTermValue):
    """A term with its value in a column: a number of few digits, so that sums of it do not overflow."""

    def __init__(self, scope: Scope, sql: str, rank: int, exact: str) -> None:
        super().__init__(scope, sql)
        self._number = Number(scope, rank, lambda: exact)

    @property
    def number(self) -> Number:  # type: ignore[override]
        return self._number

    @property
    def inexact(self) -> str:
        return NULL

    @property
    def effective(self) -> str:
        return f"{self._number.exact} <> 0"


class ConstantValue(Value):
    """A term of the query itself: every view of it is a literal of SQL."""

    def __init__(self, scope: Scope, term: str) -> None:
        super().__init__(scope)
        self.constant: str = term
        found = c.parts(term)
        self._lexical: str | None = found[0] if found else None
        self._suffix = found[1] if found else ""
        self._datatype = c.datatype(self._suffix)

    @property
    def term(self) -> str:
        return self.dialect.string(self.constant)

    @property
    def effective(self) -> str:
        if self._lexical is None:
            return NULL
        if self._datatype == c.BOOLEAN:
            return str(c.truth(self.constant) or False).upper()
        if self._datatype is None:
            return str(self._lexical != "").upper()
        if self._datatype not in c.RANKS:
            return NULL
        known = c.number(self._lexical, self._datatype)
        return str(known is not None and known.approx != 0 and known.approx == known.approx).upper()

    @cached_property
    def number(self) -> Number | None:
        known = c.number(self._lexical, self._datatype) if self._lexical is not None else None
        if known is None:
            return None
        d, exact = self.dialect, known.exact
        return Number(
            self.scope,
            known.rank,
            (lambda: d.exact(exact)) if exact is not None else None,
            lambda: d.double(known.approx),
        )

    @property
    def is_nan(self) -> bool:
        return self._lexical == "NaN"

    @property
    def approx(self) -> float | None:
        """The value of a number as a Python float."""
        known = c.number(self._lexical, self._datatype) if self._lexical is not None else None
        return None if known is None else known.approx

    @cached_property
    def text(self) -> Text | None:
        if self._lexical is None or self._datatype is not None:
            return None
        suffix = self.dialect.string(self._suffix) if self._suffix else None
        return Text(self.dialect.string(self._lexical), suffix)

    @property
    def simple(self) -> str | None:
        return self.dialect.string(self._lexical) if self._lexical is not None and not self._suffix else None

    @property
    def truth(self) -> str | None:
        known = c.truth(self.constant)
        return None if known is None else str(known).upper()

    @property
    def moment(self) -> Moment | None:
        known = c.moment(self._lexical, self._datatype) if self._lexical is not None else None
        if known is None:
            return None
        return Moment(decode.MOMENTS.index(known.datatype), str(known.micros), known.zoned)

    @property
    def duration(self) -> Duration | None:
        return durations.read(self._lexical, self._datatype) if self._lexical is not None else None

    @property
    def string(self) -> str:
        if self._lexical is not None:
            return self.dialect.string(self._lexical)
        return self.dialect.string(self.constant[1:-1]) if self.constant[0] == "<" else self.dialect.null

    @property
    def literal(self) -> bool | None:
        return is_literal(self.constant)

    @property
    def tagged(self) -> str:
        return TRUE if self._suffix.startswith("@") else FALSE

    @property
    def opaque(self) -> str:
        known = self.number or self.truth or self.moment or self.duration
        return TRUE if self._datatype is not None and not known else FALSE
