"""Sources without Spark: what files, directories, documents and copied input give, however they are cut."""

from __future__ import annotations

import gzip
import io
import itertools
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import types

from rheos.errors import LoadError, RheosError
from rheos.filesystems import uri_of
from rheos.runtime.state.store import Store
from rheos.sources import frames
from rheos.sources.base import Offset, Source
from rheos.sources.chunks import Chunk, Header, Packed, judge, unpacked
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource
from rheos.sources.lines import read_lines
from rheos.sources.opening import open_source
from rheos.sources.reader import Planned, Streams, StreamsReader
from rheos.sources.standard_input import Spool, copy
from tests.runtime.arrivals import NO_STORE
from tests.runtime.streams import line, lines, moment

MANY = lines((f"s{n % 7}", "p", f"o{n}", n / 10) for n in range(1000))


def everything(source: Source, most: int = 1 << 30, part: int = 1 << 30) -> list[Chunk]:
    """All chunks of a source that ends, read in batches and parts of so many bytes."""
    chunks: list[Chunk] = []
    offset: Offset = source.begin()
    for _ in range(10_000):
        following = source.latest(offset, most)
        chunks += [chunk for piece in source.parts(offset, following, part) for chunk in source.read(piece)]
        offset = following
        if source.ended(offset):
            return chunks
    raise AssertionError("the source does not end")


def objects(chunks: list[Chunk]) -> list[str]:
    return [term for chunk in chunks for term in chunk.elements.column("o").to_pylist()]


EXPECTED = [f"<http://ex/o{n}>" for n in range(1000)]


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 100, 1000, 77_777, 1 << 30])
@pytest.mark.parametrize("part", [50, 1234, 1 << 30])
def test_a_file_is_the_same_however_it_is_cut(tmp_path: Path, most: int, part: int) -> None:
    path = tmp_path / "s.nq"
    path.write_text(MANY.rstrip("\n"))  # the last line need not have its end
    if most < 1000 and part != 1234:
        path.write_text("".join(MANY.splitlines(keepends=True)[:50]))
    chunks = everything(FileSource.of(path), most, part)
    assert objects(chunks) == EXPECTED[: len(path.read_text().splitlines())]
    assert [chunk.first for chunk in chunks] == [True] + [False] * (len(chunks) - 1)
    assert sum(chunk.lines for chunk in chunks) == len(path.read_text().splitlines())


def test_a_directory_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    parts = MANY.splitlines(keepends=True)
    (tmp_path / "b.nq").write_text("".join(parts[400:900]))
    (tmp_path / "a.nq").write_text("".join(parts[:400]))
    (tmp_path / "c.nq.gz").write_bytes(gzip.compress("".join(parts[900:]).encode()))
    (tmp_path / ".hidden.nq").write_text("no")
    (tmp_path / "d.nq.tmp").write_text("no")
    assert objects(everything(FileSource.of(tmp_path))) == EXPECTED
    assert objects(everything(FileSource.of(tmp_path / "*.nq"), 5000)) == EXPECTED[:900]


def test_a_followed_directory_gives_whole_lines_as_they_come(tmp_path: Path) -> None:
    source = FileSource.of(tmp_path, follow=True)
    offset = source.begin()

    def more() -> list[str]:
        nonlocal offset
        start, offset = offset, source.latest(offset)
        assert not source.ended(offset)
        return objects([chunk for part in source.parts(start, offset) for chunk in source.read(part)])

    assert more() == []
    first = tmp_path / "2.nq"
    first.write_text(line("a", "p", "x", 1) + line("a", "p", "y", 2)[:20])
    assert more() == ["<http://ex/x>"]
    assert more() == []
    with first.open("a") as file:
        file.write(line("a", "p", "y", 2)[20:])
    (tmp_path / "1.nq").write_text(line("a", "p", "z", 3))
    assert more() == ["<http://ex/y>", "<http://ex/z>"]


