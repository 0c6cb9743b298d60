"""Clocks: where a stream takes the times of its elements from. A user's text comes in, a Clock goes out.

A stream has one clock: `field:NAME` of a record, `property:IRI` in its RDF, the timestamp of the `message`,
or its `arrival`. Without one, the elements have their times themselves: in the fourth term of a line, or as
the prov:generatedAtTime of a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rheos import iris
from rheos.errors import RheosError

GENERATED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
CHOICES = "field:NAME, property:IRI, message or arrival"

Kind = Literal["own", "field", "property", "message", "arrival"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Where the time of an element comes from. `name` is the name of a field, or the IRI of a property."""

    kind: Kind = "own"
    name: str = GENERATED_AT

    @property
    def is_outside(self) -> bool:
        """True if the time comes beside the message and not in its content."""
        return self.kind in ("message", "arrival")

    @property
    def text(self) -> str | None:
        """The clock as a user writes it; None if the elements have their times themselves."""
        if self.kind == "own":
            return None
        return f"{self.kind}:{self.name}" if self.kind in ("field", "property") else self.kind

    def __str__(self) -> str:
        return self.text or "what the elements say"


OWN = Clock()


def clock(text: str | None) -> Clock:
    """The clock that a text names; RheosError if it names none."""
    if text is None:
        return OWN
    kind, colon, name = text.strip().partition(":")
    if kind == "message" and not colon:
        return Clock("message")
    if kind == "arrival" and not colon:
        return Clock("arrival")
    if kind == "field" and name:
        return Clock("field", name)
    if kind == "property" and name:
        try:
            return Clock("property", iris.resolve(name.removeprefix("<").removesuffix(">")))
        except ValueError as error:
            raise RheosError(f"the property that gives the time is not an IRI: {error}") from None
    raise RheosError(f"the time of a stream is one of {CHOICES}, not {text!r}")
