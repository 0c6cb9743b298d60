"""How the two engines spell SQL. None of what is spelled here ever throws.

`Dialect` prints what both engines write in the same way; `duckdb.py` and `spark.py` say only what differs.
Every method takes and gives SQL text, and NULL in gives NULL out.

Numbers. An exact number is a DECIMAL(37,18), not (38,18): a sum of two then fits DECIMAL(38,18), so neither
engine rounds it (Spark) nor throws (DuckDB), and a cast back turns overflow into NULL. A product is
put together from integer parts of 19 digits and fractions of 18, whose products both engines compute
exactly; a quotient is an integer division, truncated to 18 digits.
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

# What an IRI may have anywhere.
UNRESERVED = r"[A-Za-z0-9._~\x{A0}-\x{10FFFF}-]"

_COLUMN = r"""(?:[A-Za-z_]\w*|"[^"]*"|`[^`]*`)(?:\.(?:\w+|"[^"]*"|`[^`]*`))*"""
_LITERAL = r"(?:-?\d+(?:\.\d+)?|'[^'\\]*')"
_ATOM = re.compile(rf"{_COLUMN}|{_LITERAL}|CAST\({_LITERAL} AS [A-Z]+(?:\(\d+,\d+\))?\)|\(-\d+\)")


class NotExpressible(RheosError):
    """The query asks for something that the engine at hand cannot do; the message says what."""


def is_atom(sql: str) -> bool:
    """Whether a text is a column or a literal, so that repeating it costs nothing."""
    return _ATOM.fullmatch(sql) is not None


class Dialect(ABC):
    """One engine's spelling.

    `instant` fixes the value of NOW() (the lexical form of an xsd:dateTime); without it, NOW() is the
    engine's own time of the statement, which is the same throughout one run of a query.
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
        """What follows the last `mark`; the whole text where there is none."""

    @abstractmethod
    def before_first(self, text: str, mark: str) -> str:
        """What precedes the first `mark`; the whole text where there is none."""

    @abstractmethod
    def trim_end(self, text: str, character: str) -> str: ...

    def length(self, text: str) -> str:
        return f"length({text})"

    def substring(self, text: str, start: str | int, length: str | int | None = None) -> str:
        """By code point, from 1; `start` must be at least 1 and `length` at least 0."""
        return f"substring({text}, {start})" if length is None else f"substring({text}, {start}, {length})"

    def position(self, text: str, part: str) -> str:
        """Where a part first occurs, from 1 and by code point; 0 where it does not."""
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
        """As for a URI, but letters and digits beyond ASCII stay (RFC 3987, iunreserved)."""

    # --- regular expressions ----------------------------------------------------------------------

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Whether a pattern (SQL of a text) is found anywhere in a text."""

    @abstractmethod
    def replace_all(self, text: str, pattern: str, replacement: str) -> str: ...

    @abstractmethod
    def valid_pattern(self, pattern: str, use: str) -> str:
        """`use`, or NULL where a pattern that is only known at run time is not a regular expression."""

    def extract(self, text: str, pattern: str, group: int) -> str:
        """A group of the first match; an empty text where there is none."""
        return f"regexp_extract({text}, {self.string(pattern)}, {group})"

    def matches_all(self, text: str, pattern: str) -> str:
        """Whether a fixed pattern matches a text from its beginning to its end."""
        return self.matches(text, self.string(rf"\A(?:{pattern})\z"))

    # --- numbers ----------------------------------------------------------------------------------

    def try_cast(self, sql: str, kind: str) -> str:
        return f"try_cast({sql} AS {kind})"

    def read_whole(self, text: str) -> str:
        """The exact number of a text in the form of an xsd:integer; NULL where it has too many digits."""
        return self.try_cast(text, EXACT)

    def read_decimal(self, text: str) -> str:
        """The same for a text that has the form of an xsd:decimal."""
        return self.try_cast(text, EXACT)

    def to_float(self, double: str) -> str:
        """A double rounded to the nearest xsd:float, still as a DOUBLE."""
        return f"CAST(CAST({double} AS FLOAT) AS DOUBLE)"

    @abstractmethod
    def to_double(self, exact: str) -> str: ...

    @abstractmethod
    def scientific(self, double: str, digits: int) -> str:
        """A finite double as `d.ddde±xx` with so many digits after the point."""

    @abstractmethod
    def exact_text(self, exact: str) -> str:
        """A decimal in its canonical form (XSD 1.1): no trailing zeros, no point where it is whole."""

    def whole_text(self, exact: str) -> str:
        """A whole number as text. The text of `exact` may be repeated."""
        return self.cast_text(f"CAST({exact} AS {WHOLE})")

    def add(self, left: str, right: str) -> str:
        return self.try_cast(f"({left} + {right})", EXACT)

    def subtract(self, left: str, right: str) -> str:
        return self.try_cast(f"({left} - {right})", EXACT)

    @abstractmethod
    def whole_part(self, exact: str) -> str:
        """An exact number cut towards zero, as a DECIMAL(19,0)."""

    def fraction(self, exact: str) -> str:
        """What `whole_part` cuts off, as a DECIMAL(18,18). Repeats its text."""
        return f"CAST({exact} - {self.whole_part(exact)} AS {FRACTION})"

    @abstractmethod
    def divide_whole(self, left: str, right: str) -> str:
        """A quotient of two whole numbers, cut to 18 digits; NULL for a divisor of 0. Repeats its texts."""

    @abstractmethod
    def dividend(self, exact: str) -> str:
        """What `divide_exact` wants for each of its sides."""

    @abstractmethod
    def divide_exact(self, left: str, right: str) -> str:
        """A quotient cut to 18 digits; NULL for a divisor of 0 and where it cannot be computed exactly.

        Both texts are repeated: pass columns.
        """

    @abstractmethod
    def whole_quotient(self, above: str, below: int) -> str:
        """A quotient of integers, neither of them negative, without what is left over."""

    def whole(self, exact: str) -> str:
        """An exact number that is whole, as a DECIMAL(19,0)."""
        return f"CAST({exact} AS {WHOLE})"

    def multiply_whole(self, left: str, right: str) -> str:
        """A product of two exact numbers that are both whole."""
        return self.try_cast(f"({self.whole(left)} * {self.whole(right)})", EXACT)

    def multiply(self, left: tuple[str, str], right: tuple[str, str]) -> str:
        """A product of two numbers, each given as `whole_part` and `fraction`, rounded to 18 digits."""
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
        """The greatest whole double below; NaN, infinities and the sign of zero stay. Repeats its text."""

    @abstractmethod
    def divide_double(self, left: str, right: str) -> str:
        """IEEE 754 division: x / 0 is an infinity or NaN. Both texts may be repeated."""

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
        """The day so many months after another, or the last of its month; days are counted from 1970."""

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
        """The value whose keys come first (or last); NULL keys are smallest."""

    @abstractmethod
    def struct(self, fields: Mapping[str, str]) -> str:
        """One value of several; structs compare by their fields in order."""

    @abstractmethod
    def gather(self, value: str) -> str:
        """An aggregate that keeps all the values of a group."""

    @abstractmethod
    def gathered(self, lists: str, only: str) -> str:
        """All values of several lists that `gather` made, in order; `only` is a FILTER for the lists."""

    @abstractmethod
    def gathered_total(self, lists: str, only: str) -> str:
        """The sum of doubles that were gathered, added in order; 0 or NULL for none."""

    @abstractmethod
    def gathered_texts(self, lists: str, only: str, field: str, separator: str) -> str:
        """A field of the structs that were gathered, in order, as one text; empty or NULL for none."""

    @abstractmethod
    def join_texts(self, text: str, separator: str, order: str) -> str:
        """The texts of a group, in the order of `order`."""

    # --- names ------------------------------------------------------------------------------------

    @abstractmethod
    def let(self, name: str, value: str, body: str) -> str:
        """An expression in which `name` stands for a value that is computed once."""

    # --- relations --------------------------------------------------------------------------------

    # The words between two items of FROM, before ON.
    semi_join: str
    anti_join: str
    #: Whether an aggregate over a window may have a FILTER.
    filters_windows: bool = False

    @property
    def null(self) -> str:
        """An unbound variable."""
        return f"CAST(NULL AS {self.text_type})"

    @abstractmethod
    def moment(self, micros: str) -> str:
        """The term of an xsd:dateTime in UTC from microseconds since 1970.

        It always has six digits after the second, so that the order of these terms is the order of time.
        """

    @abstractmethod
    def broadcast(self, aliases: Sequence[str]) -> str:
        """The hint of a SELECT that these of its relations are small; empty where there is no such hint."""

    @abstractmethod
    def row_id(self) -> str:
        """A number of its own for each row of a SELECT."""

    @abstractmethod
    def counted(self, item: str, start: str, end: str, alias: str, column: str) -> str:
        """An item of FROM with each of its rows beside every number from a start up to an end, without it;
        rows with none are lost."""

    @abstractmethod
    def far_apart(self, columns: Sequence[str]) -> str:
        """A whole number that is the same where the columns are. Two that differ do so by more than any two
        times, in microseconds, can."""

    @abstractmethod
    def each(self, values: Sequence[str]) -> str:
        """In a SELECT list, a column that has each of some values in a row of its own."""

    @abstractmethod
    def closure(self, closure: Closure) -> str | None:
        """A SELECT of all that a relation of edges reaches, or None where the engine cannot say it."""

    @abstractmethod
    def unfold(self, rows: Sequence[Sequence[str]], columns: Sequence[str], source: str) -> str:
        """A SELECT that makes several rows, given as expressions, of each row of the source."""
