"""One term as text, in the forms of SPARQL results."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

from rheos.terms import XSD, split_literal

# The numbers that Turtle writes without quotes, and so may TSV (SPARQL 1.1 CSV and TSV results, section 4).
_NUMBERS = {
    f"^^<{XSD}integer>": re.compile(r"[+-]?[0-9]+"),
    f"^^<{XSD}decimal>": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"^^<{XSD}double>": re.compile(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
)

#: What is a number for these, as patterns of whole terms for Arrow.
BARE = tuple(f'^"(?:{number.pattern})"{re.escape(suffix)}$' for suffix, number in _NUMBERS.items())
#: The characters that TSV must escape in a literal.
TSV_ESCAPED = b'\\"\t\n\r\b\f'


def json_term(term: str) -> str:
    """One term as SPARQL 1.1 JSON results have it."""
    match term[0]:
        case "<":
            return f'{{"type":"uri","value":{encode_basestring(term[1:-1])}}}'
        case "_":
            return f'{{"type":"bnode","value":{encode_basestring(term[2:])}}}'
    lexical, suffix = split_literal(term)
    value = f'{{"type":"literal","value":{encode_basestring(lexical)}'
    if not suffix:
        return value + "}"
    if suffix[0] == "@":
        return f'{value},"xml:lang":{encode_basestring(suffix[1:])}}}'
    return f'{value},"datatype":{encode_basestring(suffix[3:-1])}}}'


def csv_term(term: str) -> str:
    """One term as SPARQL CSV results have it: its value alone."""
    match term[0]:
        case "<":
            value = term[1:-1]
        case "_":
            value = term
        case _:
            value = split_literal(term)[0]
    return csv_field(value)


def csv_field(value: str) -> str:
    if any(mark in value for mark in '",\r\n'):
        return '"' + value.replace('"', '""') + '"'
    return value


def tsv_term(term: str) -> str:
    """One term as SPARQL TSV results have it: in Turtle, numbers without quotes."""
    if term[0] != '"':
        return term
    lexical, suffix = split_literal(term)
    bare = _NUMBERS.get(suffix)
    if bare is not None and bare.fullmatch(lexical):
        return lexical
    return f'"{lexical.translate(_ESCAPES)}"{suffix}'
