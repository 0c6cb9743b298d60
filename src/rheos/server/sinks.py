"""Sinks of a server: sinks that the configuration or a client names come in, SinkSpecs for the engine go out.

The configuration may name any sink. Clients may name places that `allow` lists, push streams of this server,
and files below the folder of `[sinks]`. Clients can give no options, so no secrets either.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from rheos.addresses import PORTS, AddressError, Allowed
from rheos.filesystems import is_uri
from rheos.server.problems import Problem
from rheos.sinks.base import FULL, Full, SinkSpec
from rheos.sinks.opening import ON_DISK, ON_NETWORK, scheme_of

if TYPE_CHECKING:
    from rheos.server.config import Config
    from rheos.server.state import KeptQuery


def below(folder: Path, to: str) -> str:
    """The address of a sink; a relative path in it is resolved against a folder."""
    scheme = scheme_of(to)
    if scheme not in ON_DISK or scheme == "iceberg" or to.startswith("file:"):
        return to
    prefix, path = (f"{scheme}:", to.partition(":")[2]) if scheme != "file" else ("", to)
    if is_uri(path):
        return to
    return f"{prefix}{folder / path}{'/' if path.endswith('/') else ''}"


def allowed(config: Config) -> Allowed:
    """The places that this server may contact: those that `allow` lists, and those of the sources and sinks
    of the configuration."""
    own = (spec.to for query in config.queries for spec in query.sinks)
    sinks = [to for to in own if scheme_of(to) in ON_NETWORK]
    given = (stream.source.replace("#", "%23") for stream in config.streams if stream.source)
    sources = [url for url in given if url.partition("://")[0].lower().rpartition("+")[2] in PORTS]
    return Allowed.of(config.allow).also([*sources, *sinks])


def specs_of(query: KeptQuery, config: Config) -> tuple[SinkSpec, ...]:
    """The sinks of a query. Those of a configured query are read from the configuration."""
    if query.configured:
        return next((known.sinks for known in config.queries if known.name == query.name), ())
    return tuple(SinkSpec(sink["to"], sink["limit"], sink["full"]) for sink in query.sinks)


def stored(specs: Iterable[SinkSpec]) -> tuple[dict[str, Any], ...]:
    """The sinks of a client in the form in which they are stored."""
    return tuple({"to": spec.to, "limit": spec.limit, "full": spec.full} for spec in specs)


def asked_by_client(request: Request, config: Config) -> tuple[SinkSpec, ...]:
    """The sinks that the parameters of a request name; Problem if a client may not have one of them."""
    parameters = request.query_params
    given = parameters.get("sink-limit")
    if given is not None and not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise Problem(400, "There is no such sink-limit", f"it is a number of bytes, not {given!r}")
    limit = config.sinks.limit if given is None else int(given)
    full = chosen(parameters.get("sink-full"), config.sinks.full)
    found = [SinkSpec(for_client(to, config), limit, full) for to in parameters.getlist("sink")]
    for at, spec in enumerate(found):
        if any(spec.to == other.to for other in found[:at]):
            raise Problem(400, "A sink is named twice", spec.to)
    return tuple(found)


def chosen(given: str | None, default: Full) -> Full:
    for full in FULL:
        if given == full:
            return full
    if given is not None:
        raise Problem(400, "There is no such sink-full", f"it is one of {', '.join(FULL)}, not {given!r}")
    return default


def for_client(to: str, config: Config) -> str:
    """The address of a sink that a client names; Problem if it may not name this one."""
    scheme = scheme_of(to)
    if scheme in ON_NETWORK:
        try:
            Allowed.of(config.allow).check(to)
        except AddressError as error:
            raise Problem(403, "This address may not be contacted", str(error)) from None
    elif scheme in ON_DISK:
        return in_folder(to, config.sinks.folder)
    return to


def in_folder(to: str, folder: Path | None) -> str:
    if folder is None:
        detail = 'the configuration names no folder for this: [sinks] folder = "…"'
        raise Problem(403, "Clients may not have files written", detail)
    scheme, path = scheme_of(to), to.partition(":")[2] if scheme_of(to) != "file" else to
    inside = (folder / path).resolve()
    if scheme == "iceberg" or to.startswith("file:") or is_uri(path):
        raise Problem(403, "Clients name files by their path", f"{to} is no path below the folder for sinks")
    if not inside.is_relative_to(folder.resolve()):
        raise Problem(
            403, "Clients may not have files written there", f"{to} is not below the folder for sinks"
        )
    return below(folder, to)
