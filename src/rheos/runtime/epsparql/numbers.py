"""Numbers: the values of terms that are all short numbers of one datatype.

They are computed once for each event. Otherwise a statement would parse the numbers again
for each pair of events.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rheos.terms import XSD

Kind = Literal["integer", "decimal"]
VALUE = pa.decimal128(37, 18)  # the type of exact numbers in the generated SQL

_FORMS: dict[Kind, str] = {
    "integer": r"[+-]?[0-9]{1,9}",
    "decimal": r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?",
}
_WHOLE: dict[Kind, str] = {
    kind: rf'\A"{form}"\^\^<{XSD.replace(".", "[.]")}{kind}>\z' for kind, form in _FORMS.items()
}


class Numbers(NamedTuple):
    """The values of terms, and the datatype that all of these have."""

    kind: Kind
    values: pa.ChunkedArray


def short_numbers(terms: pa.ChunkedArray) -> Numbers | None:
    """The values of terms, if all are integers, or all are decimals, with few digits; otherwise None, also if
    there are no terms."""
    if not len(terms):
        return None
    first = terms[0].as_py()
    for kind, form in _WHOLE.items():
        # The first term shows which datatype is possible.
        if first.endswith(f"#{kind}>") and pc.all(pc.match_substring_regex(terms, form)).as_py():
            lexical = pc.list_element(pc.split_pattern(terms, '"', max_splits=2), 1)
            return Numbers(kind, lexical.cast(VALUE))
    return None
