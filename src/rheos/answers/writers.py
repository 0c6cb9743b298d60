"""Writers of SPARQL results as text: JSON, XML, CSV and TSV.

Terms often repeat in a column, so the text of each distinct term is made only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from json.encoder import encode_basestring
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from rheos.answers.cells import concatenated, csv_cells, joined, json_objects, tsv_cells
from rheos.answers.terms import csv_field
from rheos.terms import split_literal

Fragment = Callable[[str], str]

_CHUNK_ROWS = 50_000
_PART_ROWS = 1 << 15

_XML_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'
)

# Characters that XML 1.0 cannot contain, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_term(term: str) -> str:
    """A term in the form of SPARQL XML results."""
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


def write_json(variables: Sequence[str], table: pa.Table) -> str:
    names = ",".join(encode_basestring(name) for name in variables)
    rows = (
        b"".join(
            joined(concatenated(*json_objects(variables, part.columns), ",\n"))
            for part in _parts(table.select(variables))
        )
        if variables
        else b"{},\n" * table.num_rows
    )
    bindings: str = rows.decode().removesuffix(",\n")
    return f'{{"head":{{"vars":[{names}]}},"results":{{"bindings":[\n{bindings}\n]}}}}\n'


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
    return _lines(variables, table, csv_cells, ",", "\r\n", ",".join(map(csv_field, variables)))


def write_tsv(variables: Sequence[str], table: pa.Table) -> str:
    return _lines(variables, table, tsv_cells, "\t", "\n", "\t".join("?" + name for name in variables))


def _lines(
    variables: Sequence[str],
    table: pa.Table,
    cells: Callable[[pa.ChunkedArray], pa.Array],
    between: str,
    end: str,
    header: str,
) -> str:
    """A header line with the names, and a line for each row."""
    if not variables:
        return header + end * (1 + len(table))
    lines = (
        joined(concatenated(concatenated(*map(cells, part.columns), between=between), end))
        for part in _parts(table.select(variables))
    )
    text: str = b"".join(lines).decode()
    return header + end + text


WRITERS: dict[str, Callable[[Sequence[str], pa.Table], str]] = {
    "json": write_json,
    "xml": write_xml,
    "csv": write_csv,
    "tsv": write_tsv,
}


def write_boolean(value: bool, format: str) -> str:
    """The answer of an ASK. CSV and TSV have no form for it, so there it is `true` or `false` alone."""
    word = "true" if value else "false"
    match format:
        case "json":
            return f'{{"head":{{}},"boolean":{word}}}\n'
        case "xml":
            return f"{_XML_HEAD}<head/>\n<boolean>{word}</boolean>\n</sparql>\n"
    return word + "\n"


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts, so that the same memory is used again, which is in the processor's cache."""
    for start in range(0, table.num_rows, _PART_ROWS):
        yield table.slice(start, _PART_ROWS)


def _rows(variables: Sequence[str], table: pa.Table, fragment: Fragment) -> Iterator[Sequence[str]]:
    """The rows, with the text of each cell; an unbound cell is empty."""
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
