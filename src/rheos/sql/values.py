"""Compiled values: what an expression is known to be decides which SQL is printed for each use of it.

A `Value` has a view for each kind of thing it can be: a term, a number, a string, a boolean, a moment, a
duration. A view is None where the value can never be of that kind, so a function that needs a number and
gets an IRI prints nothing but NULL, and `?x < 5` prints no comparison of strings. A view of SQL is
NULL at run time for a row whose value is not of the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rheos.sql import constants as c
from rheos.sql import decode
from rheos.sql.dialect import EXACT, Dialect, is_atom
from rheos.sql.scope import Scope
from rheos.terms import is_literal, literal

FALSE, TRUE, NULL = "FALSE", "TRUE", "NULL"
QUOTE = decode.QUOTE


def once(scope: Scope, sql: str) -> str:
    """A text that may be repeated: columns and literals as they are, all else shared."""
    return sql if is_atom(sql) else scope.share(sql)


def grouped(sql: str) -> str:
    """A text that may stand beside any operator."""
    return sql if is_atom(sql) or sql in (TRUE, FALSE) else f"({sql})"


# --- views ---------------------------------------------------------------------------------------


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


def integer(scope: Scope, sql: str) -> NumberValue:
    """An xsd:integer from SQL of an integer type."""
    number = Number(scope, c.RANK_INTEGER, lambda: f"CAST({sql} AS {EXACT})", whole=sql)
    return NumberValue(scope, number)


@dataclass(frozen=True)
class Text:
    """A string literal: its characters, and `@lang` or nothing. `suffix` None: known to have no language."""

    lexical: str
    suffix: str | None


@dataclass(frozen=True)
class Moment:
    """An xsd:dateTime, date or time. `kind` is its place in `decode.MOMENTS`."""

    kind: int | str
    micros: str
    zoned: bool | str


@dataclass(frozen=True)
class Duration:
    """A duration; `micros` may be NULL where `months` is not only if the value is no duration."""

    months: str
    micros: str


# --- values --------------------------------------------------------------------------------------


Test = Callable[[str], str]


class Value(ABC):
    """An expression, compiled. This base is a value that is never of any special kind."""

    #: The term itself, where it is known.
    constant: str | None = None

    #: A short way to compare the value with the text of a simple literal or an IRI that is known.
    is_constant: Test | None = None

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @property
    def dialect(self) -> Dialect:
        return self.scope.dialect

    @property
    @abstractmethod
    def term(self) -> str:
        """The term; NULL where it is unbound or an error."""

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
    def is_duration(self) -> bool:
        """Known to be a duration: otherwise durations are not looked for."""
        return False

    @property
    @abstractmethod
    def string(self) -> str:
        """What STR gives: the lexical form of a literal, the text of an IRI."""

    @property
    def literal(self) -> bool | None:
        """Whether the value, if there is one, is a literal; None where that is not known."""
        return True

    @property
    def tagged(self) -> str:
        """Whether the value has a language tag."""
        if self.text is None or self.text.suffix is None:
            return FALSE
        return f"{self.text.suffix} <> ''"

    @property
    def opaque(self) -> str:
        """Whether the value is a literal whose value is not known: of another datatype, or ill-formed."""
        return FALSE


class ErrorValue(Value):
    """An unbound variable, or an error that is seen at once."""

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
    """A term of which nothing is known: a variable, or the choice between unlike values."""

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
    def inexact(self) -> str:
        """The value of a number whose exact value is NULL: cheaper than `number.approx`."""
        return decode.inexact(self.dialect, self._term)

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
        return self._moment(decode.MOMENTS)

    def moment_of(self, kind: int) -> Moment:
        """The moment of one kind alone: shorter than `moment`."""
        return self._moment((decode.MOMENTS[kind],))

    def _moment(self, datatypes: tuple[str, ...]) -> Moment:
        d, term = self.dialect, self._term
        text = self.scope.share(decode.moment(d, term, datatypes))
        micros = self.scope.share(decode.micros_of_text(d, text))
        known = len(datatypes) == 1
        kind = decode.MOMENTS.index(datatypes[0]) if known else decode.moment_kind(d, term, micros)
        return Moment(kind, micros, decode.zoned_text(d, text))

    @cached_property
    def duration(self) -> Duration | None:
        d, term = self.dialect, self._term
        lexical = decode.lexical(d, term)
        valid = f"{decode.has_datatype_in(d, term, c.DURATIONS)} AND {decode.is_duration_text(d, lexical)}"
        text = self.scope.share(f"CASE WHEN {valid} THEN {lexical} END")
        return duration_of(self.scope, text)

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

    @property
    def opaque(self) -> str:
        d, term = self.dialect, self._term
        assert self.moment is not None
        return (
            f"({decode.is_typed(d, term)} AND NOT {self.number.present} AND {self.moment.micros} IS NULL"
            f" AND {decode.truth(d, term)} IS NULL)"
        )


class NumberTermValue(TermValue):
    """A term that is a number, if it is anything: the other views of it need not be printed."""

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
    def literal(self) -> bool | None:
        return True

    @property
    def tagged(self) -> str:
        return FALSE

    @property
    def opaque(self) -> str:
        return FALSE


def duration_of(scope: Scope, text: str) -> Duration:
    """From the lexical form of a duration, which is already known to be well-formed, or NULL."""
    d = scope.dialect
    return Duration(
        f"CASE WHEN {text} IS NOT NULL THEN {decode.duration_months(d, text)} END",
        f"CASE WHEN {text} IS NOT NULL THEN {decode.duration_micros(d, text)} END",
    )


class ConstantValue(Value):
    """A term of the query itself: every view of it is a literal."""

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
    def is_duration(self) -> bool:
        return self.duration is not None

    @property
    def duration(self) -> Duration | None:
        known = c.duration(self._lexical, self._datatype) if self._lexical is not None else None
        return None if known is None else Duration(str(known.months), str(known.micros))

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
        known = self.number or self.truth or self.moment
        return TRUE if self._datatype is not None and not known else FALSE


class BooleanValue(Value):
    def __init__(self, scope: Scope, sql: str) -> None:
        super().__init__(scope)
        self._sql = grouped(sql)

    @property
    def term(self) -> str:
        d = self.dialect
        return f"{QUOTE} || {self.string} || {d.string(literal('', c.BOOLEAN)[1:])}"

    @property
    def effective(self) -> str:
        return self._sql

    @property
    def truth(self) -> str | None:
        return self._sql

    @property
    def string(self) -> str:
        return self.dialect.cast_text(self._sql)


class NumberValue(Value):
    def __init__(self, scope: Scope, number: Number) -> None:
        super().__init__(scope)
        self._number = number

    @property
    def number(self) -> Number | None:
        return self._number

    @cached_property
    def term(self) -> str:
        from rheos.sql.lexical import number_term

        return number_term(self._number)

    @property
    def effective(self) -> str:
        number = self._number
        if number.is_exact:
            return f"{number.exact} <> 0"
        approx = once(self.scope, number.floating)
        inexact = f"({approx} <> 0 AND NOT isnan({approx}))"
        return inexact if number.exact is None else f"COALESCE({number.exact} <> 0, {inexact})"

    @cached_property
    def string(self) -> str:
        from rheos.sql.lexical import number_text

        return number_text(self._number)


class TextValue(Value):
    """A string literal, simple (`suffix` None) or with a language tag."""

    def __init__(
        self, scope: Scope, lexical: str, suffix: str | None = None, is_constant: Test | None = None
    ) -> None:
        super().__init__(scope)
        self._text = Text(grouped(lexical), suffix and grouped(suffix))
        self.is_constant = is_constant

    @property
    def text(self) -> Text | None:
        return self._text

    @property
    def term(self) -> str:
        lexical, suffix = self._text.lexical, self._text.suffix
        end = QUOTE if suffix is None else f"{QUOTE} || {suffix}"
        return f"{QUOTE} || {lexical} || {end}"

    @property
    def effective(self) -> str:
        return f"{self._text.lexical} <> ''"

    @property
    def string(self) -> str:
        return self._text.lexical


class LiteralValue(Value):
    """A well-formed literal of a datatype that has no class of its own here: a date, a duration."""

    def __init__(self, scope: Scope, lexical: str, datatype: str) -> None:
        super().__init__(scope)
        self._lexical = lexical
        self._datatype = datatype

    @property
    def term(self) -> str:
        d = self.dialect
        end = d.string('"' + decode.suffix_of(self._datatype))
        return f"{QUOTE} || {self._lexical} || {end}"

    @property
    def string(self) -> str:
        return self._lexical

    @cached_property
    def moment(self) -> Moment | None:
        if self._datatype not in decode.MOMENTS:
            return None
        text = once(self.scope, decode.moment_text(self.dialect, self._lexical, self._datatype))
        micros = decode.micros_of_text(self.dialect, text)
        zoned = decode.zoned_text(self.dialect, text)
        return Moment(decode.MOMENTS.index(self._datatype), once(self.scope, micros), zoned)

    @property
    def is_duration(self) -> bool:
        return self._datatype in c.DURATIONS

    @property
    def opaque(self) -> str:
        return FALSE if self._datatype in decode.MOMENTS else TRUE

    @cached_property
    def duration(self) -> Duration | None:
        if self._datatype not in c.DURATIONS:
            return None
        return duration_of(self.scope, once(self.scope, self._lexical))


class IriValue(Value):
    """An IRI, from the text between its brackets."""

    def __init__(self, scope: Scope, text: str, is_constant: Test | None = None) -> None:
        super().__init__(scope)
        self._text = text
        self.is_constant = is_constant

    @property
    def term(self) -> str:
        return f"'<' || {self._text} || '>'"

    @property
    def string(self) -> str:
        return self._text

    @property
    def literal(self) -> bool | None:
        return False


class BlankValue(Value):
    """A blank node, from its label."""

    def __init__(self, scope: Scope, label: str) -> None:
        super().__init__(scope)
        self._label = label

    @property
    def term(self) -> str:
        return f"'_:' || {self._label}"

    @property
    def string(self) -> str:
        return self.dialect.null

    @property
    def literal(self) -> bool | None:
        return False
