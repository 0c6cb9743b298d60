"""Durations: lengths of time as people write them (`5s`) or as xsd:duration (`PT5S`), to microseconds and
back."""

from __future__ import annotations

import re

UNITS = {"ms": 1000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}

_SHORT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)")
_XSD = re.compile(
    r"P(?:([0-9]{1,9})D)?(?:T(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.([0-9]{1,6}))?S)?)?"
)


def microseconds(text: str) -> int:
    """Read a length of time such as `5s` or `250ms`; ValueError says what is expected."""
    read = _SHORT.fullmatch(text.strip().lower())
    if read is None:
        raise ValueError(f"expected a length of time such as 5s (units: {', '.join(UNITS)}), not {text!r}")
    return round(float(read[1]) * UNITS[read[2]])


def short(length: int) -> str:
    """A number of microseconds as people write it, in the largest unit in which it is a whole number."""
    unit = next((name for name in reversed(UNITS) if length and length % UNITS[name] == 0), None)
    if unit is not None:
        return f"{length // UNITS[unit]}{unit}"
    return f"{length / UNITS['s']:.6f}".rstrip("0").rstrip(".") + "s"


def from_xsd(text: str) -> int:
    """Read an xsd:duration of days, hours, minutes and seconds. Years and months are refused, because they
    have no fixed length."""
    read = _XSD.fullmatch(text)
    if read is None or text == "P":
        raise ValueError(f"expected a duration of days and times such as PT1H or P1DT12H, not {text!r}")
    days, hours, minutes, seconds, fraction = read.groups(default="0")
    whole = sum(
        int(number) * UNITS[unit]
        for number, unit in zip((days, hours, minutes, seconds), "dhms", strict=True)
    )
    return whole + int(fraction.ljust(6, "0"))


def to_xsd(length: int) -> str:
    """The canonical xsd:duration of a number of microseconds."""
    days, rest = divmod(length, UNITS["d"])
    hours, rest = divmod(rest, UNITS["h"])
    minutes, rest = divmod(rest, UNITS["m"])
    seconds, fraction = divmod(rest, UNITS["s"])
    text = f"P{days}D" if days else "P"
    times = "".join(f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number)
    if fraction:
        times += f"{seconds}.{fraction:06}".rstrip("0") + "S"
    elif seconds or (not days and not times):
        times += f"{seconds}S"
    return f"{text}T{times}" if times else text
