"""Values of records as terms: SQL for a JSON value, or for a text, comes in; SQL for an RDF term goes out.

A JSON string is a plain literal; true and false are booleans. A number without a fraction is an xsd:integer.
Other numbers are an xsd:decimal, or an xsd:double if the shortest form has an exponent (or is NaN). Null,
objects and arrays give no term.
"""

from __future__ import annotations

from rheos.sql.duckdb import DUCKDB
from rheos.terms import XSD


def json_term(value: str) -> str:
    """The term of a JSON value, given as DuckDB's text of it. A JSON string without escapes already has the
    form of a literal in rheos."""
    return (
        f"CASE WHEN {value} IS NULL THEN NULL"
        f" WHEN starts_with({value}, '\"') THEN CASE WHEN contains({value}, '\\')"
        f" THEN '\"' || json_extract_string({value}, '$') || '\"' ELSE {value} END"
        f" WHEN {value} IN ('true', 'false') THEN {_typed(value, 'boolean')}"
        f" WHEN {value} = 'null' OR starts_with({value}, '{{') OR starts_with({value}, '[') THEN NULL"
        f" WHEN contains({value}, 'N') OR contains({value}, 'I') THEN {_special(value)}"
        f" WHEN contains({value}, 'e') OR contains({value}, 'E') THEN {_typed(value, 'double')}"
        f" WHEN contains({value}, '.') THEN {_typed(value, 'decimal')}"
        f" ELSE {_typed(value, 'integer')} END"
    )


def text_term(value: str) -> str:
    """The term of a text; NULL for an empty text."""
    return f"CASE WHEN {value} <> '' THEN '\"' || {value} || '\"' END"


def _typed(value: str, datatype: str) -> str:
    suffix = DUCKDB.string(f'"^^<{XSD}{datatype}>')
    return f"'\"' || {value} || {suffix}"


def _special(value: str) -> str:
    """The term of NaN or an infinity. They are not JSON, but many programs write them."""
    name = f"CASE {value} WHEN 'NaN' THEN 'NaN' WHEN '-Infinity' THEN '-INF' ELSE 'INF' END"
    return _typed(f"({name})", "double")
