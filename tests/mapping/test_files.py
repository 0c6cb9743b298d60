"""Files of records as streams: however they are cut, and whatever is wrong with them. Without Spark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rheos.errors import LoadError, RheosError
from rheos.mapping import Mapping
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource
from rheos.sources.opening import open_source
from tests.runtime.test_sources import everything

QUERY = """PREFIX : <http://ex/> CONSTRUCT { [] :sensor ?sensor ; :value ?v } WHERE {}"""
MAPPING = Decoding(Mapping(QUERY), "field:ts", "http://ex/s")
RECORDS = [
    {"sensor": f"s{n % 7}", "v": n, "ts": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"} for n in range(500)
]
NDJSON = "".join(json.dumps(record) + "\n" for record in RECORDS)
CSV = "sensor,v,ts\n" + "".join(f'"{r["sensor"]}",{r["v"]},{r["ts"]}\n' for r in RECORDS)


def elements(chunks: list[Chunk]) -> list[tuple[str, int]]:
    """The objects and times of all elements; no blank node is that of two records."""
    rows = [row for chunk in chunks for row in chunk.elements.to_pylist()]
    subjects = {row["s"] for row in rows}
    assert len(subjects) * 2 == len(rows)
    return [(row["o"].partition("^")[0], row["time"]) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("s.ndjson", NDJSON), ("s.jsonl", NDJSON), ("s.csv", CSV)])
@pytest.mark.parametrize("part", [100, 1 << 30])
def test_lines_are_cut_at_any_byte(tmp_path: Path, name: str, text: str, part: int) -> None:
    (tmp_path / name).write_text(text)
    source = FileSource.of(tmp_path / name, "b", decoding=MAPPING)
    found = everything(source, most=1 << 30 if part > 100 else 4000, part=part)
    assert [value for value, _ in elements(found)[1::2]] == [f'"{n}"' for n in range(500)]
    assert not any(chunk.bad for chunk in found)
    assert sum(chunk.lines for chunk in found) == text.count("\n")


def test_the_same_parts_give_the_same_elements_again(tmp_path: Path) -> None:
    (tmp_path / "s.ndjson").write_text(NDJSON)
    source = FileSource.of(tmp_path / "s.ndjson", "b", decoding=MAPPING)
    first, again = (everything(source, most=9000, part=1000) for _ in range(2))
    assert all(a.elements.equals(b.elements) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("s.json", json.dumps(RECORDS).encode()),
        ("s.json", json.dumps(RECORDS, indent=2).encode()),
        ("s.json", NDJSON.encode()),  # as Spark writes them
        ("s.json.gz", gzip.compress(json.dumps(RECORDS).encode())),
        ("s.ndjson.gz", gzip.compress(NDJSON.encode())),
        ("s.csv.gz", gzip.compress(CSV.encode())),
        ("s.tsv", CSV.replace(",", "\t").replace('"', "").encode()),
    ],
)
def test_each_format_gives_the_same(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    found = everything(FileSource.of(tmp_path / name, "b", decoding=MAPPING))
    assert [value for value, _ in elements(found)[::2]] == [f'"{r["sensor"]}"' for r in RECORDS]


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("sensor,v,ts\na,1,2026-01-01T00:00:00Z\nb,2\nc,3,2026-01-01T00:00:00Z\n")
    [chunk] = everything(FileSource.of(path, "b", decoding=MAPPING))
    assert [(item.line, item.text, item.reason) for item in chunk.bad] == [
        (3, "b,2", "it has 2 fields, not 3")
    ]
    assert chunk.elements.column("line").to_pylist() == [2, 2, 4, 4]


def test_standard_input_shows_its_format(tmp_path: Path) -> None:
    for text in (NDJSON, CSV):
        spool = tmp_path / str(len(text))
        spool.mkdir()
        (spool / "head").write_text(text[: text.index("\n") + 1])
        (spool / "00000000000000000000.nq").write_text(text)
        (spool / "ended").touch()
        source = open_source(
            "-", "http://ex/s", spool, follow=False, mapping=MAPPING.mapping, time="field:ts"
        )
        found = everything(source, part=1000)  # type: ignore[arg-type]
        assert [value for value, _ in elements(found)[1::2]] == [f'"{n}"' for n in range(500)]


@pytest.mark.parametrize(
    ("name", "decoding", "reason"),
    [
        ("s.csv", Decoding(), "it is not RDF: the stream needs a mapping"),
        ("s.json", Decoding(), "it is not RDF: the stream needs a mapping"),
        ("s.nq", MAPPING, "a stream with a mapping reads .json .ndjson"),
        ("s.nq", Decoding(time="field:ts"), "RDF has no fields"),
        ("s.nq", Decoding(time="arrival"), "a file has no time of arrival"),
        ("s.nq", Decoding(time="property:http://ex/at"), "lines have a time each"),
        ("s.csv", Decoding(Mapping(QUERY), "message"), "a file has no time of message"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, decoding: Decoding, reason: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(RheosError, match=reason):
        FileSource.of(tmp_path / name, decoding=decoding)


def test_standard_input_that_is_rdf_has_its_own_times(tmp_path: Path) -> None:
    with pytest.raises(RheosError, match="lines of standard input have a time each"):
        open_source("-", "http://ex/s", tmp_path, follow=False, time="property:http://ex/at")


def test_a_source_of_its_own_takes_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(CSV)
    source = FileSource.of(tmp_path / "s.csv", decoding=MAPPING)
    with pytest.raises(RheosError, match="a Source makes elements by itself"):
        open_source(source, "http://ex/s", tmp_path, follow=False, time="arrival")


@pytest.mark.parametrize(
    ("head", "reason"),
    [("a b,a_b", "two columns have the same name: a_b"), ('a,"b', "unexpected end of data")],
)
def test_names_of_columns_that_cannot_be_used(tmp_path: Path, head: str, reason: str) -> None:
    (tmp_path / "s.csv").write_text(f"{head}\n1,2\n\n3,4\n")
    [chunk] = everything(FileSource.of(tmp_path / "s.csv", decoding=MAPPING))
    assert [(item.line, item.text, item.reason) for item in chunk.bad] == [
        (2, "1,2", reason),
        (4, "3,4", reason),
    ]


@pytest.mark.parametrize("name", ["nothing.rq", "mapping.txt", "mapping"])
def test_a_mapping_that_is_not_there_or_of_no_kind(tmp_path: Path, name: str) -> None:
    with pytest.raises(LoadError, match=name):
        Decoding(tmp_path / name).decoder()
