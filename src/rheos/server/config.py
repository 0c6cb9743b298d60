"""The configuration: a TOML file comes in, a Config goes out, or an error that names the key.

Every key is described in docs/configuration.md; a test compares the two.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyoxigraph as ox

from rheos import durations
from rheos.algebra.entailment import ENTAILMENTS
from rheos.algebra.streams import PhysicalWindow, Window
from rheos.engine import DIALECTS
from rheos.errors import RheosError
from rheos.server import windows
from rheos.server.limits import Limits
from rheos.server.state import Asked

DEFAULT_FILE = "rheos.toml"
DEFAULT_WINDOW = PhysicalWindow(100, 1)
EXECUTIONS = ("auto", "task", "catalyst")

# These are addresses of the server's own.
RESERVED = {"check", "favicon.ico", "health", "metrics", "new", "openapi.json", "page", "queries"}
RESERVED |= {"robots.txt", "sparql", "static", "streams", "trdf"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}")

T = TypeVar("T")


class ConfigError(RheosError):
    """The configuration is wrong: which file, which key, and why."""


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """A stream: a source to read, or without one a stream that clients push to. `lateness` is in µs, and so
    is `ahead`, where `auto` leaves it to the kind of the stream and None is without a bound."""

    name: str
    source: str | None = None
    iri: str | None = None
    lateness: int = 0
    idle: float | None = None
    follow: bool = False
    window: Window | None = None
    ahead: int | Literal["auto"] | None = "auto"

    @property
    def is_push(self) -> bool:
        return self.source is None


@dataclass(frozen=True, slots=True)
class QueryConfig:
    name: str
    text: str
    dialect: str = "auto"
    entailment: str | None = None

    @property
    def asked(self) -> Asked:
        return Asked(self.text, self.dialect, self.entailment)


@dataclass(frozen=True, slots=True)
class Config:
    """What a server is told. `base` is what its addresses begin with; without one, that is where it listens.
    `state` is the folder in which all is that survives it."""

    host: str = "127.0.0.1"
    port: int = 8080
    base: str | None = None
    token: str | None = None
    state: Path = Path("rheos-state")
    execution: str = "auto"
    entailment: str = "none"
    window: Window = DEFAULT_WINDOW
    data: tuple[str, ...] = ()
    graphs: Mapping[str, str] = field(default_factory=dict)
    load_folder: Path | None = None
    streams: tuple[StreamConfig, ...] = ()
    queries: tuple[QueryConfig, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"host = {self.host!r} lets others than this machine in, so a token is needed: "
                'token = "…", which whoever writes sends as Authorization: Bearer …'
            )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_name(name: str) -> str:
    """The name of a stream or a query; ValueError if it cannot be one."""
    if NAME.fullmatch(name) is None:
        raise ValueError(
            "a name has at most 100 letters, digits and . _ ~ -, and begins with a letter or digit"
        )
    if name.lower() in RESERVED:
        raise ValueError(f"{name} is an address of the server's own; take another name")
    return name


def read(path: Path) -> Config:
    """The configuration in a file; paths in it are relative to its folder."""
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the text is not UTF-8") from None
    return config_of(content, str(path), path.parent)


def config_of(content: Mapping[str, Any], name: str = DEFAULT_FILE, folder: Path = Path()) -> Config:
    top = _Table(content, name, "")
    data = top.table("data")
    streams, queries = top.table("streams"), top.table("queries")
    found: dict[str, Any] = {
        "host": top.take("host", _text),
        "port": top.take("port", _port),
        "base": top.take("base", _base),
        "token": top.take("token", _token),
        "state": top.take("state", lambda value: folder / _text(value)) or folder / "rheos-state",
        "execution": top.take("execution", _one_of(EXECUTIONS)),
        "entailment": top.take("entailment", _one_of(ENTAILMENTS)),
        "window": top.take("window", _window),
        "data": data.take("default", lambda value: tuple(_path(folder, item) for item in _texts(value))),
        "graphs": _graphs(data.table("graphs"), folder),
        "load_folder": data.take("folder", lambda value: folder / _text(value)),
        "streams": tuple(_stream(streams.table(name), name, folder) for name in list(streams.left)),
        "queries": tuple(_query(queries.table(name), name, folder) for name in list(queries.left)),
        "limits": _limits(top.table("limits")),
    }
    data.done()
    top.done()
    both = {stream.name for stream in found["streams"]} & {query.name for query in found["queries"]}
    if both:
        raise ConfigError(f"{name}: {', '.join(sorted(both))} is the name of a stream and of a query")
    try:
        return Config(**{key: value for key, value in found.items() if value is not None})
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _stream(table: _Table, name: str, folder: Path) -> StreamConfig:
    table.check(lambda: check_name(name))
    push, source = table.take("push", _truth), table.take("source", _text)
    if bool(push) == (source is not None):
        raise table.error('a stream has either a source = "…" or push = true')
    if source == "-":
        raise table.error("standard input cannot be a stream of a server; use push = true")
    if source is not None and "://" not in source:
        source = _path(folder, source)
    has_bound = "ahead" in table.left
    ahead = table.take(
        "ahead", lambda value: None if value == "none" else durations.microseconds(_text(value))
    )
    found = StreamConfig(
        name,
        source,
        table.take("iri", _iri),
        table.take("lateness", lambda value: durations.microseconds(_text(value))) or 0,
        table.take("idle", lambda value: durations.microseconds(_text(value)) / 1e6),
        table.take("follow", _truth) or False,
        table.take("window", _window),
        ahead if has_bound else "auto",
    )
    table.done()
    return found


def stream_of(name: str, content: Mapping[str, Any]) -> StreamConfig:
    """A push stream as a client describes it, with the keys that a configuration has for one."""
    refused = [key for key in ("source", "follow", "push") if key in content]
    if refused:
        raise ConfigError(f"{', '.join(refused)}: only the configuration can say that; this is a push stream")
    return _stream(_Table({**content, "push": True}, "", f"streams.{name}"), name, Path())


def _query(table: _Table, name: str, folder: Path) -> QueryConfig:
    table.check(lambda: check_name(name))
    file, text = table.take("file", _text), table.take("text", _text)
    if (file is None) == (text is None):
        raise table.error('a query has either a file = "…" or its text = "…"')
    if text is None:
        path = folder / str(file)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the text is not UTF-8"
            raise table.error(f"{path}: {reason}") from None
    dialect = table.take("dialect", _one_of(DIALECTS)) or "auto"
    entailment = table.take("entailment", _one_of(ENTAILMENTS))
    table.done()
    return QueryConfig(name, text, dialect, entailment)


def _graphs(table: _Table, folder: Path) -> dict[str, str]:
    for iri in table.left:
        table.check(lambda iri=iri: _iri(iri))  # type: ignore[misc]
    found = {iri: table.take(iri, lambda value: _path(folder, _text(value))) for iri in list(table.left)}
    return {iri: path for iri, path in found.items() if path is not None}


def _limits(table: _Table) -> Limits:
    kinds = {item.name: _seconds if item.type == "float" else _count for item in fields(Limits)}
    found = {name: table.take(name, kind) for name, kind in kinds.items()}
    table.done()
    return Limits(**{name: value for name, value in found.items() if value is not None})  # type: ignore[arg-type]


class _Table:
    """A table of the file: keys are taken out of it, and none may be left over."""

    def __init__(self, content: Mapping[str, Any], file: str, name: str) -> None:
        self.left = dict(content)
        self._file, self._name = file, name
        self._known: list[str] = []

    def take(self, key: str, read: Callable[[Any], T]) -> T | None:
        self._known.append(key)
        if key not in self.left:
            return None
        value = self.left.pop(key)
        try:
            return read(value)
        except ValueError as error:
            raise self.error(f"{key}: {error}") from None

    def table(self, key: str) -> _Table:
        self._known.append(key)
        content = self.left.pop(key, {})
        if not isinstance(content, dict):
            raise self.error(f"{key} is a table, [{self._under(key)}], not a value")
        return _Table(content, self._file, self._under(key))

    def check(self, check: Callable[[], object]) -> None:
        try:
            check()
        except ValueError as error:
            raise self.error(str(error)) from None

    def done(self) -> None:
        for key in self.left:
            near = difflib.get_close_matches(key, self._known, 1)
            meant = f"did you mean {near[0]}?" if near else f"there is {', '.join(sorted(self._known))}"
            raise self.error(f"unknown key {key!r}: {meant}")

    def error(self, message: str) -> ConfigError:
        where = f"{self._file}: " if self._file else ""
        return ConfigError(f"{where}[{self._name}] {message}" if self._name else f"{where}{message}")

    def _under(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key


# --- values: each gives what it is for, or a ValueError ----------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"expected a text, not {value!r}")
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [_text(value)]
    if not isinstance(value, list):
        raise ValueError(f"expected a text or a list of texts, not {value!r}")
    return [_text(item) for item in value]


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, not {value!r}")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a whole number, not {value!r}")
    return value


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"expected a number of seconds, not {value!r}")
    return float(value)


def _port(value: Any) -> int:
    if _count(value) > 65535:
        raise ValueError(f"expected a port, not {value!r}")
    return int(value)


def _token(value: Any) -> str:
    if not re.fullmatch(r"[!-~]{8,}", _text(value)):
        raise ValueError("a token has at least 8 characters of ASCII, and no spaces")
    return str(value)


def _iri(value: Any) -> str:
    try:
        return ox.NamedNode(_text(value)).value
    except ValueError:
        raise ValueError(f"expected an absolute IRI, not {value!r}") from None


def _base(value: Any) -> str:
    if not re.fullmatch(r"https?://[^/?#]+(?:/[^?#]*)?/", _iri(value)):
        raise ValueError(
            f"expected an address that begins with http: or https: and ends with a slash, not {value!r}"
        )
    return str(value)


def _window(value: Any) -> Window:
    return windows.read(_text(value))


def _path(folder: Path, value: str) -> str:
    return str(folder / value)


def _one_of(known: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"expected one of {', '.join(known)}, not {value!r}")
        return str(value)

    return read
