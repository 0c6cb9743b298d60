"""Tsunami: a generated stream of the pressure that a buoy measures.

The pressure is the height of the water above the sea bed, in millimetres. It is the sum of a tide of four
constituents, a little noise, and the given tsunamis, each a train of waves that fades within hours. The
EP-SPARQL paper predicts it by a polynomial through the values of the last three hours. The tide is smooth
enough for that to be right to a few millimetres; a tsunami is off by more than 30.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from rheos_bench.applications.elements import HOUR, decimal, element, write

SEA = "http://example.org/sea#"
STREAM = "http://example.org/stream/buoy"
BUOY = f"<{SEA}buoy46073>"

EVERY = 15  # seconds, as the buoys of the NDBC measure
# Once an hour, and when the prediction from that reading is due: enough to predict, and much less to read.
SPARSE = (0, 315)

WEIGHTS = (1.16818457031250, -0.28197558593750, 0.14689746093750, -0.03310644531250)
AHEAD = 315  # seconds from the last value to what is predicted
THRESHOLD = 30  # millimetres, in the North Pacific

DEPTH = 2_987_000.0
# Amplitude in millimetres, period in hours: M2, S2, K1 and O1.
TIDE = ((420.0, 12.4206), (90.0, 12.0), (380.0, 23.9345), (250.0, 25.8193))
NOISE = 2.0  # millimetres at most
WAVE, WAVE_PERIOD, FADES = 110.0, 0.35, 1.2  # millimetres, hours, hours

PLACES = ("Atka", "Nikolski", "Saint Paul", "Unalaska")  # around the Bering Sea

_PRESSURE, _WARNS, _NAME = (f"<{SEA}{name}>" for name in ("pressure", "warns", "name"))


def pressure(hours: float, tsunamis: Sequence[float]) -> float:
    """Millimetres of water so many hours after the start. `tsunamis` are the hours at which waves begin."""
    tide = sum(height * math.cos(2 * math.pi * hours / period) for height, period in TIDE)
    waves = 0.0
    for start in tsunamis:
        since = hours - start
        if since > 0:
            waves += WAVE * math.exp(-since / FADES) * math.sin(2 * math.pi * since / WAVE_PERIOD)
    return DEPTH + tide + waves


def lines(
    hours: int,
    tsunamis: Sequence[float] = (),
    seed: int = 42,
    moments: Sequence[int] = range(0, HOUR, EVERY),
) -> Iterator[str]:
    """The readings in order of time, at the same seconds of every hour."""
    pick = random.Random(seed).random
    for hour in range(hours):
        for second in moments:
            time = hour * HOUR + second
            value = pressure(time / HOUR, tsunamis) + NOISE * (2 * pick() - 1)
            yield element(f"{BUOY} {_PRESSURE} {decimal(value, 1)}", time)


def static_lines() -> Iterator[str]:
    """The places that a buoy warns, as N-Triples."""
    for number, name in enumerate(PLACES):
        place = f"<{SEA}place{number}>"
        yield f"{BUOY} {_WARNS} {place} .\n"
        yield f'{place} {_NAME} "{name}" .\n'


def write_places(path: Path) -> Path:
    """Write the background knowledge to a file of N-Triples."""
    return write(path, static_lines())


def write_pressure(
    path: Path,
    hours: int,
    tsunamis: Sequence[float] = (),
    seed: int = 42,
    moments: Sequence[int] = range(0, HOUR, EVERY),
) -> Path:
    """Write the stream to a file."""
    return write(path, lines(hours, tsunamis, seed, moments))