def test_a_line_that_is_not_utf8_is_bad_and_no_more() -> None:
    good = line("a", "p", "b", 1).encode()
    for count in (1, 500):  # one by one, and as a column
        chunk = read_lines(good * count + b"<http://ex/\xff> rubbish\n" + good, "")
        assert chunk.elements.num_rows == count + 1
        assert [(bad.line, bad.text) for bad in chunk.bad] == [(count + 1, "<http://ex/\ufffd> rubbish\n")]


def test_bad_lines_are_kept_with_number_and_reason() -> None:
    text = (
        "# a comment\n\n"
        + line("a", "p", "b", 1)
        + "<http://ex/a> <http://ex/p> <http://ex/b> .\n"
        + f"<http://ex/a> <http://ex/p> {moment(1)} .\n"
        + 'rubbish\n<http://ex/a> <http://ex/p> "x" "2026-02-30T00:00:00Z"^^'
        + "<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        + f"<http://ex/a> <http://ex/p> <http://ex/b> {moment(5)} {moment(4)} .\n"
        + '<http://ex/a> <http://ex/p> <http://ex/b> "yesterday" .\n'
    )
    chunk = read_lines(text.encode(), "")
    assert chunk.elements.num_rows == 1
    assert [(bad.line, bad.reason) for bad in chunk.bad] == [
        (4, "there is no time after the triple"),
        (5, "there is no time after the triple"),
        (6, "The subject of a triple must be an IRI or a blank node"),
        (7, "there is no such time: 2026-02-30T00:00:00Z"),
        (8, "the interval ends before it starts"),
        (9, 'the time is not an xsd:dateTime: "yesterday"'),
    ]


def test_times_of_all_spellings() -> None:
    spellings = {
        "2026-01-01T00:00:05Z": 5_000_000,
        "2026-01-01T02:00:05+02:00": 5_000_000,
        "2025-12-31T24:00:00Z": 0,
        "2026-01-01T00:00:00.25": 250_000,
        "2026-01-01T00:00:00.1234567Z": 123_456,
    }
    text = "".join(
        f'<http://ex/a> <http://ex/p> <http://ex/b> "{t}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
        for t in spellings
    )
    chunk = read_lines(text.encode(), "")
    start = 1_767_225_600_000_000
    assert [time - start for time in chunk.elements.column("time").to_pylist()] == list(spellings.values())
    assert chunk.without_zone == 1


@pytest.mark.parametrize(
    "time",
    [
        "0000-01-01T00:00:00Z",
        "0000-12-31T23:59:59.5Z",
        "0001-01-01T00:00:00+02:00",
        "9999-12-31T23:00:00-02:00",
    ],
)
def test_times_of_other_years(time: str) -> None:
    """Also of those that are of another year only in UTC: no time of an answer could be written."""
    date_time = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
    line = f'<http://ex/a> <http://ex/p> <http://ex/b> "{time}"{date_time} .\n'
    for text in (line, line + line.replace(time, "2026-01-01T00:00:00Z")):
        chunk = read_lines(text.encode(), "")
        assert [(bad.line, bad.reason) for bad in chunk.bad] == [(1, f"there is no such time: {time}")]
        assert chunk.elements.num_rows == text.count("\n") - 1
    for edge in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+14:00"):
        assert not read_lines(line.replace(time, edge).encode(), "").bad


def test_an_interval_has_a_start_and_its_time_is_the_end() -> None:
    text = f"<http://ex/a> <http://ex/p> <http://ex/b> {moment(3)} {moment(7)} .\n"
    [element] = read_lines(text.encode(), "").elements.to_pylist()
    assert element["time"] - element["start"] == 4_000_000


def interval(object: str, *times: str) -> str:
    return f"<http://ex/a> <http://ex/p> <http://ex/{object}> {' '.join(times)} .\n"


BACKWARDS = "the interval ends before it starts"


