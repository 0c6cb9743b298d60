"""The text of a single term, in the forms of SPARQL results."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

from rheos.terms import XSD, split_literal

# Numbers without quotes, as in Turtle; TSV may have them, too (SPARQL 1.1 CSV and TSV results, section 4).
_NUMBERS = {
    f"^^<{XSD}integer>": re.compile(r"[+-]?[0-9]+"),
    f"^^<{XSD}decimal>": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"^^<{XSD}double>": re.compile(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
)

#: The numbers of `_NUMBERS`, as regular expressions of whole terms for Arrow.
BARE = tuple(f'^"(?:{number.pattern})"{re.escape(suffix)}$' for suffix, number in _NUMBERS.items())
#: The characters that TSV must escape in a literal.
TSV_ESCAPED = b'\\"\t\n\r\b\f'


def json_term(term: str) -> str:
    """A term in the form of SPARQL 1.1 JSON results."""
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
    """A term in the form of SPARQL CSV results: only its value."""
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
    """A term in the form of SPARQL TSV results: as in Turtle, with numbers without quotes."""
    if term[0] != '"':
        return term
    lexical, suffix = split_literal(term)
    bare = _NUMBERS.get(suffix)
    if bare is not None and bare.fullmatch(lexical):
        return lexical
    return f'"{lexical.translate(_ESCAPES)}"{suffix}'
