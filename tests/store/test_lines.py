"""The vectorised parser gives exactly what pyoxigraph gives, line by line."""

from __future__ import annotations

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheos.store import lines
from rheos.store.cutting import split_lines
from rheos.store.lines import QUADS, TRIPLES, Shape
from rheos.terms import encode

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.fixture(autouse=True)
def always_columnar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_FEW", 0)


def reference(line: str, shape: Shape) -> list[tuple[str | None, ...]] | None:
    """What pyoxigraph reads, in the engine's form; None if it refuses, or if it is not RDF 1.1."""
    format = ox.RdfFormat.N_QUADS if shape is QUADS else ox.RdfFormat.N_TRIPLES
    rows = []
    try:
        for quad in ox.parse(line.encode(), format):
            if isinstance(quad.object, ox.Triple) or getattr(quad.object, "direction", None) is not None:
                return None
            graph = None if quad.graph_name == ox.DefaultGraph() else encode(quad.graph_name)
            row = (encode(quad.subject), encode(quad.predicate), encode(quad.object), graph)
            rows.append(row[: shape.width])
    except SyntaxError:
        return None
    return rows


def check(texts: list[str], shape: Shape) -> None:
    parsed = lines.parse(pa.array(texts, pa.string()), shape)
    found: dict[int, list[tuple[str | None, ...]]] = {}
    rows = zip(*(column.to_pylist() for column in parsed.terms), strict=True)
    for number, row in zip(parsed.lines.tolist(), rows, strict=True):
        found.setdefault(number, []).append(row)
    faulty = {fault.line for fault in parsed.faults}
    for number, text in enumerate(texts):
        expected = reference(text, shape)
        if expected is None:
            assert number in faulty, text
            assert number not in found, text
        else:
            assert number not in faulty, text
            assert found.get(number, []) == expected, text


ascii_marks = st.sampled_from(list("ab/:?#@!$&'()*+,;=%-._~09[]{}|\\^`<>\" \t"))
wide = st.sampled_from(list("é\u00a0日\ud7ff\ue000\ufdd0\ufeff😀\U000e0000\x00\x7f\x85"))
iri_text = st.one_of(
    st.sampled_from(
        [
            *("http://ex/a", "http://ex.org:80/a/b?q=1#f", "urn:x:y", "mailto:a@b.c", "a:b", "http://ex/%41"),
            *("http://ex/%zz", "a", "http:", "http://", "http:///x", "//ex/a", "1:a", "http://ex:x/", "a:/b"),
            *("http://[::1]/", "http://u@ex/", "http://ex/é", "http://é/", "http://ex:99999/", "a:#", "a:?"),
            *("http://ex/a//b", "file:///x y", "http://ex/a\\u00e9", "http://ex/a\\u0020", "http://ex?q"),
            *(XSD + "string", XSD + "integer", RDF + "langString", RDF + "dirLangString", "http://ex#a#b"),
        ]
    ),
    st.builds("http://ex/{}".format, st.text(st.one_of(ascii_marks, wide), max_size=6)),
    st.builds("{}:{}".format, st.text(ascii_marks, max_size=3), st.text(ascii_marks, max_size=6)),
    st.text(st.one_of(ascii_marks, wide), max_size=8),
)
iri = st.builds("<{}>".format, iri_text)
blank = st.builds("_:{}".format, st.text(st.sampled_from(list("ab019._-:é·")), max_size=5))
language = st.sampled_from(
    [
        *("en", "EN", "en-us", "en-US", "zh-hans", "zh-hans-cn", "de-1996", "x", "e", "abc", "abcd", "en-"),
        *("en-a", "a-b", "en--ltr", "en--rtl", "en--xyz", "i-klingon", "en_us", "", "sl-rozaj", "en-x-y"),
    ]
)
escapes = st.sampled_from(["\\n", '\\"', "\\\\", "\\u00e9", "\\q"])
text = st.lists(st.one_of(ascii_marks, wide, escapes), max_size=8).map("".join)
literal = st.one_of(
    st.builds('"{}"'.format, text),
    st.builds('"{}"@{}'.format, text, language),
    st.builds('"{}"^^{}'.format, text, iri),
    st.builds('"plain words"^^{}'.format, iri),
)
term = st.one_of(iri, blank, literal, st.just("<<( <a:a> <a:b> <a:c> )>>"), st.just(""))
gap = st.sampled_from([" ", " ", " ", " ", "  ", "\t", ""])
line = st.one_of(
    st.builds(
        "{}{}{}{}{}{}{}".format,
        *(st.one_of(iri, blank, term), gap, st.one_of(iri, iri, term), gap, term, gap),
        st.sampled_from([".", ".", ".", ".\n", ".\r\n", ". # end", "", ". .", ".\r", "# no"]),
    ),
    st.builds(
        "{} {} {} {} .".format,
        st.one_of(iri, blank),
        iri,
        st.one_of(iri, literal, blank),
        st.one_of(iri, blank, term),
    ),
    st.sampled_from(["", "  ", "# only a comment", "\r\n", ".", "\x00"]),
    st.text(st.one_of(ascii_marks, wide), max_size=12),
)


@given(st.lists(line, max_size=12))
@settings(max_examples=400, deadline=None)
@example(['<a:a> <a:b> "a <http://ex/b"^^<http://ex/t> .'])
@example(['<a:a> <a:b> "x _:b"@en .', '<a:a> <a:b> "x" _:b .', '<a:a> <a:b> "" <http://ex/g> .'])
@example([f'<a:a> <a:b> "x"^^<{XSD}string> <a:g> .', f'<a:a> <a:b> "x"^^<{RDF}langString> .'])
@example(["<a:a> <a:b> <a:c> .\r<a:a> <a:b> <a:d> ."])
def test_quads_are_as_pyoxigraph_reads_them(texts: list[str]) -> None:
    check(texts, QUADS)


