"""Mappings: turn records that are not RDF into elements. A file or a text comes in, a decoder goes out.

A mapping is a CONSTRUCT query over the fields of a record (`.rq`), RML (`.rml.ttl`) or a JSON-LD context
(`.jsonld`). All but the last become rules, which DuckDB runs on many records at once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from rheos.errors import LoadError, QuerySyntaxError, RheosError
from rheos.mapping.context import ContextDecoder, context_of
from rheos.mapping.decoder import MappedDecoder
from rheos.mapping.json_fields import name_of
from rheos.mapping.recognised import RecognisingDecoder
from rheos.mapping.rml import rml_rules
from rheos.mapping.rules import Rule, makes
from rheos.mapping.sparql import construct
from rheos.sources.clocks import CHOICES, Clock
from rheos.sources.decoding import Decoder

__all__ = ["KINDS", "Mapping", "mapped"]

# The kinds of mappings, by the extensions of their files.
KINDS = {".rq": "construct", ".sparql": "construct", ".rml.ttl": "rml", ".rml": "rml", ".jsonld": "context"}
FORMATS = {"json": "json", "ndjson": "json", "jsonl": "json", "csv": "csv", "tsv": "tsv"}


@dataclass(frozen=True, slots=True)
class Mapping:
    """The text of a mapping, its kind, and its name in messages."""

    text: str
    kind: str = "construct"
    name: str = "the mapping"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Mapping:
        """The mapping in a file; the extension of the file says its kind."""
        name = os.fspath(path)
        kind = next((KINDS[end] for end in KINDS if name.lower().endswith(end)), None)
        if kind is None:
            end = PurePath(name).suffix or "no extension"
            raise LoadError(f"a mapping is .rq, .rml.ttl or .jsonld, not {end}", name)
        try:
            return cls(Path(name).read_text(encoding="utf-8-sig"), kind, name)
        except OSError as error:
            raise LoadError(f"the mapping cannot be read: {error.strerror}", name) from None
        except UnicodeDecodeError:
            raise LoadError("the mapping is not UTF-8", name) from None

    @classmethod
    def of(cls, text: str, name: str = "the mapping") -> Mapping:
        """The mapping with a text, which shows its kind."""
        if text.lstrip()[:1] in ("{", "["):
            return cls(text, "context", name)
        return cls(text, "rml" if "http://w3id.org/rml/" in text else "construct", name)


def mapped(mapping: str | os.PathLike[str] | Mapping, clock: Clock, format: str | None, base: str) -> Decoder:
    """The decoder of a stream with a mapping. RheosError if the mapping is wrong; it says what, and where."""
    given = mapping if isinstance(mapping, Mapping) else Mapping.read(mapping)
    chosen = FORMATS.get((format or "json").lower())
    if chosen is None:
        raise RheosError(f"records with a mapping are json, ndjson, csv or tsv, not {format}")
    if clock.kind == "field":
        clock = Clock("field", name_of(clock.name))
    if given.kind == "context":
        made = ContextDecoder(context_of(given.text, given.name), clock, base).reading(chosen)
        return made if format is not None else RecognisingDecoder(made, clock, tables=False)
    is_json = is_table = True
    if given.kind == "rml":
        rules = rml_rules(given.text, given.name, base)
        is_table = any(rule.items is not None and rule.items.is_table for rule in rules)
        is_json = not is_table
        chosen = "csv" if is_table and format is None else chosen
    else:
        try:
            rules = (construct(given.text, base, [clock.name] if clock.kind == "field" else []),)
        except QuerySyntaxError as error:
            raise LoadError(str(error), given.name) from error
    _check_time(rules, clock, given)
    made = MappedDecoder(rules, clock).reading(chosen)
    return made if format is not None else RecognisingDecoder(made, clock, is_json, is_table)


def _check_time(rules: tuple[Rule, ...], clock: Clock, mapping: Mapping) -> None:
    """Refuse a mapping that can never give a time."""
    if clock.kind not in ("own", "property") or any(makes(rule, clock.name) for rule in rules):
        return
    if clock.kind == "property":
        raise RheosError(f"{mapping.name} makes no <{clock.name}>, which is to give the time")
    raise RheosError(
        f"{mapping.name} gives no time: make prov:generatedAtTime of something, or say what stands for the"
        f" time: {CHOICES}"
    )
