"""Random durations and moments with what they are: a source of random choices comes in, lexical forms go out.

The slow and obvious reference beside them adds durations to dates by Python's calendar, and knows no limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from random import Random

from rheos.terms import XSD, literal

UNITS = {"D": 86_400_000_000, "H": 3_600_000_000, "M": 60_000_000, "S": 1_000_000}
REFERENCES = (date(1696, 9, 1), date(1697, 2, 1), date(1903, 3, 1), date(1903, 7, 1))


@dataclass(frozen=True)
class Span:
    """A duration by its value, and a literal that has it."""

    months: int
    micros: int
    datatype: str
    term: str

    def after(self, start: date) -> int:
        """Microseconds from year 1 to the end of the duration, if it starts at the first day of a month."""
        year, month = divmod(start.year * 12 + start.month - 1 + self.months, 12)
        return date(year, month + 1, 1).toordinal() * UNITS["D"] + self.micros


def compare(a: Span, operator: str, b: Span) -> bool | None:
    same = (a.months, a.micros) == (b.months, b.micros)
    if operator in ("=", "!="):
        return same == (operator == "=")
    if same:
        return operator in ("<=", ">=")
    less = {a.after(start) < b.after(start) for start in REFERENCES}
    greater = {a.after(start) > b.after(start) for start in REFERENCES}
    if less == {True}:
        return operator[0] == "<"
    return operator[0] == ">" if greater == {True} else None


def total(a: Span, sign: int, b: Span) -> str | None:
    """The term of a sum or difference."""
    months, micros = a.months + sign * b.months, a.micros + sign * b.micros
    if months * micros < 0:
        return None
    datatype = a.datatype if a.datatype == b.datatype else "duration"
    return literal(canonical(months, micros, datatype), XSD + datatype)


def between(a: datetime, b: datetime) -> Span:
    micros = (a - b) // timedelta(microseconds=1)
    text = canonical(0, micros, "dayTimeDuration")
    return Span(0, micros, "dayTimeDuration", literal(text, XSD + "dayTimeDuration"))


def canonical(months: int, micros: int, datatype: str) -> str:
    if not months and not micros:
        return "P0M" if datatype == "yearMonthDuration" else "PT0S"
    sign, months, rest = "-" if months < 0 or micros < 0 else "", abs(months), abs(micros)
    text = "".join(f"{count}{unit}" for count, unit in zip(divmod(months, 12), "YM", strict=True) if count)
    days, rest = divmod(rest, UNITS["D"])
    hours, rest = divmod(rest, UNITS["H"])
    minutes, rest = divmod(rest, UNITS["M"])
    seconds = f"{rest / 1_000_000:.6f}".rstrip("0").rstrip(".")
    text += f"{days}D" if days else ""
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    time += f"{seconds}S" if rest else ""
    return f"{sign}P{text}{'T' + time if time else ''}"


class Spans:
    def __init__(self, random: Random) -> None:
        self.random = random

    def span(self) -> Span:
        datatype = self.random.choice(("duration", "duration", "dayTimeDuration", "yearMonthDuration"))
        parts = self.parts()
        allowed = {"dayTimeDuration": "DhmS", "yearMonthDuration": "YM"}.get(datatype, "YMDhmS")
        chosen = [unit for unit in allowed if self.random.random() < 0.5] or [allowed[0]]
        texts = {unit: f"{self.random.choice(('', '', '00'))}{parts[unit]}{unit.upper()}" for unit in chosen}
        day, time = ("".join(texts.get(unit, "") for unit in units) for units in ("YMD", "hmS"))
        sign = self.random.choice((1, 1, 1, -1))
        text = f"{'-' if sign < 0 else ''}P{day}{'T' + time if time else ''}"
        months = sum(int(parts[unit]) * (12 if unit == "Y" else 1) for unit in chosen if unit in "YM")
        micros = sum(round(float(parts[unit]) * UNITS[unit.upper()]) for unit in chosen if unit in "DhmS")
        return Span(sign * months, sign * micros, datatype, literal(text, XSD + datatype))

    def parts(self) -> dict[str, str]:
        """A count of each unit; minutes are `m`. Many days are near to a month or a year, where the order is
        hard to tell."""
        choose = self.random.choice
        return {
            "Y": choose("014"),
            "M": str(self.random.randrange(40)),
            "D": str(choose((0, 1, self.random.randrange(28, 32), self.random.randrange(360, 370)))),
            "h": choose(("0", "1", "24")),
            "m": str(self.random.randrange(70)),
            "S": choose(("0", "1", "59", "3600", "0.5", "0.000001", "12.340")),
        }

    def moment(self) -> datetime:
        ahead = self.random.choice((0, 330, -480))
        zone = timezone(timedelta(minutes=ahead)) if ahead else UTC
        day = date(1890, 1, 1).toordinal() + self.random.randrange(60_000)
        micros = self.random.choice((0, 500_000, 1, 86_399_999_999, 3_600_000_000))
        start = datetime.fromordinal(day).replace(tzinfo=zone)
        return start + timedelta(microseconds=micros)


def written(moment: datetime) -> str:
    """The term of a moment, in canonical form."""
    text = moment.replace(tzinfo=None).isoformat()
    text = text.rstrip("0").rstrip(".") if "." in text else text
    zone = "Z" if moment.tzinfo is UTC else moment.isoformat()[-6:]
    return literal(text + zone, XSD + "dateTime")


def later(moment: datetime, sign: int, span: Span) -> datetime:
    """XSD 1.1, E.3.3: first the months, to the last day of a shorter one, then the rest."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + sign * span.months, 12)
    first_after = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (first_after - timedelta(days=1)).day
    shifted = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    return shifted + sign * timedelta(microseconds=span.micros)
