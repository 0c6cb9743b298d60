"""Opening sinks: the description of a sink by a user (an address, with options) comes in, a Sink goes out.

| address | sink |
|---|---|
| `answers.ndjson`, `answers/` | a file; a file for each query in a folder |
| `parquet:DIR` | files of Parquet |
| `delta:DIR`, `iceberg:TABLE` | a table of Spark's |
| `kafka://HOST:PORT/TOPIC` | a topic of Kafka |
| `mqtt://HOST:PORT/TOPIC`, `mqtts://…` | a topic of an MQTT broker |
| `http://…`, `https://…` | a webhook |
| `stream:IRI` | a push stream of the engine |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.addresses import Allowed
from rheos.errors import RheosError
from rheos.filesystems import SCHEMES as FILE_SCHEMES
from rheos.sinks.base import Sink, SinkSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What sinks need from their engine. `session` gives the Spark session. `push` adds elements to a push
    stream; it and `find` raise an error if there is no such stream. With `append`, as in a server, existing
    files are continued; without it, a run begins them anew."""

    session: Callable[[], SparkSession]
    push: Callable[[str, pa.Table], None]
    allowed: Allowed
    append: bool = False
    find: Callable[[str], object] = lambda name: None


Opener = Callable[[SinkSpec, Surroundings], Sink]


def _kafka(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.kafka import KafkaSink

    return KafkaSink(around.allowed.check(spec.to), spec.options)


def _mqtt(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.mqtt import MqttSink

    return MqttSink(around.allowed.check(spec.to), spec.options)


def _webhook(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.webhook import Webhook

    return Webhook(around.allowed.check(spec.to), spec.options)


def _parquet(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.parquet import ParquetSink

    return ParquetSink(_rest(spec.to), spec.options)


def _delta(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.tables import DeltaSink

    return DeltaSink(_rest(spec.to), spec.options, around.session)


def _iceberg(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.tables import IcebergSink

    return IcebergSink(_rest(spec.to), spec.options, around.session)


def _stream(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.streams import StreamSink

    return StreamSink(_rest(spec.to), around.push, around.find)


def _file(spec: SinkSpec, around: Surroundings) -> Sink:
    from rheos.sinks.files import FileSink

    path = _rest(spec.to).removeprefix("//") if spec.to.startswith("file:") else spec.to
    return FileSink(path, spec.options, append=around.append)


# How sinks are opened, by scheme. Further kinds can be added here.
SCHEMES: dict[str, Opener] = {
    "kafka": _kafka,
    "mqtt": _mqtt,
    "mqtts": _mqtt,
    "http": _webhook,
    "https": _webhook,
    "parquet": _parquet,
    "delta": _delta,
    "iceberg": _iceberg,
    "stream": _stream,
    "file": _file,
}
# Sinks on a disk or in a table. Clients of a server may name them only below a folder.
ON_DISK = frozenset({"parquet", "delta", "iceberg", "file"})
ON_NETWORK = frozenset({"kafka", "mqtt", "mqtts", "http", "https"})


def scheme_of(to: str) -> str:
    """The scheme of an address; for a path it is `file`."""
    match = _SCHEME.match(to)
    return match[1].lower() if match else "file"


def open_sink(spec: SinkSpec, around: Surroundings) -> Sink:
    """The sink with a description; RheosError if the description is wrong. No connection is made yet."""
    scheme = scheme_of(spec.to)
    opener = SCHEMES.get(scheme)
    if opener is None:
        if scheme in FILE_SCHEMES:
            raise RheosError(
                f"{spec.to}: nothing can be added to a file there; use parquet:{spec.to.rstrip('/')}"
            )
        known = ", ".join(sorted(f"{name}:" for name in SCHEMES))
        raise RheosError(f"{spec.to}: there is no sink for {scheme}: (there is {known}, or a file)")
    sink = opener(spec, around)
    check_options(sink, spec.to, spec.options)
    return sink


def check_options(sink: Sink, to: str, options: Mapping[str, str]) -> None:
    for name in options:
        if not any(
            name == known or (known.endswith(".") and name.startswith(known)) for known in sink.OPTIONS
        ):
            has = f"it has {', '.join(sink.OPTIONS)}" if sink.OPTIONS else "it has none"
            raise RheosError(f"{to}: unknown option {name!r}; {has}")


def _rest(to: str) -> str:
    rest = to.partition(":")[2]
    if not rest:
        raise RheosError(f"{to}: what comes after the colon is missing")
    return rest
