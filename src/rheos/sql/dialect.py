"""Dialects: how the two engines spell SQL. No SQL that is printed here ever throws an error.

`Dialect` prints what both engines write in the same way; `duckdb.py` and `spark.py` have only what differs.
Every method takes and returns SQL text, and that SQL gives NULL for NULL.

Numbers. An exact number is a DECIMAL(37,18), not (38,18): the sum of two then fits DECIMAL(38,18), so that
Spark does not round it and DuckDB does not throw. A cast back turns overflow into NULL. A product is put
together from whole parts of 19 digits and fractions of 18 digits, whose products both engines compute
exactly. A quotient is an integer division, truncated to 18 digits.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rheos.errors import RheosError

if TYPE_CHECKING:
    from rheos.sql.paths import Closure

EXACT = "DECIMAL(37,18)"
WHOLE = "DECIMAL(19,0)"
FRACTION = "DECIMAL(18,18)"

# The characters that an IRI may have anywhere.
UNRESERVED = r"[A-Za-z0-9._~\x{A0}-\x{10FFFF}-]"

_COLUMN = r"""(?:[A-Za-z_]\w*|"[^"]*"|`[^`]*`)(?:\.(?:\w+|"[^"]*"|`[^`]*`))*"""
_LITERAL = r"(?:-?\d+(?:\.\d+)?|'[^'\\]*')"
_ATOM = re.compile(rf"{_COLUMN}|{_LITERAL}|CAST\({_LITERAL} AS [A-Z]+(?:\(\d+,\d+\))?\)|\(-\d+\)")


class NotExpressible(RheosError):
    """The query asks for something that this engine cannot do; the message says what."""


def is_atom(sql: str) -> bool:
    """Whether a text is a column or a literal, so that repeating it costs nothing."""
    return _ATOM.fullmatch(sql) is not None


class Dialect(ABC):
    """The spelling of one engine.

    `instant`, the lexical form of an xsd:dateTime, fixes the value of NOW(). Without it, NOW() is the time at
    which the engine started the statement, which is the same throughout one run of a query.
    """

    name: str
    text_type: str
    macros = False

    def __init__(self, instant: str | None = None) -> None:
        self.instant = instant

    # --- literals and types ---------------------------------------------------------------------

    @abstractmethod
    def string(self, text: str) -> str:
        """A string literal."""

    def double(self, value: float) -> str:
        if value != value:
            return "CAST('NaN' AS DOUBLE)"
        if value in (float("inf"), float("-inf")):
            return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
        return f"CAST('{value!r}' AS DOUBLE)"

    def exact(self, value: Decimal) -> str:
        return f"CAST({value:f} AS {EXACT})" if value >= 0 else f"CAST('{value:f}' AS {EXACT})"

    def cast_text(self, sql: str) -> str:
        return f"CAST({sql} AS {self.text_type})"

    # --- text -----------------------------------------------------------------------------------

    @abstractmethod
    def starts_with(self, text: str, prefix: str) -> str: ...

    @abstractmethod
    def ends_with(self, text: str, suffix: str) -> str: ...

    @abstractmethod
    def after_last(self, text: str, mark: str) -> str:
        """What follows the last `mark`; the whole text if there is no mark."""

    @abstractmethod
    def before_first(self, text: str, mark: str) -> str:
        """What precedes the first `mark`; the whole text if there is no mark."""

    @abstractmethod
    def trim_end(self, text: str, character: str) -> str: ...

    def length(self, text: str) -> str:
        return f"length({text})"

    def substring(self, text: str, start: str | int, length: str | int | None = None) -> str:
        """Positions count code points, from 1; `start` must be at least 1 and `length` at least 0."""
        return f"substring({text}, {start})" if length is None else f"substring({text}, {start}, {length})"

    def position(self, text: str, part: str) -> str:
        """The position of the first occurrence of a part, in code points from 1; 0 if there is none."""
        return f"instr({text}, {part})"

    def contains(self, text: str, part: str) -> str:
        return f"contains({text}, {part})"

    def replace(self, text: str, old: str, new: str) -> str:
        return f"replace({text}, {self.string(old)}, {self.string(new)})"

    @abstractmethod
    def upper(self, text: str) -> str: ...

    @abstractmethod
    def lower(self, text: str) -> str: ...

    @abstractmethod
    def encode_for_uri(self, text: str) -> str: ...

    @abstractmethod
    def encode_for_iri(self, text: str) -> str:
        """As `encode_for_uri`, but letters and digits beyond ASCII stay (RFC 3987, iunreserved)."""

    # --- regular expressions ----------------------------------------------------------------------

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Whether a pattern, given as SQL, matches anywhere in a text."""

    @abstractmethod
    def replace_all(self, text: str, pattern: str, replacement: str) -> str: ...

    @abstractmethod
    def valid_pattern(self, pattern: str, use: str) -> str:
        """`use`, or NULL where a pattern that is known only at run time is not a regular expression."""

    def extract(self, text: str, pattern: str, group: int) -> str:
        """A group of the first match; an empty text if there is no match."""
        return f"regexp_extract({text}, {self.string(pattern)}, {group})"

    def matches_all(self, text: str, pattern: str) -> str:
        """Whether a fixed pattern matches a text from its beginning to its end."""
        return self.matches(text, self.string(rf"\A(?:{pattern})\z"))

    # --- numbers ----------------------------------------------------------------------------------

    def try_cast(self, sql: str, kind: str) -> str:
        return f"try_cast({sql} AS {kind})"

    def read_whole(self, text: str) -> str:
        """The exact number of a text in the form of an xsd:integer; NULL if it has too many digits."""
        return self.try_cast(text, EXACT)

    def read_decimal(self, text: str) -> str:
        """As `read_whole`, for a text in the form of an xsd:decimal."""
        return self.try_cast(text, EXACT)

    def to_float(self, double: str) -> str:
        """A double rounded to the nearest xsd:float, still as a DOUBLE."""
        return f"CAST(CAST({double} AS FLOAT) AS DOUBLE)"

    @abstractmethod
    def to_double(self, exact: str) -> str: ...

    @abstractmethod
    def scientific(self, double: str, digits: int) -> str:
        """A finite double as `d.ddde±xx`, with `digits` digits after the point."""

    @abstractmethod
    def exact_text(self, exact: str) -> str:
        """A decimal in its canonical form (XSD 1.1): no trailing zeros, and no point if it is whole."""

    def whole_text(self, exact: str) -> str:
        """A whole number as text. The text of `exact` may be repeated."""
        return self.cast_text(f"CAST({exact} AS {WHOLE})")

    def add(self, left: str, right: str) -> str:
        return self.try_cast(f"({left} + {right})", EXACT)

    def subtract(self, left: str, right: str) -> str:
        return self.try_cast(f"({left} - {right})", EXACT)

    @abstractmethod
    def whole_part(self, exact: str) -> str:
        """An exact number truncated towards zero, as a DECIMAL(19,0)."""

    def fraction(self, exact: str) -> str:
        """The fraction that `whole_part` cuts off, as a DECIMAL(18,18).

        The SQL repeats the text of `exact`.
        """
        return f"CAST({exact} - {self.whole_part(exact)} AS {FRACTION})"

    @abstractmethod
    def divide_whole(self, left: str, right: str) -> str:
        """A quotient of two whole numbers, truncated to 18 digits; NULL for a divisor of 0.

        The SQL may repeat both texts.
        """

    @abstractmethod
    def dividend(self, exact: str) -> str:
        """An exact number in the form that `divide_exact` takes for both sides."""

    @abstractmethod
    def divide_exact(self, left: str, right: str) -> str:
        """A quotient truncated to 18 digits; NULL for a divisor of 0 and if it cannot be computed exactly.

        The SQL repeats both texts: pass columns.
        """

    @abstractmethod
    def whole_quotient(self, above: str, below: int) -> str:
        """The integer quotient of two integers that are not negative, without the remainder."""

    def whole(self, exact: str) -> str:
        """An exact number that is whole, as a DECIMAL(19,0)."""
        return f"CAST({exact} AS {WHOLE})"

    def multiply_whole(self, left: str, right: str) -> str:
        """The product of two exact numbers that are both whole."""
        return self.try_cast(f"({self.whole(left)} * {self.whole(right)})", EXACT)

    def multiply(self, left: tuple[str, str], right: tuple[str, str]) -> str:
        """The product of two numbers, each given as `whole_part` and `fraction`, rounded to 18 digits."""
        products = [
            self.try_cast(f"({one} * {other})", EXACT)
            for one in left
            for other in right
            if "0" not in (one, other)
        ]
        total = products.pop()
        while products:
            total = self.add(products.pop(), total)
        return total

    @abstractmethod
    def floor_exact(self, exact: str) -> str: ...

    @abstractmethod
    def floor_double(self, double: str) -> str:
        """The greatest whole double that is not above; NaN, infinities and the sign of zero stay.

        The SQL may repeat the text.
        """

    @abstractmethod
    def divide_double(self, left: str, right: str) -> str:
        """IEEE 754 division: x / 0 is an infinity or NaN. The SQL may repeat both texts."""

    @abstractmethod
    def random(self) -> str: ...

    # --- time, hashes, identity -------------------------------------------------------------------

    @abstractmethod
    def micros(self, text: str) -> str:
        """Microseconds since 1970 of `yyyy-mm-ddThh:mm:ss[.f]` with a time zone; NULL for a bad date."""

    @abstractmethod
    def moment_text(self, micros: str) -> str:
        """`yyyy-mm-ddThh:mm:ss.ffffff` from microseconds since 1970."""

    @abstractmethod
    def months_later(self, day: str, months: str) -> str:
        """The day that is `months` after a day, or the last day of that month; days count from 1970."""

    @abstractmethod
    def statement_time(self) -> str:
        """The lexical form of the xsd:dateTime, in UTC, at which the statement started."""

    @abstractmethod
    def digest(self, algorithm: str, text: str) -> str:
        """A hash in lower-case hexadecimal: MD5, SHA1, SHA256, SHA384 or SHA512."""

    def uuid(self) -> str:
        """A new UUID for each row, as text."""
        return self.cast_text("uuid()")

    # --- aggregates -------------------------------------------------------------------------------

    @abstractmethod
    def first_by(self, value: str, keys: Sequence[str], descending: bool) -> str:
        """The value whose keys are the least (or greatest); a NULL key is less than all others."""

    @abstractmethod
    def struct(self, fields: Mapping[str, str]) -> str:
        """A struct of several fields; structs compare by their fields in order."""

    @abstractmethod
    def gather(self, value: str) -> str:
        """An aggregate that keeps all the values of a group."""

    @abstractmethod
    def gathered(self, lists: str, only: str) -> str:
        """The values of all lists that `gather` made, as one sorted list; `only` is a FILTER for lists."""

    @abstractmethod
    def gathered_total(self, lists: str, only: str) -> str:
        """The sum of gathered doubles, added in the order of their values; 0 or NULL for none."""

    @abstractmethod
    def gathered_texts(self, lists: str, only: str, field: str, separator: str) -> str:
        """A field of the gathered structs, in their order, as one text; empty or NULL for none."""

    @abstractmethod
    def join_texts(self, text: str, separator: str, order: str) -> str:
        """The texts of a group, in the order of `order`."""

    # --- names ------------------------------------------------------------------------------------

    @abstractmethod
    def let(self, name: str, value: str, body: str) -> str:
        """An expression in which `name` stands for a value that is computed once."""

    # --- relations --------------------------------------------------------------------------------

    # The keywords of the join, which stand between two items of FROM.
    semi_join: str
    anti_join: str
    #: Whether a window function may have a FILTER.
    filters_windows: bool = False

    @property
    def null(self) -> str:
        """The SQL of an unbound variable."""
        return f"CAST(NULL AS {self.text_type})"

    @abstractmethod
    def moment(self, micros: str) -> str:
        """The term of an xsd:dateTime in UTC from microseconds since 1970.

        It always has six digits after the second, so that these terms sort as their times do.
        """

    @abstractmethod
    def broadcast(self, aliases: Sequence[str]) -> str:
        """The hint of a SELECT that some of its relations are small; empty if the engine has no such hint."""

    @abstractmethod
    def row_id(self) -> str:
        """A number that is different for each row of a SELECT."""

    @abstractmethod
    def counted(self, item: str, start: str, end: str, alias: str, column: str) -> str:
        """An item of FROM: each row of `item` with every number from `start` to `end`, `end` excluded.

        A row for which there is no such number is lost.
        """

    @abstractmethod
    def far_apart(self, columns: Sequence[str]) -> str:
        """A whole number made from a hash of columns. Equal columns give the same number.

        Two numbers that differ are farther apart than any two times in microseconds.
        """

    @abstractmethod
    def each(self, values: Sequence[str]) -> str:
        """For a SELECT list: a column that repeats the row for each of some values."""

    @abstractmethod
    def closure(self, closure: Closure) -> str | None:
        """A SELECT of a transitive closure, or None if the engine cannot express it."""

    @abstractmethod
    def unfold(self, rows: Sequence[Sequence[str]], columns: Sequence[str], source: str) -> str:
        """A SELECT that makes several rows of each row of the source; `rows` has their expressions."""
