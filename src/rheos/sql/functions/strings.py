"""Functions on strings (17.4.3).

Two string arguments are compatible (17.4.3.1.2) if the second has no language tag or that of the first.
Positions and lengths count code points.
"""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra import literals as c
from rheos.algebra.chains import balanced
from rheos.sql.computed import BooleanValue, TextValue, integer
from rheos.sql.conditions import TRUE, all_of
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ConstantValue, ErrorValue, Value
from rheos.sql.views import Text, once
from rheos.syntax.limits import ROW

# A position beyond the end of any string; arithmetic on two of these stays within INT.
FAR = 1_000_000_000


def compatible(first: Text, second: Text, use: str) -> str:
    """`use`, or NULL where the arguments are not compatible."""
    if second.suffix is None:
        return use
    same = f"{second.suffix} = ''"
    if first.suffix is not None:
        same = f"{second.suffix} IN ('', {first.suffix})"
    return f"CASE WHEN {same} THEN {use} END"


def string(scope: Scope, value: Value) -> Value:
    return TextValue(scope, value.string)


def length(scope: Scope, value: Value) -> Value:
    if value.text is None:
        return ErrorValue(scope)
    return integer(scope, scope.dialect.length(value.text.lexical))


def substring(scope: Scope, value: Value, start: Value, count: Value | None = None) -> Value:
    """fn:substring with integers: the characters at `start <= position < start + count`."""
    text = value.text
    first = whole(scope, start)
    number = whole(scope, count) if count is not None else str(FAR)
    if text is None or first is None or number is None:
        return ErrorValue(scope)
    first, number = once(scope, first), once(scope, number)
    taken = f"greatest({number} + least({first} - 1, 0), 0)"
    part = scope.dialect.substring(text.lexical, f"greatest({first}, 1)", taken)
    # GREATEST and LEAST ignore NULL, so NULL arguments are tested.
    known = f"{first} IS NOT NULL AND {number} IS NOT NULL"
    if isinstance(start, ConstantValue) and (count is None or isinstance(count, ConstantValue)):
        return TextValue(scope, part, text.suffix)
    return TextValue(scope, f"CASE WHEN {known} THEN {part} END", text.suffix)


def whole(scope: Scope, value: Value) -> str | None:
    """An xsd:integer as an INT, clamped to a range that no string reaches."""
    number = value.number
    if number is None or number.exact is None:
        return None
    if number.rank_known not in (None, c.RANK_INTEGER):
        return None
    exact = once(scope, number.exact)
    cut = f"CASE WHEN {exact} > {FAR} THEN {FAR} WHEN {exact} < -{FAR} THEN -{FAR} ELSE {exact} END"
    cut = f"CAST({cut} AS INT)"
    return cut if number.rank_known else f"CASE WHEN {number.rank} = {c.RANK_INTEGER} THEN {cut} END"


def upper(scope: Scope, value: Value) -> Value:
    if value.text is None:
        return ErrorValue(scope)
    return TextValue(scope, scope.dialect.upper(once(scope, value.text.lexical)), value.text.suffix)


def lower(scope: Scope, value: Value) -> Value:
    if value.text is None:
        return ErrorValue(scope)
    return TextValue(scope, scope.dialect.lower(once(scope, value.text.lexical)), value.text.suffix)


def starts(scope: Scope, value: Value, part: Value) -> Value:
    return _test(scope, value, part, scope.dialect.starts_with)


def ends(scope: Scope, value: Value, part: Value) -> Value:
    return _test(scope, value, part, scope.dialect.ends_with)


def contains(scope: Scope, value: Value, part: Value) -> Value:
    return _test(scope, value, part, scope.dialect.contains)


def _test(scope: Scope, value: Value, part: Value, test: Callable[[str, str], str]) -> Value:
    text, sought = value.text, part.text
    if text is None or sought is None:
        return ErrorValue(scope)
    return BooleanValue(scope, compatible(text, sought, test(text.lexical, sought.lexical)))


