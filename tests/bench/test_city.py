"""`rheos bench city`: its mappings, its pace, the changes of its queries, and when an instant is complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import rheos
from rheos.errors import EnvironmentFault
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource
from rheos_bench import city as benchmark
from rheos_bench.city import mappings, material, published, quoted, replay
from rheos_bench.city.clock import NEVER, SECOND, Sent, complete
from rheos_bench.city.live import Followed
from rheos_bench.city.published import LANGUAGES, NUMBERS, Change, changed, queries, query
from rheos_bench.city.replay import Pace, Record, Recorded
from tests.bench.city import START, needs_citybench, written
from tests.cli.command import called
from tests.runtime.test_sources import everything

ROAD = "AarhusTrafficData1"


# --- without CityBench ------------------------------------------------------------------------------------


def test_without_its_data_it_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(material, "FOLDER", tmp_path)
    monkeypatch.setattr(material.missing, "__defaults__", (tmp_path,))
    done = called("bench", "city")
    assert done.status == 0
    assert "it is left out" in done.out
    with pytest.raises(EnvironmentFault, match="CityBench is not there"):
        material.folder()


def test_a_pace_moves_records_and_leaves_out_those_before_it_begins() -> None:
    times = [0, 300 * SECOND, 600 * SECOND, 900 * SECOND]
    stream = Recorded(ROAD, ("n", "TIMESTAMP"), tuple(Record(time, ("1", "then")) for time in times))
    moved = Pace(START, 100, (0, 300 * SECOND)).moved(stream, START + 6 * SECOND)
    assert [record.time for record in moved.records] == [START, START + 3 * SECOND]
    assert moved.records[1].fields == ("1", "2027-01-15T08:00:03Z")


def test_a_change_that_has_nothing_to_change_is_an_error() -> None:
    change = Change("<a>", "<b>", "it has moved")
    assert changed("FROM <a>", [change]) == "FROM <b>"
    with pytest.raises(ValueError, match="it has moved"):
        changed("FROM <c>", [change])


def sent(*elements: tuple[float, float]) -> Sent:
    """Elements of these seconds, sent at these seconds."""
    found = Sent()
    for time, when in elements:
        found.add(int(time * SECOND), when)
    return found


@pytest.mark.parametrize(
    ("instant", "expected"),
    [
        (9, 10.5),  # both have something later: the second of them decides
        (10, 12.5),  # both have been silent for two seconds
        (16, 20.2),  # the clock stops at the last element, until there is another
        (20, 22.4),
        (21, NEVER),
    ],
)
def test_when_an_instant_is_complete(instant: int, expected: float) -> None:
    one = sent((9, 9.0), (10, 10.0), (14, 14.0), (20, 20.4))
    other = sent((9, 9.0), (10, 10.5), (15, 15.0), (15, 15.1), (20, 20.2))
    assert complete([one, other], instant * SECOND, 2.0) == pytest.approx(expected)


def test_a_stream_that_has_brought_nothing_is_waited_for() -> None:
    assert complete([sent((10, 10.0)), Sent()], 10 * SECOND, 2.0) == NEVER


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        published.Query(language, number, "FROM STREAM ses:road [RANGE 3s STEP 1s]", ())
        for language in LANGUAGES
        for number in NUMBERS
    ]
    followed = Followed(asked, {"road": sent((10, 10.0), (12, 12.0))}, memory=5 << 20)
    followed.came["csparql-q3", 10 * SECOND] = 12.5
    followed.came["csparql-q3", 11 * SECOND] = 13.0
    benchmark.report(followed, 100, (10 * SECOND, 13 * SECOND))
    benchmark.quotations()
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    others = " none" * (len(LANGUAGES) - 1)
    assert f"Q3 500 ms, 1.00 s{others}" in lines
    assert f"all, with the 2 s for silent sensors 2.00 s, 2.50 s{others}" in lines
    assert "memory of all processes, at the most: 5 MB" in lines
    assert "Q6 696 ms, 770 ms; 80 MB 1.8 ms, 11.4 ms; 33 MB" in lines
    assert "Q12 not published not published" in lines


def test_quotations_are_of_queries_that_there_are() -> None:
    assert {*quoted.CSPARQL_ENGINE, *quoted.CQELS} <= set(NUMBERS)


# --- with CityBench ---------------------------------------------------------------------------------------


@needs_citybench
@pytest.mark.parametrize("name", [query.name for query in queries()] if not material.missing() else [])
def test_published_queries_are_read_with_their_changes(name: str) -> None:
    language, number = name.split("-q")
    found = query(language, int(number))
    assert rheos.parse(found.text, dialect=language)
    assert found.streams
    assert found.streams <= replay.recorded().keys()
    assert "127.0.0.1" not in found.text


@needs_citybench
def test_both_seasons_begin_where_every_stream_has_a_record() -> None:
    pace = Pace(START, 1, replay.origins())
    for stream in replay.recorded().values():
        moved = pace.moved(stream, START + SECOND)
        assert [record.time for record in moved.records] == [START], stream.name


@needs_citybench
def test_every_record_of_every_stream_is_mapped(tmp_path: Path) -> None:
    for name, path in written(tmp_path, 60, 20).items():
        records = path.read_text().count("\n") - 1
        kinds = material.observed()[name]
        chunks = everything(_source(path, name))
        assert not [bad for chunk in chunks for bad in chunk.bad], name
        triples = 6 if name == mappings.USER else 4  # a place has two more
        assert sum(chunk.elements.num_rows for chunk in chunks) == records * len(kinds) * triples, name


@needs_citybench
@pytest.mark.parametrize(
    ("name", "header", "record", "values"),
    [
        (
            "AarhusTrafficData182955",
            "status,avgMeasuredTime,avgSpeed,extID,medianMeasuredTime,TIMESTAMP,vehicleCount,_id,REPORT_ID",
            "OK,34,54,887,35,2014-08-01T08:00:00,11,1,2",
            {
                "CongestionLevel": 11,
                "VehicleCount": 11,
                "AvgSpeed": 54,
                "MeasureTime": 35,
                "EstimatedTime": 34,
            },
        ),
        (
            "AarhusPollutionData201399",
            "ozone,particullate_matter,carbon_monoxide,sulfure_dioxide,nitrogen_dioxide,timestamp",
            "10,30,9,20,8,2014-08-01 00:05:00",
            {"API": 30},
        ),
        (
            "AarhusWeatherData0",
            "hum,tempm,wspdm,TIMESTAMP",
            "56,18.5,7.4,2014-08-01T00:00:00",
            {"Humidity": 56, "Temperature": 18.5, "WindSpeed": 7.4},
        ),
        (
            "AarhusParkingDataSKOLEBAKKEN",
            "vehiclecount,updatetime,_id,totalspaces,garagecode",
            "500,2014-05-22 09:09:04.145,2,512,S",
            {"ParkingVacancy": 12},
        ),
    ],
)
def test_what_a_record_says(
    tmp_path: Path, name: str, header: str, record: str, values: dict[str, float]
) -> None:
    path = tmp_path / "records.csv"
    path.write_text(f"{header}\n{record}\n")
    rows = [row for chunk in everything(_source(path, name)) for row in chunk.elements.to_pylist()]
    said = {
        row["s"].split(f"{name}-")[1].split("-")[0]: float(row["o"].split('"')[1])
        for row in rows
        if row["p"] == f"<{material.SAO}hasValue>"
    }
    assert said == values
    properties = {row["o"].strip("<>") for row in rows if row["p"] == f"<{material.SSN}observedProperty>"}
    assert properties == set(material.observed()[name].values())


def _source(path: Path, name: str) -> FileSource:
    decoding = Decoding(mappings.mapping_of(name), f"field:{mappings.time_field(name)}")
    return FileSource.of(path, decoding=decoding)


def test_a_variant_has_a_name_of_its_own() -> None:
    one = published.Query("cqels", 6, "", ())
    assert (one.name, replace(one, variant="adapted").name) == ("cqels-q6", "cqels-q6-adapted")
