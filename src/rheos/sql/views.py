"""Views of a compiled value: as a number, a string, a moment or a duration, each a few texts of SQL.

The SQL of a view is NULL at run time for a row whose value is of another kind.
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
    """SQL that may be repeated: a column or literal as it is; anything else as a shared column."""
    return sql if is_atom(sql) else scope.share(sql)


def named(scope: Scope, sql: str, body: Callable[[str], str]) -> str:
    """The SQL that `body` makes of an expression that it repeats.

    The expression becomes a shared column or, where columns cannot be shared, gets a name inside the SQL. A
    name is slower than a column, so this is for expressions that few rows need.
    """
    short = once(scope, sql)
    if is_atom(short):
        return body(short)
    # The same text always gets the same name: if two with this name are nested, both have the same value.
    name = f"named_{crc32(sql.encode()):08x}"
    return scope.dialect.let(name, sql, body(name))


def grouped(sql: str) -> str:
    """SQL that may stand beside any operator."""
    return sql if is_atom(sql) or sql in (TRUE, FALSE) else in_brackets(sql)


class Number:
    """A number as three texts of SQL, each made when it is first asked for.

    `rank` is a bitmask (see `rheos.algebra.literals`), a Python int if it is known. `exact` is the value of
    an exact number; it is NULL for floats and doubles, and None if the number can only be one of these.
    `approx` is the value as a DOUBLE, for all ranks. For an exact number the conversion is expensive, so
    `approx` is not shared, and printed only where few rows need it. `floating` may be given instead of
    `approx`: a DOUBLE that is NULL if the number is exact.
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
        #: The number in an integer type of SQL, if it was made from one: its text is cheaper to make.
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
        """The DOUBLE that other expressions see.

        A float that was computed as a double is rounded here and not earlier: after one operation the result
        is the same.
        """
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
        """The condition that the value is a number."""
        if self.is_exact:
            return f"{self.exact} IS NOT NULL"
        if self.exact is None:
            return f"{self.approx} IS NOT NULL"
        return f"({self.exact} IS NOT NULL OR {self.approx} IS NOT NULL)"

    @property
    def is_exact(self) -> bool:
        """Whether the number is known to be an integer or a decimal."""
        return self.rank_known is not None and self.rank_known <= c.RANK_DECIMAL

    @property
    def rank_known(self) -> int | None:
        return self._rank if isinstance(self._rank, int) else None


class TermNumber(Number):
    """The number of a term, if the term is one."""

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
        """The value of a float, a double, or a number with more digits than DECIMAL; otherwise NULL."""
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
    """A string literal: its characters, and as `suffix` `@lang` or an empty text.

    `suffix` is None if the literal certainly has no language tag.
    """

    lexical: str
    suffix: str | None


@dataclass(frozen=True)
class Bare:
    """SQL that is meaningful only where a condition holds.

    A filter can test the SQL and the condition side by side. Engines then see plain comparisons of columns,
    which they can use in a join.
    """

    sql: str
    where: str

    @property
    def safe(self) -> str:
        return f"CASE WHEN {self.where} THEN {self.sql} END"


@dataclass(frozen=True)
class Moment:
    """An xsd:dateTime or xsd:date.

    `kind` is its place in `decode.MOMENTS`. `zone` is the SQL of the text of its zone, if that is known.
    """

    kind: int | str
    micros: str
    zoned: bool | str
    zone: str | None = None
    bare: Bare | None = None


@dataclass(frozen=True)
class Duration:
    """A duration: its months, and the rest as microseconds. Values that are known are Python ints.

    A row has a duration if `micros` is not NULL. `kind` is a set of bits (see `durations`).
    """

    kind: int | str
    months: int | str
    micros: int | str
    bare: Bare | None = None
