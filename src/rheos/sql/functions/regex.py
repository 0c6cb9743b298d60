"""REGEX and REPLACE (17.4.3.14, 17.4.3.15)."""

from __future__ import annotations

from rheos.sql.computed import BooleanValue, TextValue
from rheos.sql.conditions import negated
from rheos.sql.dialect import NotExpressible
from rheos.sql.functions import patterns
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ConstantValue, ErrorValue, Value
from rheos.sql.views import grouped, once


def _constant(value: Value | None) -> str | None:
    """The text of a simple literal of the query, an empty text for no value; None if it is not constant."""
    if value is None:
        return ""
    if isinstance(value, ConstantValue) and value.simple is not None:
        return value.constant[1:-1]
    return None


def _pattern(scope: Scope, pattern: Value, flags: Value | None) -> tuple[str, int | None] | None:
    """The SQL of a pattern and the number of its groups, which is None if the pattern is not constant.

    None if the pattern or its flags are an error.
    """
    if pattern.simple is None or (flags is not None and flags.simple is None):
        return None
    text, options = _constant(pattern), _constant(flags)
    if text is not None and options is not None:
        try:
            printed, groups = patterns.pattern(text, options, scope.dialect.name)
        except patterns.InvalidPattern:
            return None
        return scope.dialect.string(printed), groups
    if flags is None:
        return pattern.simple, None
    # Neither engine has the flag `q`. RE2 has no `x` either: there, such a pattern is not valid.
    allowed = scope.dialect.matches_all(flags.simple or "NULL", "[ismx]*")
    letters = grouped(flags.simple or "NULL")
    if scope.dialect.name == patterns.JAVA:
        letters = scope.dialect.replace(letters, "i", "iu")
    options_sql = f"CASE WHEN {flags.simple} = '' THEN '' WHEN {allowed} THEN '(?' || {letters} || ')' END"
    return f"({options_sql} || {pattern.simple})", None


def regex(scope: Scope, value: Value, pattern: Value, flags: Value | None = None) -> Value:
    found = _pattern(scope, pattern, flags)
    if value.text is None or found is None:
        return ErrorValue(scope)
    sql, groups = found
    if groups is not None:
        return BooleanValue(scope, scope.dialect.matches(value.text.lexical, sql))
    # DuckDB's TRY takes no volatile function, such as UUID().
    sql, text = once(scope, sql), once(scope, value.text.lexical)
    return BooleanValue(scope, scope.dialect.valid_pattern(sql, scope.dialect.matches(text, sql)))


def replace(scope: Scope, value: Value, pattern: Value, new: Value, flags: Value | None = None) -> Value:
    """fn:replace. A pattern that matches the empty string is an error (err:FORX0003)."""
    found = _pattern(scope, pattern, flags)
    d = scope.dialect
    if value.text is None or found is None or new.simple is None:
        return ErrorValue(scope)
    sql, groups = found
    constant = _constant(new)
    if constant is not None:
        try:
            into = patterns.replacement(constant, _constant(flags) or "", groups or 0, d.name)
        except patterns.InvalidPattern:
            return ErrorValue(scope)
        if groups is None and "$" in constant:
            raise NotExpressible("REPLACE with a computed pattern cannot refer to its groups ($1)")
        replacement = d.string(into)
    else:
        # Java throws on a reference to a missing group, so a computed text must not have references.
        plain = once(scope, new.simple)
        refers = d.matches(plain, d.string(r"[$\\]"))
        replacement = f"CASE WHEN {negated(refers)} THEN {plain} END"
    sql, text = once(scope, sql), once(scope, value.text.lexical)
    replaced = d.replace_all(text, sql, replacement)
    in_nothing = d.matches(d.string(""), sql)
    result = f"CASE WHEN {negated(in_nothing)} THEN {replaced} END"
    if groups is None:
        result = d.valid_pattern(sql, result)
    return TextValue(scope, result, value.text.suffix)


FUNCTIONS: dict[str, Function] = {
    "REGEX": regex,
    "REPLACE": replace,
}
