"""The configuration: a TOML file comes in, a Config goes out, or an error that names the key.

`Settings` is the file as it is written. `Config` is what the server works with: paths are resolved, the files
of queries are read, and texts have become windows and lengths of time. docs/configuration.md describes every
key; a test compares that page with `Settings`.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec
import pyoxigraph as ox
from msgspec import Struct, field

from rheos import durations
from rheos.addresses import AddressError, Allowed, address, allowed_place
from rheos.algebra.streams import MovingWindow, PhysicalWindow
from rheos.errors import RheosError
from rheos.server import models, sinks, windows
from rheos.server.environment import merged, settings
from rheos.server.limits import Limits
from rheos.server.models import Count, Entailment, Port, Text, Texts, Truth
from rheos.server.state import Asked
from rheos.sinks.base import LIMIT, Full, SinkSpec
from rheos.sinks.opening import ON_NETWORK, scheme_of

if TYPE_CHECKING:
    from rheos.mapping import Mapping

DEFAULT_FILE = "rheos.toml"
DEFAULT_WINDOW = PhysicalWindow(100, 1)

# Addresses of the server itself, which cannot be names of streams or queries.
RESERVED = {"check", "favicon.ico", "flow", "health", "metrics", "new", "new-data", "new-stream"}
RESERVED |= {"openapi.json", "page"}
RESERVED |= {"preview", "queries", "rdf-graph-store", "robots.txt", "sparql", "static", "streams", "trdf"}

T = TypeVar("T")


class ConfigError(RheosError):
    """The configuration is wrong: which file, which key, and why."""


# --- the file ----------------------------------------------------------------------------------------


class LogTable(Struct, frozen=True):
    """`[log]`: what the server writes on standard error, and how."""

    level: models.Level = "info"
    format: models.LogFormat = "json"


class TlsTable(Struct, frozen=True):
    """`[tls]`: the certificate and its key, for a server that speaks https itself, without a proxy."""

    certificate: Text | None = None
    key: Text | None = None


class Common(Struct, frozen=True, kw_only=True):
    """The settings that `Settings` and `Config` share. All addresses of the server begin with `base`; without
    it, they begin with host and port."""

    host: Text = "127.0.0.1"
    port: Port = 8080
    base: Text | None = None
    token: Text | None = None
    read_token: Text | None = None
    strict: Truth = False
    log: LogTable = LogTable()
    execution: models.Execution = "auto"
    entailment: Entailment = "none"
    allow: models.Places = ()
    kafka: Truth = False
    limits: Limits = Limits()


class DataTable(Struct, frozen=True):
    """`[data]`: the static data."""

    default: Texts = ()
    graphs: dict[str, Text] = field(default_factory=dict)
    folder: Text | None = None


class StreamTable(models.StreamDescription, frozen=True):
    """`[streams.NAME]`: either a source or a stream that clients push to. Options that do not belong into the
    URL of a source are in the table of its kind: `kafka`, `mqtt` or `http`."""

    push: Truth = False
    follow: Truth = False
    read_token: Text | None = None
    kafka: dict[str, Text] = field(default_factory=dict)
    mqtt: dict[str, Text] = field(default_factory=dict)
    http: dict[str, Text] = field(default_factory=dict)


class SinksTable(Struct, frozen=True):
    """`[sinks]`: the defaults for all sinks, and the folder for the files that clients have written."""

    limit: Count = LIMIT
    full: models.Full = "stop"
    folder: Text | None = None


class SinkTable(Struct, frozen=True):
    """A sink of a query. A sink that is written as a text has only its address, `to`."""

    to: Text | None = None
    limit: Count | None = None
    full: models.Full | None = None
    options: dict[str, Text] = field(default_factory=dict)


class QueryTable(Struct, frozen=True):
    """`[queries.NAME]`: a query, either in a file or here."""

    file: Text | None = None
    text: Text | None = None
    dialect: models.Dialect = "auto"
    entailment: Entailment | None = None
    read_token: Text | None = None
    sinks: models.SinkList = ()


class Settings(Common, frozen=True, kw_only=True):
    """The content of the file."""

    token_file: Text | None = None
    read_token_file: Text | None = None
    state: Text = "rheos-state"
    tls: TlsTable = TlsTable()
    window: models.Window | None = None
    data: DataTable = DataTable()
    sinks: SinksTable = SinksTable()
    streams: dict[str, StreamTable] = field(default_factory=dict)
    queries: dict[str, QueryTable] = field(default_factory=dict)


# --- what the server works with ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """A stream that has a source, or that clients push to. `lateness` and `ahead` are in µs, `idle` is in
    seconds. `ahead` is None where there is no bound; with "auto" the kind of the stream decides. With a
    `mapping` the stream takes records that are not RDF; `time` says where the time of elements comes from."""

    name: str
    source: str | None = None
    iri: str | None = None
    lateness: int = 0
    idle: float | None = None
    follow: bool = False
    window: MovingWindow | None = None
    ahead: int | Literal["auto"] | None = "auto"
    mapping: Mapping | None = None
    time: str | None = None
    read_token: str | None = dataclass_field(default=None, repr=False)
    options: Table[str, str] = dataclass_field(default_factory=dict, repr=False)  # secrets are among them

    @property
    def is_push(self) -> bool:
        return self.source is None


@dataclass(frozen=True, slots=True)
class QueryConfig:
    """A query of the configuration."""

    name: str
    text: str
    dialect: str = "auto"
    entailment: str | None = None
    sinks: tuple[SinkSpec, ...] = ()
    read_token: str | None = dataclass_field(default=None, repr=False)

    @property
    def asked(self) -> Asked:
        return Asked(self.text, self.dialect, self.entailment)


@dataclass(frozen=True, slots=True)
class SinksConfig:
    """How much may wait for a sink, what to do beyond that, and where clients may have files written."""

    limit: int = LIMIT
    full: Full = "stop"
    folder: Path | None = None


class Tls(NamedTuple):
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


class Config(Common, frozen=True, kw_only=True):
    """The configuration of a server. The folder `state` holds everything that survives the process."""

    state: Path = Path("rheos-state")
    tls: Tls | None = None
    window: MovingWindow = DEFAULT_WINDOW
    data: tuple[str, ...] = ()
    graphs: Table[str, str] = field(default_factory=dict)
    load_folder: Path | None = None
    sinks: SinksConfig = SinksConfig()
    streams: tuple[StreamConfig, ...] = ()
    queries: tuple[QueryConfig, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"host = {self.host!r} lets others than this machine in, so a token is needed: "
                'token = "…", which whoever writes sends as Authorization: Bearer …'
            )

    @property
    def read_tokens(self) -> dict[str, str]:
        """The streams and queries that have a token of their own for reading."""
        named: list[StreamConfig | QueryConfig] = [*self.streams, *self.queries]
        return {item.name: item.read_token for item in named if item.read_token is not None}


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read(path: Path | None, given: Table[str, Any] | None = None) -> Config:
    """Read the configuration file, if there is one. Settings in `given` replace those of the file. Paths are
    relative to the folder of the file."""
    content: dict[str, Any] = {}
    if path is not None:
        try:
            content = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path}: {error}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: the text is not UTF-8") from None
    name, folder = (DEFAULT_FILE, Path()) if path is None else (str(path), path.parent)
    return config_of(merged(content, given or {}), name, folder)


def from_environment(variables: Table[str, str]) -> dict[str, Any]:
    """The settings from environment variables."""
    try:
        return settings(variables, Settings)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def config_of(content: Table[str, Any], file: str = DEFAULT_FILE, folder: Path = Path()) -> Config:
    top = Place(file)
    given: Settings = read_table(Settings, content, top)
    found = {key: getattr(given, key) for key in Common.__struct_fields__}
    found["base"] = top.value("base", base, given.base)
    for key in ("token", "read_token"):
        found[key] = _secret(key, getattr(given, key), getattr(given, f"{key}_file"), top, folder)
    if (given.tls.certificate is None) != (given.tls.key is None):
        raise top.under("tls").error("a certificate and its key belong together")
    if given.tls.certificate is not None and given.tls.key is not None:
        found["tls"] = Tls(folder / given.tls.certificate, folder / given.tls.key)
    files = (given.data.default,) if isinstance(given.data.default, str) else given.data.default
    for iri in given.data.graphs:
        top.under("data").under("graphs").check(absolute_iri, iri)
    both = given.streams.keys() & given.queries.keys()
    if both:
        raise top.error(f"{', '.join(sorted(both))} is the name of a stream and of a query")
    streams = (_stream(table, name, top, folder) for name, table in given.streams.items())
    common = SinksConfig(
        given.sinks.limit,
        given.sinks.full,
        None if given.sinks.folder is None else folder / given.sinks.folder,
    )
    queries = (_query(table, name, top, folder, common) for name, table in given.queries.items())
    for place in given.allow:
        top.value("allow", allowed_place, place)
    found |= {"streams": tuple(streams), "queries": tuple(queries), "sinks": common}
    found["window"] = top.value("window", windows.read, given.window) or DEFAULT_WINDOW
    try:
        return Config(
            **found,
            state=folder / given.state,
            data=tuple(str(folder / file) for file in files),
            graphs={iri: str(folder / file) for iri, file in given.data.graphs.items()},
            load_folder=None if given.data.folder is None else folder / given.data.folder,
        )
    except ConfigError as error:
        raise top.error(str(error)) from None


def _secret(key: str, text: str | None, file: str | None, top: Place, folder: Path) -> str | None:
    """A token, which is given as a text or as the name of a file."""
    if text is not None and file is not None:
        raise top.error(f"{key} and {key}_file: only one of them")
    if file is not None:
        try:
            text = (folder / file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the text is not UTF-8"
            raise top.error(f"{key}_file: {folder / file}: {reason}") from None
    return top.value(key, token, text)


def stream_of(name: str, content: Table[str, Any], allow: Iterable[str] = ()) -> StreamConfig:
    """A stream as a client describes it: one to push to, or with a source at a place that is allowed."""
    own = [
        key for key in StreamTable.__struct_fields__ if key not in models.StreamDescription.__struct_fields__
    ]
    refused = [key for key in own if key in content]
    if refused:
        raise ConfigError(f"{', '.join(refused)}: only the configuration can say that")
    place = Place("", f"streams.{name}")
    given = read_table(models.StreamDescription, content, place)
    if given.source is not None:
        from rheos.sources.opening import LIVE_SCHEMES, is_live

        if not is_live(given.source):
            known = ", ".join(f"{scheme}://" for scheme in LIVE_SCHEMES)
            raise place.error(f"source: only the configuration can name that; clients can name {known}")
        try:
            Allowed.of(allow).check(given.source.replace("#", "%23"))
        except AddressError as error:
            raise place.error(f"source: {error}") from None
    pushed = given.source is None
    return _stream(StreamTable(**msgspec.structs.asdict(given), push=pushed), name, Place(""), None)


def _stream(given: StreamTable, name: str, top: Place, folder: Path | None) -> StreamConfig:
    """A stream. Without a `folder` a client describes it, and gives the text of the mapping, not a file."""
    place, source = top.under("streams").under(name), given.source
    place.check(check_name, name)
    if given.push == (source is not None):
        raise place.error('a stream has either a source = "…" or push = true')
    if source == "-":
        raise place.error("standard input cannot be a stream of a server; use push = true")
    if source is not None and "://" not in source:
        source = str((folder or Path()) / source)
    idle = place.value("idle", durations.microseconds, given.idle)
    ahead = place.value("ahead", bound, given.ahead)
    return StreamConfig(
        name,
        source,
        iri=place.value("iri", absolute_iri, given.iri),
        lateness=place.value("lateness", durations.microseconds, given.lateness) or 0,
        idle=None if idle is None else idle / 1e6,
        follow=given.follow,
        window=place.value("window", windows.read, given.window),
        ahead="auto" if given.ahead is None else ahead,
        mapping=_mapping(given, place, folder),
        time=given.time,
        read_token=place.value("read_token", token, given.read_token),
        options=_options(given, source, place),
    )


# The tables of options, and the schemes of the sources that take them. Of `poll+http` only `http` counts.
_OPTIONS = {"kafka": ("kafka",), "mqtt": ("mqtt", "mqtts"), "http": ("http", "https", "ws", "wss")}


def _options(given: StreamTable, source: str | None, place: Place) -> dict[str, str]:
    """The options of a source, from the table of its kind."""
    scheme = (source or "").partition("://")[0].lower().rpartition("+")[2]
    for table, schemes in _OPTIONS.items():
        options: dict[str, str] = getattr(given, table)
        if options and scheme not in schemes:
            raise place.error(f"{table}: the stream has no source of that kind")
        if options:
            return options
    return {}


def _mapping(given: StreamTable, place: Place, folder: Path | None) -> Mapping | None:
    """The mapping of a stream; ConfigError if it is wrong, or if it does not go with `time`."""
    from rheos.mapping import Mapping
    from rheos.sources.decoding import Decoding
    from rheos.sources.receivers.opening import RECEIVERS

    if given.mapping is None and given.time is None:
        return None
    try:
        mapping = None
        if given.mapping is not None:
            mapping = Mapping.of(given.mapping) if folder is None else Mapping.read(folder / given.mapping)
        decoding = Decoding(mapping, given.time)
        decoding.decoder()
        if given.push and decoding.clock.kind == "message":
            raise RheosError("what is pushed has no time of its own: say field:NAME, property:IRI or arrival")
        receiver = RECEIVERS.get((given.source or "").partition("://")[0].lower())
        if receiver is not None:
            receiver.check_clock(decoding.clock, given.source or "")
    except RheosError as error:
        raise place.error(f"mapping: {error}" if given.mapping else f"time: {error}") from error
    return mapping


def _query(given: QueryTable, name: str, top: Place, folder: Path, common: SinksConfig) -> QueryConfig:
    place = top.under("queries").under(name)
    place.check(check_name, name)
    if (given.file is None) == (given.text is None):
        raise place.error('a query has either a file = "…" or its text = "…"')
    text = given.text
    if text is None:
        path = folder / str(given.file)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the text is not UTF-8"
            raise place.error(f"{path}: {reason}") from None
    specs = tuple(_sink(sink, place.under("sinks"), folder, common) for sink in given.sinks)
    own = place.value("read_token", token, given.read_token)
    return QueryConfig(name, text, given.dialect, given.entailment, specs, own)


def _sink(given: Any, place: Place, folder: Path, common: SinksConfig) -> SinkSpec:
    if not isinstance(given, dict):
        given = {"to": given}
    table: SinkTable = read_table(SinkTable, given, place)
    if table.to is None:
        raise place.error('a sink has an address, to = "…"')
    if scheme_of(table.to) in ON_NETWORK:
        place.check(network_address, table.to)
    return SinkSpec(
        sinks.below(folder, table.to),
        common.limit if table.limit is None else table.limit,
        table.full or common.full,
        table.options,
    )


def network_address(text: str) -> str:
    try:
        address(text)
    except AddressError as error:
        raise ValueError(str(error)) from None
    return text


# --- tables and their models -------------------------------------------------------------------------


class Place(NamedTuple):
    """The place of a table in a file, which errors name."""

    file: str
    name: str = ""

    def under(self, key: str) -> Place:
        return Place(self.file, f"{self.name}.{key}" if self.name else key)

    def error(self, message: str) -> ConfigError:
        where = f"{self.file}: " if self.file else ""
        return ConfigError(f"{where}[{self.name}] {message}" if self.name else f"{where}{message}")

    def value(self, key: str, read: Callable[[str], T], text: str | None) -> T | None:
        """The value that a text stands for; None if the key is not there."""
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise self.error(f"{key}: {error}") from None

    def check(self, read: Callable[[str], object], name: str) -> None:
        """Check the name of a table."""
        try:
            read(name)
        except ValueError as error:
            raise self.error(str(error)) from None


def read_table(model: Any, content: Any, place: Place) -> Any:
    """A table as an object of its model. msgspec checks single values only, because its errors would not
    name the table."""
    if get_origin(model) is dict:
        known = dict.fromkeys(content, get_args(model)[1])
    else:
        known = {item.name: item.type for item in msgspec.structs.fields(model)}
    for key in (key for key in content if key not in known):
        near = difflib.get_close_matches(key, known, 1)
        meant = f"did you mean {near[0]}?" if near else f"there is {', '.join(sorted(known))}"
        raise place.error(f"unknown key {key!r}: {meant}")
    return model(**{key: _value(known[key], key, value, place) for key, value in content.items()})


def _value(model: Any, key: str, value: Any, place: Place) -> Any:
    if get_origin(model) is dict or (isinstance(model, type) and issubclass(model, Struct)):
        if not isinstance(value, dict):
            raise place.error(f"{key} is a table, [{place.under(key).name}], not a value")
        return read_table(model, value, place.under(key))
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError:
        raise place.error(f"{key}: expected {_title(model)}, not {value!r}") from None


def _title(model: Any) -> str:
    """A type in words, for errors."""
    for part in (model, *get_args(model)):
        if get_origin(part) is Literal:
            return f"one of {', '.join(get_args(part))}"
        for meta in getattr(part, "__metadata__", ()):
            return str(meta.title)
    raise TypeError(f"{model} has no title")


# --- texts: each of these returns the value of a text, or raises a ValueError -----------------------------


def check_name(name: str) -> str:
    """The name of a stream or a query."""
    if re.fullmatch(models.NAME, name) is None:
        raise ValueError(
            "a name has at most 100 letters, digits and . _ ~ -, and begins with a letter or digit"
        )
    if name.lower() in RESERVED:
        raise ValueError(f"{name} is an address of the server's own; take another name")
    return name


def token(text: str) -> str:
    # The message does not repeat the token: a secret must not get into a log.
    if not re.fullmatch(r"[!-~]{8,}", text):
        raise ValueError("a token has at least 8 characters of ASCII, and no spaces")
    return text


def absolute_iri(text: str) -> str:
    try:
        return ox.NamedNode(text).value
    except ValueError:
        raise ValueError(f"expected an absolute IRI, not {text!r}") from None


def base(text: str) -> str:
    if not re.fullmatch(r"https?://[^/?#]+(?:/[^?#]*)?/", absolute_iri(text)):
        raise ValueError(
            f"expected an address that begins with http: or https: and ends with a slash, not {text!r}"
        )
    return text


def bound(text: str) -> int | None:
    """How far ahead of the clock elements may be, in microseconds; None means without a bound."""
    return None if text == "none" else durations.microseconds(text)
