"""Values of literals that are known when a query is compiled, as Python values.

`sql/decode.py` reads the same lexical forms in SQL, so the patterns are shared.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

from rheos.terms import XSD, is_literal, split_literal

# The number of digits of an exact number after the point, and before it.
DIGITS, WHOLE_DIGITS = 18, 19

INTEGER, DECIMAL, FLOAT, DOUBLE = (XSD + name for name in ("integer", "decimal", "float", "double"))
BOOLEAN, DATE_TIME, DATE = (XSD + name for name in ("boolean", "dateTime", "date"))
DURATION, DAY_TIME_DURATION, YEAR_MONTH_DURATION = (
    XSD + name for name in ("duration", "dayTimeDuration", "yearMonthDuration")
)
DURATIONS = (DURATION, DAY_TIME_DURATION, YEAR_MONTH_DURATION)

# The kinds of durations are sets of bits, so that `|` gives the kind of a sum: both parts make an
# xsd:duration.
DAY_TIME, YEAR_MONTH, ANY_DURATION = 1, 2, 3
DURATION_KINDS = {DAY_TIME_DURATION: DAY_TIME, YEAR_MONTH_DURATION: YEAR_MONTH, DURATION: ANY_DURATION}

# Section 17.1: the types derived from xsd:integer are numeric as well.
DERIVED_INTEGERS = tuple(
    XSD + name
    for name in (
        "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip

# The rank of a number is a set of bits, so that `|` is type promotion (17.3): it gives the wider of two
# ranks.
RANK_INTEGER, RANK_DECIMAL, RANK_FLOAT, RANK_DOUBLE = 1, 3, 7, 15
EXACT_RANKS = {"integer": RANK_INTEGER, "decimal": RANK_DECIMAL}
RANKS = {INTEGER: RANK_INTEGER, DECIMAL: RANK_DECIMAL, FLOAT: RANK_FLOAT, DOUBLE: RANK_DOUBLE}
RANKS.update(dict.fromkeys(DERIVED_INTEGERS, RANK_INTEGER))
DATATYPE_OF_RANK = {RANK_INTEGER: INTEGER, RANK_DECIMAL: DECIMAL, RANK_FLOAT: FLOAT, RANK_DOUBLE: DOUBLE}

# Lexical forms of XSD, in a syntax that Python, RE2 and Java share.
INTEGER_FORM = "[+-]?[0-9]+"
DECIMAL_FORM = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
DOUBLE_FORM = DECIMAL_FORM + "(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
ZONE_FORM = "(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)"
DATE_FORM = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME_FORM = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
END_OF_DAY_FORM = r"24:00:00(?:\.0+)?"

# Durations (XSD 1.1, 3.3.6.2, 3.4.26, 3.4.27) up to 183,332 years, or 72,000 years in microseconds: a BIGINT
# then has room for the sum of two. Leading and trailing zeros do not count. That something must follow P and
# T is checked separately, because a pattern with all possibilities would be long.
_MONTHS = "(?:0*[0-9]{1,5}Y)?(?:0*[0-9]{1,6}M)?"
_TIME = r"(?:T(?:0*[0-9]{1,8}H)?(?:0*[0-9]{1,9}M)?(?:0*[0-9]{1,12}(?:\.[0-9]{1,6}0*)?S)?)?"
_DAYS = rf"(?:0*[0-9]{{1,7}}D)?{_TIME}"
DURATION_FORMS = {DURATION: _MONTHS + _DAYS, DAY_TIME_DURATION: _DAYS, YEAR_MONTH_DURATION: _MONTHS}

MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
MICROS_PER_SECOND = 1_000_000

_PRECISE = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class ConstantNumber:
    """The value of a number. `exact` is None for floats, doubles, and numbers too long for DECIMAL(37,18)."""

    rank: int
    exact: Decimal | None
    approx: float


@dataclass(frozen=True, slots=True)
class ConstantMoment:
    datatype: str
    micros: int
    zoned: bool


@dataclass(frozen=True, slots=True)
class ConstantDuration:
    """A duration: months, and everything shorter as microseconds, of the same sign.

    `kind` is a set of bits.
    """

    kind: int
    months: int
    micros: int


def parts(term: str) -> tuple[str, str] | None:
    """The lexical form and the suffix of a literal."""
    return split_literal(term) if is_literal(term) else None


def datatype(suffix: str) -> str | None:
    return suffix[3:-1] if suffix.startswith("^^") else None


def float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def decimal(lexical: str) -> Decimal | None:
    """A decimal number rounded to 18 digits after the point; None if it has too many digits before it."""
    exact = Decimal(lexical)
    if exact and exact.adjusted() >= WHOLE_DIGITS:  # quick, while rounding thousands of digits is not
        return None
    value = exact.quantize(Decimal(1).scaleb(-DIGITS), context=_PRECISE)
    if abs(value) >= Decimal(10) ** WHOLE_DIGITS:
        return None
    return value.to_integral_value() if value == value.to_integral_value() else value.normalize(_PRECISE)


def number(lexical: str, kind: str | None) -> ConstantNumber | None:
    rank = RANKS.get(kind or "")
    form = {RANK_INTEGER: INTEGER_FORM, RANK_DECIMAL: DECIMAL_FORM}.get(rank or 0, DOUBLE_FORM)
    if rank is None or not re.fullmatch(form, lexical):
        return None
    approx = float(lexical.replace("INF", "inf"))
    if rank == RANK_FLOAT:
        approx = float32(approx)
    return ConstantNumber(rank, decimal(lexical) if rank <= RANK_DECIMAL else None, approx)


def moment(lexical: str, kind: str | None) -> ConstantMoment | None:
    """A date or dateTime as microseconds since 1970, in UTC or, without a zone, as if it were in UTC."""
    forms = {DATE_TIME: f"({DATE_FORM})T({TIME_FORM}|{END_OF_DAY_FORM})", DATE: f"({DATE_FORM})()"}
    if kind not in forms:
        return None
    found = re.fullmatch(f"{forms[kind]}({ZONE_FORM})?", lexical)
    if not found:
        return None
    day, time, zone = found[1], found[2] or "00:00:00", found[3]
    whole, _, fraction = time.partition(".")
    end_of_day = whole == "24:00:00"
    try:
        start = datetime.strptime(f"{day}T{'00:00:00' if end_of_day else whole}", "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    micros = (start.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    micros += int((fraction + "000000")[:6]) + (MICROS_PER_DAY if end_of_day else 0)
    if zone and zone != "Z":
        offset = (int(zone[1:3]) * 60 + int(zone[4:6])) * 60_000_000
        micros -= offset if zone[0] == "+" else -offset
    return ConstantMoment(kind, micros, zone is not None)


def duration(lexical: str, kind: str | None) -> ConstantDuration | None:
    form = DURATION_FORMS.get(kind or "")
    if form is None or not re.fullmatch(f"-?P{form}", lexical) or lexical[-1] in "PT":
        return None

    def part(text: str, unit: str) -> Decimal:
        found = re.search(rf"([0-9.]+){unit}", text)
        return Decimal(found[1]) if found else Decimal(0)

    days, _, time = lexical.partition("T")
    sign = -1 if lexical[0] == "-" else 1
    months = part(days, "Y") * 12 + part(days, "M")
    micros = part(days, "D") * MICROS_PER_DAY + part(time, "H") * MICROS_PER_HOUR
    micros += part(time, "M") * MICROS_PER_MINUTE + part(time, "S") * MICROS_PER_SECOND
    return ConstantDuration(DURATION_KINDS[kind or ""], sign * int(months), sign * int(micros))


def truth(term: str) -> bool | None:
    """The value of a well-formed xsd:boolean."""
    found = parts(term)
    if found is None or datatype(found[1]) != BOOLEAN:
        return None
    return {"true": True, "1": True, "false": False, "0": False}.get(found[0])
