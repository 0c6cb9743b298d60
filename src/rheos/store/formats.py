"""The RDF formats that rheos reads, by name or by file extension."""

from __future__ import annotations

from pathlib import PurePath

import pyoxigraph as ox

from rheos.errors import LoadError

TURTLE = ox.RdfFormat.TURTLE
N_TRIPLES = ox.RdfFormat.N_TRIPLES
N_QUADS = ox.RdfFormat.N_QUADS
TRIG = ox.RdfFormat.TRIG
RDF_XML = ox.RdfFormat.RDF_XML
JSON_LD = ox.RdfFormat.JSON_LD

NAMES: dict[str, ox.RdfFormat] = {
    "turtle": TURTLE,
    "ttl": TURTLE,
    "ntriples": N_TRIPLES,
    "nt": N_TRIPLES,
    "nquads": N_QUADS,
    "nq": N_QUADS,
    "trig": TRIG,
    "rdfxml": RDF_XML,
    "rdf": RDF_XML,
    "owl": RDF_XML,
    "xml": RDF_XML,
    "jsonld": JSON_LD,
    "json": JSON_LD,
}

EXTENSIONS: dict[str, ox.RdfFormat] = {
    ".ttl": TURTLE,
    ".nt": N_TRIPLES,
    ".nq": N_QUADS,
    ".trig": TRIG,
    ".rdf": RDF_XML,
    ".owl": RDF_XML,
    ".xml": RDF_XML,
    ".jsonld": JSON_LD,
    ".json": JSON_LD,
}

GZIP_EXTENSION = ".gz"


def by_name(name: str, source: str) -> ox.RdfFormat:
    """The format of a name: `turtle`, `N-Triples`, `.nt`, or a media type such as `text/turtle`."""
    plain = name.strip().lower()
    known = NAMES.get(plain.lstrip(".").translate({ord(mark): None for mark in "-_/ +"}))
    if known is None and "/" in plain:
        known = ox.RdfFormat.from_media_type(plain)
    if known is None or known not in NAMES.values():
        raise LoadError(
            f"unknown format {name!r}: rheos reads turtle, ntriples, nquads, trig, rdfxml and jsonld", source
        )
    return known


def by_path(path: str) -> ox.RdfFormat:
    """The format of a file by its extension, with or without `.gz` after it."""
    name = PurePath(path).name.lower().removesuffix(GZIP_EXTENSION)
    extension = PurePath(name).suffix
    known = EXTENSIONS.get(extension)
    if known is None:
        what = f"unknown extension {extension!r}" if extension else "a file name without an extension"
        raise LoadError(
            f"{what}: rheos reads {' '.join(EXTENSIONS)}, each also with .gz; else give the format", path
        )
    return known


def is_lines(format: ox.RdfFormat) -> bool:
    """Whether each line of the format can be read by itself, so that a file can be read in pieces."""
    return format in (N_TRIPLES, N_QUADS)
