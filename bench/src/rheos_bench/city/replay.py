"""Replay: the records of CityBench's streams come in, and go out as CSV at other times.

The streams were recorded in two seasons: traffic, pollution and weather in August 2014, parking from May on.
A `Pace` moves both seasons to one beginning and makes them as many times faster, as CityBench does itself:
the windows of its queries are seconds, and the records of most streams five minutes apart. The user's places
have no time in the files. One is taken every five minutes, from the moment at which the parking begins.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from rheos.answers.continuous import EPOCH, time_text
from rheos_bench.city.mappings import USER, time_field
from rheos_bench.city.material import folder

SECOND = 1_000_000
APART = 300 * SECOND  # from one place of the user to the next
PARKING = "AarhusParkingData"


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a stream: its time in microseconds since 1970, and its fields."""

    time: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stream as it was recorded."""

    name: str
    header: tuple[str, ...]
    records: tuple[Record, ...]

    @property
    def later_season(self) -> bool:
        return not self.name.startswith((PARKING, USER))


@dataclass(frozen=True, slots=True)
class Pace:
    """When records come: those of the moment `origins[later_season]` at `start`, and then `speed` times as
    fast as they were recorded."""

    start: int
    speed: int
    origins: tuple[int, int]

    def moved(self, stream: Recorded, until: int) -> Recorded:
        """The records from the origin on, with their times moved, as far as they come before `until`."""
        origin, at = self.origins[stream.later_season], stream.header.index(time_field(stream.name))
        moved = []
        for record in stream.records:
            time = self.start + (record.time - origin) // self.speed
            if self.start <= time < until:
                fields = (*record.fields[:at], time_text(time), *record.fields[at + 1 :])
                moved.append(Record(time, fields))
        return Recorded(stream.name, stream.header, tuple(moved))


def origins() -> tuple[int, int]:
    """Where a replay begins in both seasons: every stream has a record then."""
    later = [stream for stream in recorded().values() if stream.later_season]
    together = set.intersection(*({record.time for record in stream.records} for stream in later))
    return recorded()[USER].records[0].time, min(together)


@cache
def recorded() -> dict[str, Recorded]:
    """All streams by their names."""
    streams = [_table(path) for path in sorted((folder() / "streams").glob("Aarhus*.csv"))]
    parking = [stream for stream in streams if stream.name.startswith(PARKING)]
    begin = min(filter(None, map(_before_it_is_full, parking)))
    return {stream.name: stream for stream in (*streams, _places(begin))}


def _before_it_is_full(garage: Recorded) -> int | None:
    """The time of the last record before a garage is full for the first time, which a query asks for."""
    taken, spaces = (garage.header.index(name) for name in ("vehiclecount", "totalspaces"))
    free = (int(record.fields[spaces]) - int(record.fields[taken]) for record in garage.records)
    full = next((at for at, spaces in enumerate(free) if spaces < 1), None)
    return None if full is None else garage.records[full - 1].time


def _table(path: Path) -> Recorded:
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    at = header.index(time_field(path.stem))
    return Recorded(path.stem, tuple(header), tuple(Record(moment(row[at]), tuple(row)) for row in rows))


def _places(begin: int) -> Recorded:
    """The user's places: lines of `user|latitude,longitude`."""
    lines = (folder() / "streams" / f"{USER}.csv").read_text(encoding="utf-8").split()
    records = []
    for number, line in enumerate(lines):
        user, _, place = line.partition("|")
        time = begin + number * APART
        records.append(Record(time, (user, *place.split(","), time_text(time))))
    return Recorded(USER, ("user", "user_latitude", "user_longitude", "time"), tuple(records))


def moment(text: str) -> int:
    """A time of the files, which have no zone: microseconds since 1970."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def table(header: Sequence[str], records: Iterable[Record]) -> str:
    """Records as CSV with the names of the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(record.fields for record in records)
    return text.getvalue()


def write(streams: Iterable[Recorded], place: Path) -> dict[str, Path]:
    """Write streams to files of a folder; give their paths by their names."""
    paths = {stream.name: place / f"{stream.name}.csv" for stream in streams}
    for stream in streams:
        paths[stream.name].write_text(table(stream.header, stream.records), encoding="utf-8")
    return paths
