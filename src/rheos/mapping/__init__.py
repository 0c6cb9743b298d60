"""Mappings: records that are not RDF come in, elements go out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rheos.errors import RheosError
from rheos.sources.clocks import Clock
from rheos.sources.decoding import Decoder


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping that was read."""

    text: str


def mapped(mapping: str | os.PathLike[str] | Mapping, clock: Clock, format: str | None, base: str) -> Decoder:
    """The decoder of a mapping."""
    raise RheosError(f"mappings are not read yet: {mapping}")
