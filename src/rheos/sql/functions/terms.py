"""Functions on terms (17.4.2): kinds of terms, their parts, and new terms from parts."""

from __future__ import annotations

import re

from rheos import iris
from rheos.sql import decode
from rheos.sql.computed import BlankValue, BooleanValue, IriValue, LiteralValue, TextValue
from rheos.sql.conditions import all_of, negated
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ConstantValue, ErrorValue, TermValue, Value
from rheos.sql.views import grouped, once
from rheos.terms import RDF_LANG_STRING, XSD_STRING

NOT_IN_IRIS = r'[\x00-\x20<>"{}|^`\\]'


def is_iri(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, decode.is_iri(scope.dialect, value.term))


def is_blank(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, decode.is_blank(scope.dialect, value.term))


def is_literal(scope: Scope, value: Value) -> Value:
    return BooleanValue(scope, decode.is_literal(scope.dialect, value.term))


def is_numeric(scope: Scope, value: Value) -> Value:
    """True for well-formed literals of a numeric type."""
    known = value.number.present if value.number else "FALSE"
    return BooleanValue(scope, f"CASE WHEN {grouped(value.term)} IS NOT NULL THEN {known} END")


def language(scope: Scope, value: Value) -> Value:
    if not isinstance(value, TermValue):
        suffix = value.text.suffix if value.text else None
        if value.literal is not True:
            return ErrorValue(scope)
        if suffix is None:
            return TextValue(scope, f"CASE WHEN {grouped(value.term)} IS NOT NULL THEN '' END")
        # The tag may be known in a row in which the text is an error.
        known = f"{grouped(value.string)} IS NOT NULL"
        return TextValue(scope, f"CASE WHEN {known} THEN {scope.dialect.substring(suffix, 2)} END")
    d, term = scope.dialect, once(scope, value.term)
    tag = d.substring(decode.suffix(d, term), 2)

    def is_constant(tag: str) -> str:
        # LANG gives an empty text for a literal without a tag. Tags are in lower case.
        same = d.ends_with(term, d.string(f'"@{tag}')) if tag else negated(decode.is_tagged(d, term))
        return f"CASE WHEN {decode.is_literal(d, term)} THEN {same} END"

    return TextValue(
        scope,
        f"CASE WHEN {decode.is_tagged(d, term)} THEN {tag} WHEN {decode.is_literal(d, term)} THEN '' END",
        is_constant=is_constant,
    )


def datatype(scope: Scope, value: Value) -> Value:
    if value.literal is False:
        return ErrorValue(scope)
    d, term = scope.dialect, once(scope, value.term)
    suffix = decode.suffix(d, term)
    named = d.substring(suffix, 4, f"{d.length(suffix)} - 4")

    def is_constant(name: str) -> str:
        same = decode.has_datatype(d, term, name)
        same = decode.is_simple(d, term) if name == XSD_STRING else same
        same = decode.is_tagged(d, term) if name == RDF_LANG_STRING else same
        return f"CASE WHEN {decode.is_literal(d, term)} THEN {same} END"

    return IriValue(
        scope,
        f"CASE WHEN {decode.is_simple(d, term)} THEN {d.string(XSD_STRING)}"
        f" WHEN {decode.is_typed(d, term)} THEN {named}"
        f" WHEN {decode.is_literal(d, term)} THEN {d.string(RDF_LANG_STRING)} END",
        is_constant=is_constant,
    )


# --- new terms -----------------------------------------------------------------------------------


def iri(scope: Scope, value: Value, base: Value | None = None) -> Value:
    """IRI: an IRI stays as it is; a simple literal is resolved against the base of the query."""
    prefix = base.constant[1:-1] if isinstance(base, ConstantValue) else None
    if isinstance(value, ConstantValue) and value.simple is not None:
        try:
            resolved = iris.resolve(value.constant[1:-1], prefix) if prefix else value.constant[1:-1]
        except ValueError:
            return ErrorValue(scope)
        return ConstantValue(scope, f"<{resolved}>")
    if value.literal is False:
        return value
    d = scope.dialect
    text = value.simple
    if text is None:
        return ErrorValue(scope)
    text = once(scope, text)
    resolved = text if prefix is None else _resolved(scope, text, prefix)
    allowed = negated(d.matches(text, d.string(NOT_IN_IRIS)))
    made = f"CASE WHEN {allowed} THEN {resolved} END"
    if not isinstance(value, TermValue):
        return IriValue(scope, made)
    term = once(scope, value.term)
    return TermValue(scope, f"CASE WHEN {decode.is_iri(d, term)} THEN {term} ELSE '<' || {made} || '>' END")