def test_an_interval_that_ends_before_it_starts_is_a_dead_letter() -> None:
    at_one_in_zone = '"2026-01-01T01:00:01+01:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    text = (
        interval("longer", moment(1), moment(3))
        + interval("backwards", moment(3), moment(2.999999))
        + interval("instant", moment(3), moment(3))
        + interval("plain", moment(4))
        + interval("zones", moment(1), at_one_in_zone)
        + interval("backwards", moment(1.5), at_one_in_zone)
        + interval("start", '"soon"', moment(3))
        + interval("end", moment(3), '"later"')
        + interval("neither", '"soon"', '"later"')
        + interval("three", moment(1), moment(2), moment(3))
    )
    chunk = read_lines(text.encode(), "")
    found = chunk.elements.to_pylist()
    assert [(row["o"], row["time"] - row["start"]) for row in found] == [
        ("<http://ex/longer>", 2_000_000),
        ("<http://ex/instant>", 0),
        ("<http://ex/plain>", 0),
        ("<http://ex/zones>", 0),
    ]
    assert [row["line"] for row in found] == [1, 3, 4, 5]
    assert [(bad.line, bad.reason) for bad in chunk.bad] == [
        (2, BACKWARDS),
        (6, BACKWARDS),
        (7, 'the time is not an xsd:dateTime: "soon"'),
        (8, 'the time is not an xsd:dateTime: "later"'),
        (9, 'the time is not an xsd:dateTime: "later"'),
        (10, "expected a dot and the line's end after the time"),
    ]
    assert chunk.bad[0].text == interval("backwards", moment(3), moment(2.999999))


def test_intervals_are_read_alike_in_columns_and_one_by_one() -> None:
    """One line in an unusual form has all of them read one by one."""
    text = "".join(interval(f"o{n}", moment(n % 7), moment(n % 5)) for n in range(200))
    usual = read_lines(text.encode(), "")
    unusual = read_lines((text + interval("last", moment(1).replace("Z", "+00:00"), moment(2))).encode(), "")
    assert usual.elements.to_pylist() == unusual.elements.to_pylist()[:-1]
    assert usual.bad == unusual.bad
    assert len(usual.bad) == sum(n % 5 < n % 7 for n in range(200))
    assert {bad.reason for bad in usual.bad} == {BACKWARDS}


def test_intervals_of_data_frames() -> None:
    def at(second: int) -> datetime:
        return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)

    columns = {
        "subject": ["http://ex/a"] * 4,
        "predicate": ["http://ex/p"] * 4,
        "object": ["longer", "backwards", "instant", "nowhen"],
        "time": [at(1), at(5), at(5), None],
        "end": [at(3), at(4), None, at(1)],
    }
    batch = pa.RecordBatch.from_pydict({**columns, "object": [f"http://ex/{o}" for o in columns["object"]]})
    chunk = read_lines(frames.lines(batch), "")
    found = [(row["o"], row["time"] - row["start"]) for row in chunk.elements.to_pylist()]
    assert found == [("<http://ex/longer>", 2_000_000), ("<http://ex/instant>", 0)]
    assert [(bad.line, bad.reason) for bad in chunk.bad] == [
        (2, BACKWARDS),
        (4, "there is no time after the triple"),
    ]


