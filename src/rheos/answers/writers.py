"""SPARQL results as text: JSON, XML, CSV and TSV.

A column of a result repeats its terms, so each different term is written once and then looked up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from json.encoder import encode_basestring
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from rheos.terms import XSD, split_literal

Fragment = Callable[[str], str]

_CHUNK_ROWS = 50_000

_XML_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'
)

# XML 1.0 has no way to write these.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# The numbers that Turtle writes without quotes, and so may TSV (SPARQL 1.1 CSV and TSV results, section 4).
_BARE = {
    f"^^<{XSD}integer>": re.compile(r"[+-]?[0-9]+"),
    f"^^<{XSD}decimal>": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"^^<{XSD}double>": re.compile(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}

_TSV_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
)


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


def xml_term(term: str) -> str:
    """One term as SPARQL XML results have it."""
    match term[0]:
        case "<":
            return f"<uri>{_xml_text(term[1:-1])}</uri>"
        case "_":
            return f"<bnode>{_xml_text(term[2:])}</bnode>"
    lexical, suffix = split_literal(term)
    text = _xml_text(lexical)
    if not suffix:
        return f"<literal>{text}</literal>"
    if suffix[0] == "@":
        return f"<literal xml:lang={quoteattr(suffix[1:])}>{text}</literal>"
    return f"<literal datatype={quoteattr(suffix[3:-1])}>{text}</literal>"


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
    bare = _BARE.get(suffix)
    if bare is not None and bare.fullmatch(lexical):
        return lexical
    return f'"{lexical.translate(_TSV_ESCAPES)}"{suffix}'


def write_json(variables: Sequence[str], table: pa.Table) -> str:
    names = ",".join(encode_basestring(name) for name in variables)
    keys = [encode_basestring(name) + ":" for name in variables]
    rows = (
        "{" + ",".join(key + cell for key, cell in zip(keys, row, strict=True) if cell) + "}"
        for row in _rows(variables, table, json_term)
    )
    return f'{{"head":{{"vars":[{names}]}},"results":{{"bindings":[\n' + ",\n".join(rows) + "\n]}}\n"


def write_xml(variables: Sequence[str], table: pa.Table) -> str:
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in variables)
    opens = [f"<binding name={quoteattr(name)}>" for name in variables]
    rows = (
        "<result>"
        + "".join(f"{open}{cell}</binding>" for open, cell in zip(opens, row, strict=True) if cell)
        + "</result>\n"
        for row in _rows(variables, table, xml_term)
    )
    return f"{_XML_HEAD}<head>{head}</head>\n<results>\n" + "".join(rows) + "</results>\n</sparql>\n"


def write_csv(variables: Sequence[str], table: pa.Table) -> str:
    rows = (",".join(row) for row in _rows(variables, table, csv_term))
    return "\r\n".join([",".join(csv_field(name) for name in variables), *rows, ""])


def write_tsv(variables: Sequence[str], table: pa.Table) -> str:
    rows = ("\t".join(row) for row in _rows(variables, table, tsv_term))
    return "\n".join(["\t".join("?" + name for name in variables), *rows, ""])


WRITERS: dict[str, Callable[[Sequence[str], pa.Table], str]] = {
    "json": write_json,
    "xml": write_xml,
    "csv": write_csv,
    "tsv": write_tsv,
}


def write_boolean(value: bool, format: str) -> str:
    """The answer of an ASK; CSV and TSV have no form for it and get the bare word."""
    word = "true" if value else "false"
    match format:
        case "json":
            return f'{{"head":{{}},"boolean":{word}}}\n'
        case "xml":
            return f"{_XML_HEAD}<head/>\n<boolean>{word}</boolean>\n</sparql>\n"
    return word + "\n"


def _rows(variables: Sequence[str], table: pa.Table, fragment: Fragment) -> Iterator[Sequence[str]]:
    """The rows, each cell as its text; an unbound cell is empty."""
    if not variables:
        yield from repeat((), table.num_rows)
        return
    written: dict[str | None, str] = {None: ""}

    def write(term: str | None) -> str:
        text = written.get(term)
        if text is None:
            assert term is not None
            text = written[term] = fragment(term)
        return text

    for start in range(0, table.num_rows, _CHUNK_ROWS):
        part = table.slice(start, _CHUNK_ROWS)
        yield from zip(*(map(write, part[name].to_pylist()) for name in variables), strict=True)
        if len(written) > _CHUNK_ROWS:
            written = {None: ""}


def _xml_text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
