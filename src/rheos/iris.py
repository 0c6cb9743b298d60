"""IRIs: resolves references against a base (RFC 3986), and guesses which known IRI was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

import pyoxigraph as ox

DEFAULT_BASE = "http://localhost/"
_ALIKE = 0.6  # as `difflib.get_close_matches` has it


@lru_cache(maxsize=4096)
def resolve(reference: str, base: str = DEFAULT_BASE) -> str:
    """The IRI that `reference` means under `base`; ValueError says what is wrong with either."""
    if any(character in '<>"{}|^`\\' or character <= " " for character in reference):
        raise ValueError(f"a character that no IRI may have in <{reference}>")
    # pyoxigraph has no function for this, but its Turtle parser resolves exactly so.
    try:
        [quad] = ox.parse(f"<> <a:p> <{reference}> .", format=ox.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError) as error:
        reason = str(getattr(error, "msg", error)).rsplit(": ", 1)[-1]
        raise ValueError(f"<{reference}> is not an IRI: {reason}") from None
    assert isinstance(quad.object, ox.NamedNode)
    return quad.object.value


def closest(iri: str, known: Iterable[str]) -> str | None:
    """The one of the known IRIs that is most like another, if any is much like it."""
    found = max(known, key=lambda other: _likeness(iri, other), default=None)
    return None if found is None or _likeness(iri, found) < _ALIKE else found


def _likeness(iri: str, other: str) -> float:
    """How much two IRIs have in common behind the folders that they share: of 0 to 1."""
    start = 0
    for at, (one, another) in enumerate(zip(iri, other, strict=False), start=1):
        if one != another:
            break
        start = at if one in "/#" else start
    return SequenceMatcher(None, iri[start:].lower(), other[start:].lower()).ratio()