@pytest.mark.parametrize(
    ("column", "terms"),
    [
        (pa.array([date(2026, 1, 1), None], pa.date32()), ['"2026-01-01"^^<xsd:date>', None]),
        (
            pa.array(
                [datetime(2026, 1, 1, 0, 0, 10, 250000), datetime(2026, 1, 1)], pa.timestamp("us", "UTC")
            ),
            ['"2026-01-01T00:00:10.25Z"^^<xsd:dateTime>', '"2026-01-01T00:00:00Z"^^<xsd:dateTime>'],
        ),
        (
            pa.array([datetime(2026, 1, 1, 0, 0, 0, 1)], pa.timestamp("us")),
            ['"2026-01-01T00:00:00.000001Z"^^<xsd:dateTime>'],
        ),
        (
            pa.array([float("inf"), float("-inf"), float("nan"), 1e30, 0.5, None]),
            [*(f'"{text}"^^<xsd:double>' for text in ("INF", "-INF", "NaN", "1e+30", "0.5")), None],
        ),
        (pa.array([5, None], pa.int16()), ['"5"^^<xsd:integer>', None]),
        (pa.array([True]), ['"true"^^<xsd:boolean>']),
        (
            pa.array([Decimal("1E-7"), Decimal("1.5"), None], pa.decimal128(20, 7)),
            ['"0.0000001"^^<xsd:decimal>', '"1.5000000"^^<xsd:decimal>', None],
        ),
        (pa.array(["http://ex/a", '"x"@en', "_:b"]), ["<http://ex/a>", '"x"@en', "_:b"]),
    ],
)
def test_values_of_data_frames_are_terms(column: pa.Array, terms: list[str | None]) -> None:
    found = frames.term(column).to_pylist()
    assert [text and text.replace("http://www.w3.org/2001/XMLSchema#", "xsd:") for text in found] == terms


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("object", types.BinaryType(), "has texts, numbers, truth values, dates or timestamps, not binary"),
        ("object", types.ArrayType(types.StringType()), "not array<string>"),
        ("object", types.MapType(types.StringType(), types.StringType()), "not map<string,string>"),
        ("object", types.StructType([]), "not struct<>"),
        ("subject", types.LongType(), "the column subject .* has texts, not bigint"),
        ("predicate", types.BooleanType(), "the column predicate .* has texts, not boolean"),
        ("time", types.DateType(), "the column time .* has timestamps or texts, not date"),
        ("end", types.LongType(), "the column end .* has timestamps or texts, not bigint"),
    ],
)
def test_columns_of_data_frames_of_other_types_are_refused(
    name: str, kind: types.DataType, words: str
) -> None:
    kinds = dict.fromkeys(("subject", "predicate", "object"), types.StringType()) | {
        "time": types.TimestampType(),
        name: kind,
    }
    schema = types.StructType([types.StructField(column, type) for column, type in kinds.items()])
    frame = SimpleNamespace(columns=list(kinds), schema=schema, isStreaming=True)
    with pytest.raises(RheosError, match=words):
        frames.checked(cast("Any", frame), "<http://ex/s>", "")


def test_many_lines_and_few_lines_are_read_alike() -> None:
    text = MANY + '_:b  <http://ex/p>\t"x\\n\\u0041"@EN ' + moment(99.5) + ". # a comment\nrubbish\n"
    together = read_lines(text.encode(), "s1_")
    one_by_one = [read_lines(each.encode() + b"\n", "s1_") for each in text.splitlines()]
    assert together.elements.drop_columns(["line"]).to_pylist() == [
        row for chunk in one_by_one for row in chunk.elements.drop_columns(["line"]).to_pylist()
    ]
    assert together.elements.to_pylist()[-1]["o"] == '"x\nA"@en'
    assert [bad.line for bad in together.bad] == [1002]


def test_a_chunk_travels_as_bytes_or_as_a_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged, store = judge(read_lines(MANY.encode(), "s1_")), Store(uri_of(tmp_path))
    header, data, segment = Packed.of(judged, store, "segments/small.arrow")
    assert segment is None
    assert data is not None
    assert Header.of_json(header) == judged.header
    assert unpacked(data).to_batches() == [judged.elements]
    monkeypatch.setattr("rheos.sources.chunks.INLINE_BYTES", 1)
    header, data, segment = Packed.of(judged, store, "segments/large.arrow")
    assert (data, segment) == (None, "segments/large.arrow")
    assert store.table("segments/large.arrow").to_batches() == [judged.elements]


