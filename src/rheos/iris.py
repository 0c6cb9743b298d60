"""IRIs: a reference and a base come in, the absolute IRI goes out (RFC 3986, by pyoxigraph)."""

from __future__ import annotations

from functools import lru_cache

import pyoxigraph as ox

DEFAULT_BASE = "http://localhost/"


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