def _resolved(scope: Scope, text: str, base: str) -> str:
    """A reference that is known only at run time, resolved against the base (RFC 3986, 5.2)."""
    d = scope.dialect
    scheme, authority, path, query = _URI.fullmatch(base).groups("")  # type: ignore[union-attr]
    start = scheme + authority
    folder = path[: path.rfind("/") + 1] or ("/" if authority else "")
    whole, prefix = d.string(start + path + query), d.string(start)

    def starts(mark: str) -> str:
        return d.starts_with(text, d.string(mark))

    return (
        f"CASE WHEN {d.matches(text, d.string('^[A-Za-z][A-Za-z0-9+.-]*:'))} THEN {text}"
        f" WHEN {text} = '' THEN {whole}"
        f" WHEN {starts('//')} THEN {d.string(scheme)} || {text}"
        f" WHEN {starts('/')} THEN {prefix} || {_without_dots(scope, text)}"
        f" WHEN {starts('?')} THEN {d.string(start + path)} || {text}"
        f" WHEN {starts('#')} THEN {whole} || {text}"
        f" ELSE {prefix} || {_without_dots(scope, f'({d.string(folder)} || {text})')} END"
    )


_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(//[^/?#]*)?([^?#]*)(\?[^#]*)?(?:#.*)?")
_SEGMENT = r"(?:[^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)"
_STEPS_UP = 8


def _without_dots(scope: Scope, path: str) -> str:
    """A path without the segments `.` and `..` (RFC 3986, 5.2.4); it follows at most eight `..` in a row."""
    d = scope.dialect
    path = once(scope, path)
    steps = [(r"/\.\.$", "/../"), (r"/\.$", "/"), (r"/\./", "/"), (r"/\./", "/")]
    steps += [(rf"/{_SEGMENT}/\.\./", "/")] * _STEPS_UP + [(r"^(?:/\.\.)+/", "/")]
    cleaned = path
    for pattern, new in steps:
        cleaned = d.replace_all(cleaned, d.string(pattern), d.string(new))
    dotted, plain = d.matches(path, d.string(r"/\.{1,2}(?:/|$)")), d.matches(path, d.string("[?#]"))
    return f"CASE WHEN {all_of([dotted, negated(plain)])} THEN {cleaned} ELSE {path} END"


def blank_node(scope: Scope, label: Value | None = None, solution: Value | None = None) -> Value:
    """BNODE: a new node for each solution; with a label, one node for each label in a solution.

    The argument `solution` is not the user's: the algebra adds it to tell solutions apart.
    """
    d = scope.dialect
    if label is None or solution is None:
        return BlankValue(scope, f"'u' || {d.replace(d.uuid(), '-', '')}")
    if label.simple is None:
        return ErrorValue(scope)
    return BlankValue(scope, f"'l' || {d.digest('MD5', f'{solution.term} || {label.simple}')}")


def with_datatype(scope: Scope, value: Value, datatype: Value) -> Value:
    if value.simple is None or datatype.literal is True:
        return ErrorValue(scope)
    if isinstance(datatype, ConstantValue):
        name = datatype.constant[1:-1]
        if name == XSD_STRING:
            return TextValue(scope, value.simple)
        if name == RDF_LANG_STRING or not datatype.constant.startswith("<"):
            return ErrorValue(scope)
        if isinstance(value, ConstantValue):
            return ConstantValue(scope, f"{value.constant}^^<{name}>")
        return TermValue(scope, LiteralValue(scope, grouped(value.simple), name).term)
    d, kind = scope.dialect, once(scope, datatype.term)
    suffix = (
        f"CASE WHEN {kind} = {d.string(f'<{XSD_STRING}>')} THEN ''"
        f" WHEN {kind} = {d.string(f'<{RDF_LANG_STRING}>')} THEN NULL"
        f" WHEN {decode.is_iri(d, kind)} THEN '^^' || {kind} END"
    )
    return TermValue(scope, f"{decode.QUOTE} || {grouped(value.simple)} || {decode.QUOTE} || {suffix}")


def with_language(scope: Scope, value: Value, tag: Value) -> Value:
    if value.simple is None or tag.simple is None:
        return ErrorValue(scope)
    d, text = scope.dialect, once(scope, tag.simple)
    valid = d.matches_all(text, "[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
    return TextValue(scope, value.simple, f"CASE WHEN {valid} THEN '@' || lower({text}) END")


def uuid(scope: Scope) -> Value:
    return IriValue(scope, f"'urn:uuid:' || {scope.dialect.uuid()}")


def uuid_text(scope: Scope) -> Value:
    return TextValue(scope, scope.dialect.uuid())


FUNCTIONS: dict[str, Function] = {
    "ISIRI": is_iri,
    "ISURI": is_iri,
    "ISBLANK": is_blank,
    "ISLITERAL": is_literal,
    "ISNUMERIC": is_numeric,
    "LANG": language,
    "DATATYPE": datatype,
    "IRI": iri,
    "URI": iri,
    "BNODE": blank_node,
    "STRDT": with_datatype,
    "STRLANG": with_language,
    "UUID": uuid,
    "STRUUID": uuid_text,
}
