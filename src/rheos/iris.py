"""IRIs: resolves references against a base (RFC 3986), and guesses which known IRI was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

import pyoxigraph as ox

DEFAULT_BASE = "http://localhost/"
_ALIKE = 0.6  # the same threshold as in `difflib.get_close_matches`


@lru_cache(maxsize=4096)
def resolve(reference: str, base: str = DEFAULT_BASE) -> str:
    """The IRI that `reference` stands for under `base`; ValueError says what is wrong with one of the two."""
    if any(character in '<>"{}|^`\\' or character <= " " for character in reference):
        raise ValueError(f"a character that no IRI may have in <{reference}>")
    # pyoxigraph has no function for this, but its Turtle parser resolves references in the same way.
    try:
        [quad] = ox.parse(f"<> <a:p> <{reference}> .", format=ox.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError) as error:
        reason = str(getattr(error, "msg", error)).rsplit(": ", 1)[-1]
        raise ValueError(f"<{reference}> is not an IRI: {reason}") from None
    assert isinstance(quad.object, ox.NamedNode)
    return quad.object.value


def closest(iri: str, known: Iterable[str]) -> str | None:
    """The known IRI that is most similar to another IRI; None if none is similar enough."""
    found = max(known, key=lambda other: _likeness(iri, other), default=None)
    return None if found is None or _likeness(iri, found) < _ALIKE else found


def _likeness(iri: str, other: str) -> float:
    """The similarity of two IRIs, from 0 to 1, after the path that both begin with."""
    start = 0
    for at, (one, another) in enumerate(zip(iri, other, strict=False), start=1):
        if one != another:
            break
        start = at if one in "/#" else start
    return SequenceMatcher(None, iri[start:].lower(), other[start:].lower()).ratio()
