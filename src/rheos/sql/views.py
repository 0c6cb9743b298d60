"""Views of a compiled value: a number, a string, a moment or a duration, each as a few texts of SQL.

A text of SQL is NULL at run time for a row whose value is not of the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from rheos.algebra import literals as c
from rheos.sql import decode
from rheos.sql.conditions import FALSE, TRUE, in_brackets
from rheos.sql.dialect import is_atom
from rheos.sql.scope import Scope

NULL = "NULL"


def once(scope: Scope, sql: str) -> str:
    """A text that may be repeated: columns and literals as they are, all else shared."""
    return sql if is_atom(sql) else scope.share(sql)


def named(scope: Scope, sql: str, body: Callable[[str], str]) -> str:
    """What `body` makes of a text that it repeats: shared or, where nothing can be shared, with a name inside
    the expression. That takes longer than a column, so it is for what few rows come to."""
    short = once(scope, sql)
    if is_atom(short):
        return body(short)
    # The same name for the same text: then it does not matter which of two, one inside the other, is meant.
    name = f"named_{crc32(sql.encode()):08x}"
    return scope.dialect.let(name, sql, body(name))


def grouped(sql: str) -> str:
    """A text that may stand beside any operator."""
    return sql if is_atom(sql) or sql in (TRUE, FALSE) else in_brackets(sql)


class Number:
    """A number as three texts of SQL, each made when it is first asked for.

    `rank` is a bitmask (see `constants`) or, where it is known, a Python int. `exact` is NULL for floats and
    doubles; None where it can be nothing else. `approx` is the value as a DOUBLE, for all ranks: of an exact
    number that is dear, so it is printed where few rows come to need it, and not shared. `floating` may be
    given in its place: a value that is NULL where the number is exact.
    """

    def __init__(
        self,
        scope: Scope,
        rank: int | Callable[[], str],
        exact: Callable[[], str] | None,
        approx: Callable[[], str] | None = None,
        *,
        floating: Callable[[], str] | None = None,
        rounded: bool = True,
        whole: str | None = None,
    ) -> None:
        self.scope = scope
        self._rank, self._exact, self._approx, self._floating = rank, exact, approx, floating
        self._rounded = rounded
        #: The same number in an integer type of SQL, where it was made from one: printing it is cheaper.
        self.whole = whole

    @cached_property
    def rank(self) -> int | str:
        return self._rank if isinstance(self._rank, int) else self._rank()

    @cached_property
    def exact(self) -> str | None:
        return self._exact() if self._exact else None

    @cached_property
    def approx(self) -> str:
        if self._approx:
            return self._approx()
        of_exact = self.scope.dialect.to_double(self.exact) if self.exact is not None else NULL
        return f"COALESCE({self._floating()}, {of_exact})" if self._floating else of_exact

    @cached_property
    def observed(self) -> str:
        """The DOUBLE that others see. What was computed as a double and turns out to be a float is rounded
        here and not at every step: after one operation the result is the same."""
        return self._round(self.approx)

    def _round(self, approx: str) -> str:
        if self._rounded or self.rank_known is not None:
            return approx
        rounded = self.scope.dialect.to_float(approx)
        return f"CASE WHEN {self.rank} = {c.RANK_FLOAT} THEN {rounded} ELSE {approx} END"

    @cached_property
    def floating(self) -> str:
        """The value of a float or double; NULL where the number is exact."""
        if self._floating or self.exact is None:
            return self._round(self._floating() if self._floating else self.approx)
        return NULL if self.is_exact else f"CASE WHEN {self.rank} > {c.RANK_DECIMAL} THEN {self.observed} END"

    @property
    def present(self) -> str:
        """Whether there is a number."""
        if self.is_exact:
            return f"{self.exact} IS NOT NULL"
        if self.exact is None:
            return f"{self.approx} IS NOT NULL"
        return f"({self.exact} IS NOT NULL OR {self.approx} IS NOT NULL)"

    @property
    def is_exact(self) -> bool:
        """Known to be an integer or a decimal."""
        return self.rank_known is not None and self.rank_known <= c.RANK_DECIMAL

    @property
    def rank_known(self) -> int | None:
        return self._rank if isinstance(self._rank, int) else None


class TermNumber(Number):
    """The number that a term is, if it is one."""

    def __init__(self, scope: Scope, term: str) -> None:
        super().__init__(
            scope, lambda: scope.share(self._read_rank()), lambda: scope.share(decode.exact(d, term))
        )
        d = scope.dialect
        self._term = term

    def _read_rank(self) -> str:
        return decode.rank(self.scope.dialect, self._term, self.exact or NULL, self.inexact)

    @cached_property
    def inexact(self) -> str:
        """The value where it is not exact: of a float, a double, or more digits than DECIMAL has."""
        read = decode.inexact(self.scope.dialect, self._term)
        return self.scope.share(f"CASE WHEN {self.exact} IS NULL THEN {read} END")

    @cached_property
    def approx(self) -> str:
        return f"COALESCE({self.inexact}, {self.scope.dialect.to_double(self.exact or NULL)})"

    @property
    def present(self) -> str:
        return f"({self.exact} IS NOT NULL OR {self.inexact} IS NOT NULL)"


def exact_number(scope: Scope, rank: int, exact: str) -> Number:
    return Number(scope, rank, lambda: exact)


def approx_number(scope: Scope, rank: int, approx: str) -> Number:
    return Number(scope, rank, None, lambda: approx)


@dataclass(frozen=True)
class Text:
    """A string literal: its characters, and `@lang` or nothing. `suffix` None: known to have no language."""

    lexical: str
    suffix: str | None


@dataclass(frozen=True)
class Bare:
    """SQL that means something only where a condition holds: a filter may test both side by side, and then
    engines see plain comparisons of columns, which they can use in a join."""

    sql: str
    where: str

    @property
    def safe(self) -> str:
        return f"CASE WHEN {self.where} THEN {self.sql} END"


@dataclass(frozen=True)
class Moment:
    """An xsd:dateTime or date. `kind` is its place in `decode.MOMENTS`, `zone` its text if it is at hand."""

    kind: int | str
    micros: str
    zoned: bool | str
    zone: str | None = None
    bare: Bare | None = None


@dataclass(frozen=True)
class Duration:
    """A duration: its months, and all the rest of it as microseconds. Python ints are known.

    There is a duration where `micros` is not NULL. `kind` is a set of bits (see `durations`).
    """

    kind: int | str
    months: int | str
    micros: int | str
    bare: Bare | None = None
