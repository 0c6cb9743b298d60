"""What the references share to read the files of examples: streams, data, queries and expected results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import pyoxigraph as ox

from rheos.terms import encode
from tests.cli.examples import Line
from tests.continuous.arrival_algebra import Quad
from tests.continuous.expressions import SECOND, XSD

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TOKEN = re.compile(r'<[^<>\s]*>|"[^"]*"|\?\w+|\w*:[\w-]+|-?\d+(?:\.\d+)?|\w+|[^\s.()]')


def elements(path: str) -> Iterator[tuple[str, str, str, int]]:
    """The triples of a stream with their time; comments are passed over."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                s, p, o, time, _ = line.split()
                moment = datetime.fromisoformat(time.split('"')[1])
                yield s, p, o, round(moment.timestamp() * SECOND)


def quads(path: str, graph: str = "") -> Iterator[Quad]:
    for triple in ox.parse(path=path):
        yield encode(triple.subject), encode(triple.predicate), encode(triple.object), graph


def tokens(written: str) -> list[str]:
    """A text without its prologue, comments, and what may be left out or doubled: full stops and brackets."""
    prefixes = dict(re.findall(r"PREFIX (\S+) <(\S+)>", written))
    body = re.sub(r"^#.*$|PREFIX \S+ \S+", "", written, flags=re.MULTILINE)
    body = re.sub(rf'"([^"]*)"\^\^<{XSD}(?:integer|decimal)>', r"\1", body)
    return [expanded(token, prefixes) for token in TOKEN.findall(body)]


def expanded(token: str, prefixes: dict[str, str]) -> str:
    if token == "a":
        return TYPE
    prefix, colon, name = token.partition(":")
    return f"<{prefixes[prefix + colon]}{name}>" if colon and prefix + colon in prefixes else token


def term_of(found: Line) -> str:
    """A term of NDJSON."""
    if found["type"] == "uri":
        return f"<{found['value']}>"
    datatype = f"^^<{found['datatype']}>" if "datatype" in found else ""
    return f'"{found["value"]}"{datatype}'