def test_no_two_batches_write_under_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with a disk of its own may still have the chunks of an earlier batch. If a later one had the
    same name there, its task would read the wrong elements, and nobody would know."""
    monkeypatch.setattr("rheos.sources.chunks.INLINE_BYTES", 1)
    (tmp_path / "in.nq").write_text(MANY)
    store = Store(uri_of(tmp_path / "store"))
    source = FileSource.of(tmp_path / "in.nq")
    reader = StreamsReader(Streams({"<http://ex/s>": source}, str(tmp_path / "beat"), 20_000, store))
    offset, names = reader.initialOffset(), list[str]()
    while not source.ended(offset["streams"]["<http://ex/s>"]):
        after = reader.latestOffset(offset, None)
        for _ in range(2):  # a batch may be planned again, and a task tried again
            for part in reader.partitions(offset, after):
                for _ in range(2):
                    names += [row["segment"] for batch in reader.read(part) for row in batch.to_pylist()]
        offset = after
    written = [name for name in names if name is not None]
    assert len(written) > 8
    assert len(set(written)) == len(written)
    assert set(store.names("segments")) == set(written)


def test_the_parts_of_a_batch_are_told_to_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.nq").write_text(MANY)
    streams = Streams(
        {"<http://ex/s>": FileSource.of(tmp_path / "in.nq")}, str(tmp_path / "beat"), 1000, NO_STORE
    )
    reader = StreamsReader(streams)
    assert Planned.told(tmp_path) is None
    start = reader.initialOffset()
    end = reader.latestOffset(start, None)
    parts = reader.partitions(start, end)
    assert Planned.told(tmp_path) == Planned(start, end, parts)
    monkeypatch.setattr("rheos.sources.reader.MOST_TOLD", 10)
    reader.partitions(start, end)
    assert Planned.told(tmp_path) == Planned(start, end, None)


TRIG = """@prefix : <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:g2 prov:generatedAtTime "2026-01-01T00:00:02Z"^^xsd:dateTime . :lost :p :q .
:g1 prov:generatedAtTime "2026-01-01T00:00:01Z"^^xsd:dateTime ; prov:wasAttributedTo :me .
:g1 { :a :p :x . :a :p :y } :g2 { :b :p :z } :g3 { :c :p :lost }"""


def test_documents_have_the_time_at_their_graphs(tmp_path: Path) -> None:
    (tmp_path / "s.trig").write_text(TRIG)
    [chunk] = everything(FileSource.of(tmp_path / "s.trig"))
    found = [(row["o"], row["time"] - 1_767_225_600_000_000) for row in chunk.elements.to_pylist()]
    assert sorted(found) == [
        ("<http://ex/x>", 1_000_000), ("<http://ex/y>", 1_000_000), ("<http://ex/z>", 2_000_000),
    ]  # fmt: skip
    assert len(chunk.bad) == 2
    assert {bad.reason for bad in chunk.bad} == {"the triple is in no graph that has a prov:generatedAtTime"}


def test_quads_with_graphs_and_lines_with_times_share_an_extension(tmp_path: Path) -> None:
    prov = "<http://www.w3.org/ns/prov#generatedAtTime>"
    (tmp_path / "s.nq").write_text(
        f"<http://ex/g> {prov} {moment(1)} .\n<http://ex/a> <http://ex/p> <http://ex/x> <http://ex/g> .\n"
    )
    assert objects(everything(FileSource.of(tmp_path / "s.nq"))) == ["<http://ex/x>"]
    assert objects(everything(FileSource.of((tmp_path / "s.nq").as_uri()))) == ["<http://ex/x>"]
    (tmp_path / "t.nq").write_text("rubbish\n" + line("a", "p", "y", 1))
    assert objects(everything(FileSource.of(tmp_path / "t.nq"))) == ["<http://ex/y>"]


@pytest.mark.parametrize("more", [0, 10_000])  # the beginning of a long document is cut off somewhere
def test_compressed_quads_have_their_time_by_a_property(more: int, tmp_path: Path) -> None:
    graph, property = "<http://ex/g>", "<http://ex/made>"
    lines = [f"<http://ex/a> <http://ex/p> <http://ex/{n}> {graph} .\n" for n in range(1 + more)]
    path = tmp_path / "s.nq.gz"
    path.write_bytes(gzip.compress(f"{graph} {property} {moment(1)} .\n{''.join(lines)}".encode()))
    decoding = Decoding(time="property:http://ex/made")
    found = objects(everything(FileSource.of(path, decoding=decoding)))
    assert len(found) == 1 + more
    path.write_bytes(gzip.compress(line("a", "p", "y", 1).encode()))
    with pytest.raises(LoadError, match="lines have a time each"):
        FileSource.of(path, decoding=decoding)


def test_a_broken_document_is_one_dead_letter(tmp_path: Path) -> None:
    (tmp_path / "s.trig").write_text(TRIG + "\n :g4 { :a :b }")
    [chunk] = everything(FileSource.of(tmp_path / "s.trig"))
    assert chunk.elements.num_rows == 0
    assert [bad.line for bad in chunk.bad] == [6]


def spooled(folder: Path, text: str) -> Spool:
    spool = Spool(str(folder), "")
    copy(io.BufferedReader(io.BytesIO(text.encode())), spool).join()  # type: ignore[arg-type]
    return spool


def test_standard_input_is_copied_whole(tmp_path: Path) -> None:
    assert objects(everything(spooled(tmp_path, MANY.rstrip("\n")), 3000)) == EXPECTED


def test_the_same_input_again_goes_on_where_it_was(tmp_path: Path) -> None:
    parts = MANY.splitlines(keepends=True)
    spooled(tmp_path, "".join(parts[:300]))
    (tmp_path / "ended").unlink()  # it was killed
    [segment] = tmp_path.glob("*.nq")
    with segment.open("ab") as file:
        file.write(parts[300][:10].encode())  # while it wrote a line
    assert objects(everything(spooled(tmp_path, MANY))) == EXPECTED


def test_a_first_line_that_was_not_copied_any_more_is_not_lost(tmp_path: Path) -> None:
    spooled(tmp_path, MANY)
    (tmp_path / "ended").unlink()  # it was killed
    [segment] = tmp_path.glob("*.nq")
    segment.write_bytes(segment.read_bytes()[:10])  # while it wrote the first line
    assert objects(everything(spooled(tmp_path, MANY))) == EXPECTED


def test_other_input_is_a_continuation(tmp_path: Path) -> None:
    parts = MANY.splitlines(keepends=True)
    spooled(tmp_path, "".join(parts[:300]))
    assert objects(everything(spooled(tmp_path, "".join(parts[300:])))) == EXPECTED


def test_files_of_the_spool_go_when_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rheos.sources import standard_input

    monkeypatch.setattr(standard_input, "SEGMENT_BYTES", 5000)
    monkeypatch.setattr(standard_input, "_READ_BYTES", 1000)
    spool = spooled(tmp_path, MANY)
    offset = spool.begin()
    kept = [len(list(tmp_path.glob("*.nq")))]
    found = []
    while not spool.ended(offset):
        start, offset = offset, spool.latest(offset, 8000)
        found += [chunk for part in spool.parts(start, offset) for chunk in spool.read(part)]
        spool.committed(offset)
        kept.append(len(list(tmp_path.glob("*.nq"))))
    assert objects(found) == EXPECTED
    assert kept[0] > 5
    assert kept[-1] == 1
    assert all(a >= b for a, b in itertools.pairwise(kept))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nothing.nq", "there is no such file"),
        ("gopher://host/menu", "there is no source for gopher://"),
        (7, "a stream comes from a path"),
    ],
)
def test_sources_that_are_none(given: object, words: str, tmp_path: Path) -> None:
    with pytest.raises((LoadError, RheosError), match=words):
        open_source(given, "http://ex/s", tmp_path, follow=False)


# --- files that change under their reader --------------------------------------------------------------


def halfway(path: Path, follow: bool = False) -> tuple[FileSource, Offset, Offset]:
    """A source, and the offsets before and after its first batch."""
    source = FileSource.of(path, follow=follow)
    begin = source.begin()
    return source, begin, source.latest(begin, 5000)


def read_all(source: Source, start: Offset, end: Offset) -> list[str]:
    return objects([chunk for part in source.parts(start, end, 700) for chunk in source.read(part)])


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it was truncated or replaced"),
        (MANY[:4000], "it was truncated or replaced"),
        (MANY.replace("http://ex/o", "http://ex/x"), "it was replaced"),
    ],
)
def test_a_file_that_changes_between_batches_is_an_error(
    tmp_path: Path, follow: bool, content: str, words: str
) -> None:
    path = tmp_path / "s.nq"
    path.write_text(MANY)
    source, begin, offset = halfway(path, follow)
    assert read_all(source, begin, offset) == EXPECTED[: len(read_all(source, begin, offset))]
    path.write_text(content)
    with pytest.raises(LoadError, match=words) as error:
        source.latest(offset)
    assert str(error.value).startswith(f"{path}: ")
    # The same where the batch was planned, and is only now read.
    with pytest.raises(LoadError, match=words):
        read_all(source, begin, offset)


def test_a_rotated_file_is_an_error_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(MANY)
    source = FileSource.of(path, follow=True)
    offset = source.latest(source.begin())
    path.rename(tmp_path / "s.nq.1")
    assert source.latest(offset) == offset
    path.write_text(MANY[:100_000].replace("http://ex/o", "http://ex/x") * 3)
    with pytest.raises(LoadError, match=r"s\.nq: this is not the file that was read before"):
        source.latest(offset)
    path.unlink()
    with pytest.raises(LoadError, match=r"s\.nq: it can no longer be read: No such file"):
        read_all(source, source.begin(), offset)


def test_a_file_that_grows_or_is_touched_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(MANY[: MANY.index("\n") + 1])
    source = FileSource.of(path, follow=True)
    offset = source.latest(source.begin())
    os.utime(path, (1, 1))
    assert source.latest(offset) == offset
    path.write_text(MANY)
    assert read_all(source, offset, source.latest(offset)) == EXPECTED[1:]
    old = {"files": {str(path): len(MANY)}, "ended": False}  # as offsets were before
    assert source.latest(old)["files"] == old["files"]


def test_documents_that_are_cut_or_change(tmp_path: Path) -> None:
    path = tmp_path / "s.nq.gz"
    path.write_bytes(gzip.compress(MANY.encode()))
    source, begin, offset = halfway(path, follow=True)
    assert read_all(source, begin, offset) == EXPECTED
    path.write_bytes(gzip.compress(MANY.encode()) + gzip.compress(b"\n"))
    with pytest.raises(LoadError, match="changed after it had been read"):
        source.latest(offset)
    path.write_bytes(gzip.compress(MANY.encode())[:-9])
    with pytest.raises(LoadError, match="it was truncated or replaced"):
        read_all(source, begin, offset)
    _, begin, offset = halfway(path)
    with pytest.raises(LoadError, match=r"s\.nq\.gz: it cannot be decompressed"):
        read_all(source, begin, offset)
    document = tmp_path / "s.trig"
    document.write_text(TRIG)
    source, begin, offset = halfway(document)
    document.write_text(TRIG[:100])
    with pytest.raises(LoadError, match=r"s\.trig: the file has 100 bytes"):
        read_all(source, begin, offset)


def test_copied_input_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rheos.sources import standard_input

    monkeypatch.setattr(standard_input, "SEGMENT_BYTES", 5000)
    monkeypatch.setattr(standard_input, "_READ_BYTES", 1000)
    spool = spooled(tmp_path, MANY)
    begin = spool.begin()
    offset = spool.latest(begin)
    parts = list(spool.parts(begin, offset))
    second = Path(parts[1]["path"])
    content = second.read_bytes()
    second.write_bytes(content[:-100])
    with pytest.raises(LoadError, match="bytes, but there were"):
        list(spool.read(parts[1]))
    for change in (lambda: None, second.unlink):
        change()
        with pytest.raises(LoadError, match="were here, and are not any more"):
            spool.parts(begin, offset)