def before(scope: Scope, value: Value, part: Value) -> Value:
    """STRBEFORE: without a match, a simple literal; otherwise the tag of the first argument stays."""
    d = scope.dialect
    return _around(scope, value, part, lambda text, _, at: d.substring(text, 1, f"{at} - 1"))


def after(scope: Scope, value: Value, part: Value) -> Value:
    d = scope.dialect
    return _around(
        scope, value, part, lambda text, sought, at: d.substring(text, f"{at} + {d.length(sought)}")
    )


def _around(scope: Scope, value: Value, part: Value, cut: Callable[[str, str, str], str]) -> Value:
    text, sought = value.text, part.text
    if text is None or sought is None:
        return ErrorValue(scope)
    lexical, wanted = once(scope, text.lexical), once(scope, sought.lexical)
    at = once(scope, compatible(text, sought, scope.dialect.position(lexical, wanted)))
    found = f"CASE WHEN {at} = 0 THEN '' ELSE {cut(lexical, wanted, at)} END"
    if text.suffix is None:
        return TextValue(scope, found)
    return TextValue(scope, found, f"CASE WHEN {at} = 0 THEN '' ELSE {text.suffix} END")


def encode(scope: Scope, value: Value) -> Value:
    if value.text is None:
        return ErrorValue(scope)
    return TextValue(scope, scope.dialect.encode_for_uri(value.text.lexical))


def encode_as_iri(scope: Scope, value: Value) -> Value:
    """Encodes a value for the template of an IRI in RML. Queries cannot call this function."""
    if value.text is None:
        return ErrorValue(scope)
    return TextValue(scope, scope.dialect.encode_for_iri(once(scope, value.text.lexical)))


def concat(scope: Scope, *values: Value) -> Value:
    """CONCAT: keeps a language tag that all arguments have."""
    texts = [value.text for value in values]
    if any(text is None for text in texts):
        return ErrorValue(scope)
    known = [text for text in texts if text is not None]
    if not known:
        return TextValue(scope, "''")
    lexicals = [text.lexical for text in known]
    # DuckDB takes minutes to plan a chain of hundreds of `||`, but is quick for a balanced tree of them.
    long = len(lexicals) > ROW
    joined = balanced(lambda a, b: f"({a} || {b})", lexicals) if long else " || ".join(lexicals)
    first = known[0].suffix
    if first is None or any(text.suffix is None for text in known):
        return TextValue(scope, joined)
    first = once(scope, first)
    same = all_of(f"{text.suffix} = {first}" for text in known[1:])
    return TextValue(scope, joined, first if same == TRUE else f"CASE WHEN {same} THEN {first} ELSE '' END")


def language_matches(scope: Scope, tag: Value, wanted: Value) -> Value:
    """LANGMATCHES, the basic filtering of RFC 4647: the range is the tag, or its prefix before a hyphen."""
    if tag.simple is None or wanted.simple is None:
        return ErrorValue(scope)
    d = scope.dialect
    own, asked = once(scope, f"lower({tag.simple})"), once(scope, f"lower({wanted.simple})")
    prefixed = d.starts_with(own, f"{asked} || '-'")
    return BooleanValue(
        scope, f"CASE WHEN {asked} = '*' THEN {own} <> '' ELSE {own} = {asked} OR {prefixed} END"
    )


FUNCTIONS: dict[str, Function] = {
    "STR": string,
    "STRLEN": length,
    "SUBSTR": substring,
    "UCASE": upper,
    "LCASE": lower,
    "STRSTARTS": starts,
    "STRENDS": ends,
    "CONTAINS": contains,
    "STRBEFORE": before,
    "STRAFTER": after,
    "ENCODE_FOR_URI": encode,
    "ENCODE_FOR_IRI": encode_as_iri,
    "CONCAT": concat,
    "LANGMATCHES": language_matches,
}
