"""`rheos bench mapping`: how many records a second mappings make elements of, five of each record.

Two processes read a file in parts, as two tasks do, each with one core. Beside them, in the same run, plain
Python does the same: json (or csv) for each record, and f-strings for its lines.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rheos.mapping import Mapping
from rheos.sources.base import Part
from rheos.sources.decoding import Decoding
from rheos.sources.files import FileSource, read_range
from rheos_bench import Settings
from rheos_bench.report import heading, machine, median_time, table, verdict
from rheos_bench.streams import START, times

PROCESSES = 2
TARGET = 100_000  # records a second, of JSON with a CONSTRUCT query
ELEMENTS = 5
_RUNS = 3
_PART = 1 << 22

EX, SOSA = "http://example.org/", "http://www.w3.org/ns/sosa/"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

CONSTRUCT = f"""PREFIX ex: <{EX}> PREFIX sosa: <{SOSA}>
CONSTRUCT {{
  ?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?value ; ex:room ?r ; ex:unit ?unit
}} WHERE {{
  BIND(IRI(CONCAT("{EX}observation/", ?id)) AS ?o)
  BIND(IRI(CONCAT("{EX}sensor/", ?sensor)) AS ?s)
  BIND(IRI(CONCAT("{EX}room/", ?room_name)) AS ?r)
}}"""
RML = f"""@prefix rml: <http://w3id.org/rml/> . @prefix ex: <{EX}> . @prefix sosa: <{SOSA}> .
ex:map rml:logicalSource [ rml:source "s" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "{EX}observation/{{id}}" ; rml:class sosa:Observation ] ;
  rml:predicateObjectMap
    [ rml:predicate sosa:madeBySensor ; rml:objectMap [ rml:template "{EX}sensor/{{sensor}}" ] ] ,
    [ rml:predicate sosa:hasSimpleResult ; rml:objectMap [ rml:reference "value" ] ] ,
    [ rml:predicate ex:room ; rml:objectMap [ rml:template "{EX}room/{{room.name}}" ] ] ,
    [ rml:predicate ex:unit ; rml:objectMap [ rml:reference "unit" ] ] ."""
CONTEXT = json.dumps(
    {
        "id": "@id",
        "@base": f"{EX}observation/",
        "sensor": f"{SOSA}madeBySensor",
        "value": f"{SOSA}hasSimpleResult",
        "room": f"{EX}room",
        "name": f"{EX}name",
        "unit": f"{EX}unit",
        "ts": None,
    }
)


def records(number: int, seed: int = 42) -> Iterator[dict[str, object]]:
    """Observations of a thousand sensors in fifty rooms, a thousand of them in each second."""
    chance = random.Random(seed)
    for at, time in enumerate(times(number, 1000, START)):
        sensor = chance.randrange(1000)
        yield {
            "id": f"o{at}",
            "sensor": f"s{sensor}",
            "ts": time[1 : time.index('"', 1)],
            "value": round(chance.uniform(15, 30), 2),
            "unit": "Cel",
            "room": {"name": f"r{sensor % 50}", "floor": sensor % 5},
        }


def write_files(folder: Path, number: int) -> tuple[Path, Path]:
    """The records as NDJSON and as CSV, whose columns have the names of the fields."""
    ndjson, table = folder / "records.ndjson", folder / "records.csv"
    with ndjson.open("w") as lines, table.open("w", newline="") as rows:
        writer = csv.writer(rows, lineterminator="\n")
        writer.writerow(["id", "sensor", "ts", "value", "unit", "room_name", "room_floor"])
        for record in records(number):
            lines.write(json.dumps(record) + "\n")
            room = record["room"]
            assert isinstance(room, dict)
            names = ("id", "sensor", "ts", "value", "unit")
            writer.writerow([*(record[name] for name in names), room["name"], room["floor"]])
    return ndjson, table


# --- what the processes do -----------------------------------------------------------------------------


def by_rheos(source: FileSource, part: Part) -> int:
    """The number of elements of a part."""
    return sum(chunk.elements.num_rows for chunk in source.read(part))


def by_python(part: Part) -> int:
    """The same by a loop over the records; the elements are lines of text."""
    return "".join(lines_of(part)).count("\n")


def lines_of(part: Part) -> list[str]:
    text = read_range(part["path"], part["start"], part["end"]).decode()
    if part["path"].endswith(".csv"):
        rows = list(csv.reader(text.splitlines()))
        return [line for row in rows if row[0] != "id" for line in _lines(row, "")]
    return [line for record in map(json.loads, text.splitlines()) for line in _of_json(record)]


def _of_json(record: dict[str, object]) -> list[str]:
    room = record["room"]
    assert isinstance(room, dict)
    named = [str(record[name]) for name in ("id", "sensor", "ts", "value", "unit")]
    return _lines([*named, room["name"]], f"^^<{DECIMAL}>")


def _lines(values: Sequence[str], datatype: str) -> list[str]:
    id, sensor, ts, value, unit, room = values[:6]
    subject, time = f"<{EX}observation/{id}>", f'"{ts}"^^<{DATE_TIME}>'
    return [
        f"{subject} <{TYPE}> <{SOSA}Observation> {time} .\n",
        f"{subject} <{SOSA}madeBySensor> <{EX}sensor/{sensor}> {time} .\n",
        f'{subject} <{SOSA}hasSimpleResult> "{value}"{datatype} {time} .\n',
        f"{subject} <{EX}room> <{EX}room/{room}> {time} .\n",
        f'{subject} <{EX}unit> "{unit}" {time} .\n',
    ]


# --- the measurement -----------------------------------------------------------------------------------


def run(settings: Settings) -> None:
    number = settings.triples // ELEMENTS
    heading(f"Mapping: {number:,} records of {ELEMENTS} elements, {PROCESSES} processes; {machine()}")
    with tempfile.TemporaryDirectory() as folder:
        ndjson, rows = write_files(Path(folder), number)
        cases = {
            "construct": ("JSON, a CONSTRUCT query", Mapping(CONSTRUCT), ndjson, TARGET),
            "csv": ("CSV, the same query", Mapping(CONSTRUCT), rows, None),
            "rml": ("JSON, RML", Mapping(RML, "rml"), ndjson, None),
            "context": ("JSON, a JSON-LD context", Mapping(CONTEXT, "context"), ndjson, None),
        }
        runs = 1 if settings.quick else _RUNS
        measured = [row(*case, number, runs) for name, case in cases.items() if settings.wants(name)]
    columns = ["mapping", "records/s", "target", "", "plain Python", "rheos / Python"]
    table(columns, measured)


def row(what: str, mapping: Mapping, path: Path, target: int | None, number: int, runs: int) -> Sequence[str]:
    source = FileSource.of(path, decoding=Decoding(mapping, "field:ts"))
    parts = source.parts(source.begin(), source.latest(source.begin(), 1 << 62), _PART)
    # Nothing is inherited: each process begins as a task does.
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        ours = rate(pool.map, partial(by_rheos, source), parts, number, runs)
        theirs = rate(pool.map, by_python, parts, number, runs)
    reached = ["", ""] if target is None else [f"{target:,}", verdict(ours >= target)]
    return [what, f"{ours:,.0f}", *reached, f"{theirs:,.0f}", f"{ours / theirs:.1f}"]


def rate(
    map: Callable[..., list[int]], work: Callable[[Part], int], parts: Sequence[Part], number: int, runs: int
) -> float:
    """Records a second, when the processes have warmed up: the median of some runs."""
    made = sum(map(work, parts, 1))
    if made != number * ELEMENTS:
        raise AssertionError(f"{made} elements were made, not {number * ELEMENTS}")
    return number / median_time(lambda: map(work, parts, 1), runs)