@given(st.lists(line, max_size=12))
@settings(max_examples=200, deadline=None)
def test_triples_are_as_pyoxigraph_reads_them(texts: list[str]) -> None:
    check(texts, TRIPLES)


@given(st.lists(line, max_size=12))
@settings(max_examples=100, deadline=None)
def test_what_pyoxigraph_writes_is_read_back(texts: list[str]) -> None:
    quads = []
    for given_line in texts:
        try:
            quads.extend(ox.parse(given_line.encode(), ox.RdfFormat.N_QUADS))
        except SyntaxError:
            continue
    written = split_lines(ox.serialize(quads, format=ox.RdfFormat.N_QUADS))
    parsed = lines.parse_trusted(written, QUADS)
    expected = [row for text in written.to_pylist() for row in reference(text, QUADS) or []]
    assert list(zip(*(column.to_pylist() for column in parsed.terms), strict=True)) == expected


def test_plain_lines_take_the_columnar_way() -> None:
    texts = [
        "<http://ex/s> <http://ex/p> <http://ex/o> .",
        "_:a <http://ex/p> _:b <http://ex/g> .\n",
        f'<http://ex/s> <http://ex/p> "a b c"^^<{XSD}string> <http://ex/g> .\r\n',
        '<http://ex/s> <urn:x:p> "chat"@fr .',
        '<http://ex/日本> <http://ex/p> "" _:g .',
    ]
    cut = lines.clean(pa.array(texts), QUADS)
    assert cut.leftover.tolist() == []
    assert [column.to_pylist() for column in cut.terms] == [
        ["<http://ex/s>", "_:a", "<http://ex/s>", "<http://ex/s>", "<http://ex/日本>"],
        ["<http://ex/p>", "<http://ex/p>", "<http://ex/p>", "<urn:x:p>", "<http://ex/p>"],
        ["<http://ex/o>", "_:b", '"a b c"', '"chat"@fr', '""'],
        [None, "<http://ex/g>", "<http://ex/g>", None, "_:g"],
    ]


def test_rows_come_in_the_order_of_the_lines() -> None:
    texts = ['<a:1> <a:p> "\\t" .', "<a:2> <a:p> <a:o> .", "bad", "# none", '<a:3> <a:p> "x"@EN .']
    parsed = lines.parse(pa.array(texts), TRIPLES)
    assert parsed.lines.tolist() == [0, 1, 4]
    assert parsed.terms[0].to_pylist() == ["<a:1>", "<a:2>", "<a:3>"]
    assert parsed.terms[2].to_pylist() == ['"\t"', "<a:o>", '"x"@en']
    assert [fault.line for fault in parsed.faults] == [2]


def test_slices_chunks_and_nulls() -> None:
    texts = ["<a:1> <a:p> <a:o> .", "<a:2> <a:p> <a:o> .", None, "<a:3> <a:p> <a:o> ."]
    whole = pa.array(texts, pa.string())
    assert lines.parse(whole.slice(1), TRIPLES).terms[0].to_pylist() == ["<a:2>", "<a:3>"]
    chunked = pa.chunked_array([whole.slice(0, 1), whole.slice(1).cast(pa.large_string()).cast(pa.string())])
    assert lines.parse(chunked, TRIPLES).lines.tolist() == [0, 1, 3]
    assert lines.parse(whole.cast(pa.large_string()), TRIPLES).lines.tolist() == [0, 1, 3]
    assert lines.parse(pa.array([], pa.string()), QUADS).lines.tolist() == []


def test_broken_utf8_is_a_fault_of_its_line_only() -> None:
    raw = [b'<a:1> <a:p> "\xff" .', b"<a:2> <a:p> <a:o> .", b'<a:3> <a:p> "\xed\xa0\x80" .']
    texts = pa.array(raw, pa.binary()).view(pa.string())
    parsed = lines.parse(texts, TRIPLES)
    assert parsed.terms[0].to_pylist() == ["<a:2>"]
    assert [fault.line for fault in parsed.faults] == [0, 2]


def test_blank_nodes_get_the_prefix() -> None:
    texts = ["_:a <a:p> _:b _:c .", '_:a <a:p> "_:a" .', '_:a.b <a:p> "\\t" .']
    parsed = lines.parse(pa.array(texts), QUADS, "f1_")
    assert [column.to_pylist() for column in parsed.terms] == [
        ["_:f1_a", "_:f1_a", "_:f1_a.b"],
        ["<a:p>"] * 3,
        ["_:f1_b", '"_:a"', '"\t"'],
        ["_:f1_c", None, None],
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<a:a> <a:b> c .", "The object of a triple must be an IRI, a blank node or a literal"),
        ("<a> <a:b> <a:c> .", "No scheme found in an absolute IRI"),
        ("<a:a> <a:b> <<( <a:a> <a:b> <a:c> )>> .", "triple terms are RDF 1.2; rheos reads RDF 1.1"),
        ('<a:a> <a:b> "x"@en--ltr .', "language tags with a direction are RDF 1.2; rheos reads RDF 1.1"),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    assert [fault.reason for fault in lines.parse(pa.array([text]), QUADS).faults] == [reason]


def test_few_lines_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_FEW", 10)
    parsed = lines.parse(pa.array(["<a:1> <a:p> <a:o> .", "bad"]), QUADS)
    assert [column.to_pylist() for column in parsed.terms] == [["<a:1>"], ["<a:p>"], ["<a:o>"], [None]]
    assert len(parsed.faults) == 1
