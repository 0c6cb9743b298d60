"""Documents become quads, or an error that says which file, which line and why."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox
import pytest

from rheos.errors import LoadError
from rheos.store import formats
from rheos.store.documents import documents
from rheos.store.graphs import StaticGraphs
from rheos.store.reader import SCHEMA, pieces, read

QUADS = {
    ("<http://ex/s>", "<http://ex/p>", '"a \\"word\\""@en'),
    ("<http://ex/s>", "<http://ex/p>", "<http://ex/o>"),
}
TURTLE = '@prefix e: <http://ex/> . e:s e:p "a \\"word\\""@EN , e:o .'
SAME = {
    ".ttl": TURTLE,
    ".nt": '<http://ex/s> <http://ex/p> "a \\"word\\""@en .\n<http://ex/s> <http://ex/p> <http://ex/o> .\n',
    ".nq": '<http://ex/s> <http://ex/p> "a \\"word\\""@en .\n<http://ex/s> <http://ex/p> <http://ex/o> .\n',
    ".trig": TURTLE,
    ".rdf": """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">
<rdf:Description rdf:about="http://ex/s"><e:p xml:lang="en">a "word"</e:p><e:p rdf:resource="http://ex/o"/>
</rdf:Description></rdf:RDF>""",
    ".jsonld": """{"@id": "http://ex/s", "http://ex/p": [
        {"@value": "a \\"word\\"", "@language": "en"}, {"@id": "http://ex/o"}]}""",
}


def rows(source: str | Path | None = None, prefix: str = "", **options: str | bytes) -> list[tuple[str, ...]]:
    found = documents(source, **options)  # type: ignore[arg-type]
    table = pa.Table.from_batches([b for document in found for b in read(document, prefix)], SCHEMA)
    return [tuple(row.values()) for row in table.to_pylist()]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("extension", SAME)
def test_every_format_gives_the_same(extension: str, packed: bool, tmp_path: Path) -> None:
    content = SAME[extension].encode()
    path = tmp_path / ("data" + extension)
    if packed:
        path, content = path.with_name(path.name + ".gz"), gzip.compress(content)
    assert {row[1:] for row in rows(write(path, content))} == {
        (s, p, o.replace("\\", "")) for s, p, o in QUADS
    }


@pytest.mark.parametrize(("extension", "format"), [(".owl", ".rdf"), (".xml", ".rdf"), (".json", ".jsonld")])
def test_other_extensions(extension: str, format: str, tmp_path: Path) -> None:
    assert len(rows(write(tmp_path / ("data" + extension), SAME[format]))) == 2


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    assert len(rows(write(tmp_path / "data.nt", gzip.compress(SAME[".nt"].encode())))) == 2
    assert len(rows(data=gzip.compress(TURTLE.encode()), format="ttl")) == 2


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("Turtle", formats.TURTLE),
        ("N-Triples", formats.N_TRIPLES),
        ("n_quads", formats.N_QUADS),
        ("RDF/XML", formats.RDF_XML),
        (".nt", formats.N_TRIPLES),
        ("JSON-LD", formats.JSON_LD),
        ("text/turtle", formats.TURTLE),
        ("application/ld+json", formats.JSON_LD),
    ],
)
def test_names_of_formats(name: str, format: ox.RdfFormat) -> None:
    assert formats.by_name(name, "here") == format


def test_unknown_formats_say_what_is_known() -> None:
    with pytest.raises(
        LoadError, match=r"unknown format 'word'.*turtle, ntriples, nquads, trig, rdfxml and jsonld"
    ):
        rows(data="", format="word")
    with pytest.raises(LoadError, match="needs its format"):
        rows(data="")
    with pytest.raises(LoadError, match="n3"):
        rows(data="", format="text/n3")


def test_unknown_extensions_say_what_is_known(tmp_path: Path) -> None:
    path = write(tmp_path / "data.docx", "")
    with pytest.raises(LoadError, match=r"unknown extension '\.docx'.*\.ttl \.nt .* with \.gz") as caught:
        rows(path)
    assert caught.value.source == str(path)
    assert rows(path, format="turtle") == []
    with pytest.raises(LoadError, match="without an extension"):
        rows(write(tmp_path / "data", ""))


def test_the_base_is_the_file_or_what_is_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a b.ttl", "<> <p> <#x> .")
    (row,) = rows(path)
    here = path.resolve().as_uri()
    assert row[1:] == (f"<{here}>", f"<{here.rsplit('/', 1)[0]}/p>", f"<{here}#x>")
    (row,) = rows(path, base="http://ex/dir/")
    assert row[1:] == ("<http://ex/dir/>", "<http://ex/dir/p>", "<http://ex/dir/#x>")
    with pytest.raises(LoadError, match="a relative IRI, but no base IRI is given"):
        rows(data="<> <p> <#x> .", format="turtle")
    with pytest.raises(LoadError, match="the base is not an absolute IRI: here"):
        rows(path, base="here")


@pytest.mark.parametrize(
    "encoding", ["nowhere", "ISO-8859-1", "big5", "rot13", "idna", "undefined", "punycode", "hex", "x" * 900]
)
def test_other_encodings_of_xml(encoding: str) -> None:
    text = SAME[".rdf"]
    text = text[text.index("?>") + 2 :] if text.startswith("<?xml") else text
    for data in (text.encode(), text.replace("RDF>", "RDF><!-- \xe9 -->", 1).encode("latin-1")):
        declared = f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + data
        with pytest.raises(LoadError, match=f"line 1: only UTF-8 is read, .* {encoding[:40]}$"):
            rows(data=declared, format="rdfxml")
    assert len(rows(data=f'<?xml version="1.0" encoding="Utf-8"?>{text}', format="rdfxml")) == 2


def test_halves_of_characters() -> None:
    with pytest.raises(LoadError, match=r"U\+D800 is only half of a character"):
        rows(data="<a:b> <a:c> '\ud800' .", format="turtle")
    with pytest.raises(LoadError, match=r"not an absolute IRI: \\udfff$"):
        rows(data="", format="turtle", base="\udfff")


def test_named_graphs_and_blank_nodes() -> None:
    found = rows(data="_:a <http://p> _:b . _:g { _:a <http://p> 5 }", format="trig", prefix="f1_")
    integer = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert found == [
        (None, "_:f1_a", "<http://p>", "_:f1_b"),
        ("_:f1_g", "_:f1_a", "<http://p>", integer),
    ]


def test_raw_lexical_forms() -> None:
    (row,) = rows(data=r'<a:s> <a:p> "tab\tquote\"slash\\new\nline\u0000é" .', format="turtle")
    assert row[3] == '"tab\tquote"slash\\new\nline\x00é"'


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    for extension in (".ttl", ".nt"):
        assert len(rows(write(tmp_path / f"d{extension}", "\ufeff" + SAME[extension]))) == 2


@pytest.mark.parametrize("format", ["turtle", "ntriples", "trig", "nquads"])
def test_an_empty_text_is_an_empty_graph(format: str) -> None:
    assert rows(data="", format=format) == []


@pytest.mark.parametrize(
    ("extension", "content", "line", "reason"),
    [
        (".ttl", "<a:s> <a:p> <a:o> .\n\n<a:s> <a:p> .\n", 3, "not a valid RDF object"),
        (".nt", "<a:s> <a:p> <a:o> .\n# fine\n<a:s> <a:p> o .\n", 3, "object of a triple"),
        (".nt", "<a:s> <a:p> <a:o> .\n" * 3000 + "<a:s> <a:p> <a:o>", 3001, "must be followed by a dot"),
        (".nq", "<a:s> <a:p> <a:o> <a:g> <a:h> .", 1, "dot"),
        (".trig", "<a:g> {\n<a:s> <a:p> <a:o>", 2, "nexpected end"),
        (".rdf", '<?xml version="1.0"?>\n<a>\n<b>\n</a>', 4, "not well-formed XML: mismatched tag"),
        (".rdf", SAME[".rdf"][:200], 3, "not well-formed XML"),
        (".rdf", "", 1, "not well-formed XML: no element found"),
        (".rdf", SAME[".rdf"].replace("http://ex/s", "http://ex/ s"), 3, "Invalid IRI code point ' '"),
        (".jsonld", '{"@id": "http://ex/s",\n"http://ex/p": [1,\n}', 3, "nexpected"),
        (".jsonld", '{"@context": "http://schema.org/"}', 1, "its JSON-LD context is remote"),
        (".ttl", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 1, "UTF-8"),
        (".nt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 1, "UTF-8"),
        (".jsonld", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 1, "nexpected byte"),
        (".rdf", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 1, "not well-formed XML"),
        (".nt", b'<a:s> <a:p> <a:o> .\n<a:s> <a:p> "\xff" .', 2, "UTF-8"),
        (".ttl", b'<a:s> <a:p> <a:o> .\n<a:s> <a:p> "\xff" .', 2, "UTF-8"),
        (".ttl", "<a:s> <a:p>\n<<( <a:s> <a:p> <a:o> )>> .\n\n", 2, "triple terms are RDF 1.2"),
        (".ttl", '<a:s> <a:p>\n"x"@en--ltr .', 2, "direction are RDF 1.2"),
        (".nt.gz", gzip.compress(SAME[".nt"].encode() * 100, mtime=0)[:-20], None, "ends too early"),
        (".ttl.gz", gzip.compress(SAME[".ttl"].encode() * 100, mtime=0)[:-20], None, "ends too early"),
        (".ttl.gz", SAME[".ttl"], None, "it is not gzip data"),
        (".ttl.gz", b"\x1f\x8b junk that is not gzip", None, "damaged"),
    ],
)
def test_what_is_broken_is_told(
    extension: str, content: str | bytes, line: int | None, reason: str, tmp_path: Path
) -> None:
    path = write(tmp_path / ("broken" + extension), content)
    with pytest.raises(LoadError) as caught:
        rows(path)
    assert reason in caught.value.reason
    assert caught.value.source == str(path)
    assert line is None or caught.value.line == line
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no such file"):
        rows(tmp_path / "none.ttl")
    with pytest.raises(LoadError, match=r"it is a directory; name its files with a glob such as .*\*\.ttl"):
        rows(tmp_path)
    with pytest.raises(LoadError, match="no file matches"):
        rows(tmp_path / "*.ttl")
    with pytest.raises(LoadError, match="only files are read"):
        rows("http://ex/data.ttl")
    with pytest.raises(LoadError, match="either a path or a text"):
        rows()


@pytest.mark.parametrize("name", ["secret.ttl", "secret.nt"])
def test_files_without_permission(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write(tmp_path / name, "")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(LoadError, match="no permission to read it"):
        StaticGraphs().load(path)


def test_a_text_given_as_a_path() -> None:
    with pytest.raises(LoadError, match="File name too long"):
        rows("<a:s> <a:p> <a:o> . " * 1000)
    with pytest.raises(LoadError, match="no such file"):
        rows("<a:s> <a:p> <a:o> .")


def test_globs(tmp_path: Path) -> None:
    write(tmp_path / "b.ttl", "<a:b> <a:p> <a:o> .")
    write(tmp_path / "a.nt", "<a:a> <a:p> <a:o> .")
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub" / "c[1].ttl", "<a:c> <a:p> <a:o> .")
    assert [row[1] for row in rows(tmp_path / "*.*")] == ["<a:a>", "<a:b>"]
    assert [row[1] for row in rows(tmp_path / "**" / "*.ttl")] == ["<a:b>", "<a:c>"]
    assert [row[1] for row in rows(tmp_path / "sub" / "c[1].ttl")] == ["<a:c>"]
    assert [row[1] for row in rows((tmp_path / "a.nt").as_uri())] == ["<a:a>"]


def test_pieces_cut_at_line_ends(tmp_path: Path) -> None:
    text = b"".join(b"%d\n" % number for number in range(1000)) + b"last"
    path = write(tmp_path / "lines", text)
    for size in (1, 7, 100, 10_000):
        with path.open("rb") as stream:
            found = [line for piece in pieces(stream, size) for line in piece.to_pylist()]
        assert found == text.decode().splitlines(keepends=True)
