"""RML beyond its test cases: tables, times, iterators, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rheos.errors import RheosError
from rheos.mapping import Mapping
from rheos.mapping.jsonpath import json_path
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Decoding, Messages, decoder
from rheos.sources.files import FileSource
from tests.runtime.streams import NEW_YEAR
from tests.runtime.test_sources import everything

PREFIX = "@prefix rml: <http://w3id.org/rml/> . @prefix : <http://ex/> . "
SENSORS = """:m rml:logicalSource [
    rml:source "s" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$.r[*]" ] ;
  rml:subjectMap [ rml:template "http://ex/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :v ; rml:objectMap [ rml:reference "v" ] ] ."""


def mapped(text: str, *payloads: bytes, time: str = "arrival", format: str | None = None) -> Chunk:
    arrival = pa.array([0] * len(payloads))
    return decoder(Mapping.of(PREFIX + text), time, format).decode(
        Messages.of(payloads, arrival=arrival), "b"
    )


def triples(chunk: Chunk) -> list[str]:
    return [
        " ".join(row[name].replace("http://ex/", "") for name in "spo") for row in chunk.elements.to_pylist()
    ]


def test_items_are_records_with_the_time_of_their_message() -> None:
    items = b'{"id": "a", "v": "x"}, {"id": "b"}, {"id": "c", "v": "z", "ts": 1767225604}'
    payload = b'{"ts": 1767225603, "r": [' + items + b"]}"
    found = mapped(SENSORS, payload, b'{"r": []}', time="field:ts")
    assert triples(found) == ['<a> <v> "x"', '<c> <v> "z"']
    assert [time / 1e6 - NEW_YEAR for time in found.elements.column("time").to_pylist()] == [3, 4]
    assert [(item.line, item.reason) for item in found.bad] == [
        (1, "the mapping gives no triple for the record"),
        (2, "the iterator $.r[*] finds nothing in the record"),
    ]


def test_several_iterators_look_at_one_record() -> None:
    text = SENSORS + SENSORS.replace(":m", ":n").replace("$.r[*]", "$").replace("{id}", "{name}")
    found = mapped(text, b'{"name": "n", "v": "w", "r": [{"id": "a", "v": "x"}]}')
    assert sorted(triples(found)) == ['<a> <v> "x"', '<n> <v> "w"']


def test_numbers_have_their_natural_datatype() -> None:
    found = mapped(SENSORS, b'{"r": [{"id": "a", "v": 1.5}, {"id": "b", "v": 2}, {"id": "c", "v": true}]}')
    assert [
        item.split(" ")[2].replace("http://www.w3.org/2001/XMLSchema#", "") for item in triples(found)
    ] == [
        '"1.5E0"^^<double>',
        '"2"^^<integer>',
        '"true"^^<boolean>',
    ]


def test_new_blank_nodes_are_one_for_each_item() -> None:
    text = SENSORS.replace('rml:template "http://ex/{id}"', "rml:termType rml:BlankNode").replace(
        '"v"', '"v[*]"'
    )
    found = mapped(text, b'{"r": [{"v": [1, 2]}, {"v": [3]}]}')
    subjects = found.elements.column("s").to_pylist()
    assert subjects[0] == subjects[1] != subjects[2]


def test_references_with_too_many_combinations_are_dead_letters() -> None:
    text = SENSORS.replace("{id}", "{id[*]}").replace('"v"', '"v[*]"')
    many = b'{"id": [%s], "v": [%s]}' % ((b",".join(b"%d" % n for n in range(400)),) * 2)
    found = mapped(text, b'{"r": [' + many + b', {"id": ["a", "b"], "v": ["x"]}]}')
    assert triples(found) == ['<a> <v> "x"', '<b> <v> "x"']
    assert [item.reason for item in found.bad] == [
        "the arrays of the record have more than 100,000 combinations"
    ]


def test_columns_of_csv_are_references(tmp_path: Path) -> None:
    text = """:m rml:logicalSource [ rml:source "s.csv" ; rml:referenceFormulation rml:CSV ] ;
      rml:subjectMap [ rml:template "http://ex/{Sensor Id}" ; rml:class :Sensor ] ;
      rml:predicateObjectMap [ rml:predicate :v ; rml:objectMap [ rml:reference "v" ; rml:datatype :d ] ] ."""
    path = tmp_path / "s.csv"
    path.write_text("Sensor Id,v,ts\na b,1,2026-01-01T00:00:00Z\nc,,2026-01-01T00:00:00Z\n")
    (tmp_path / "m.rml.ttl").write_text(PREFIX + text)
    [found] = everything(FileSource.of(path, decoding=Decoding(tmp_path / "m.rml.ttl", "field:ts")))
    assert triples(found)[1] == '<a%20b> <v> "1"^^<d>'
    assert len(triples(found)) == 3
    with pytest.raises(RheosError, match="the mapping reads CSV, and the records are json"):
        decoder(Mapping.of(PREFIX + text), "field:ts", "json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('rml:iterator "$.r[*]"', 'rml:iterator "$..r"'), r"the JSONPath '\$\.\.r' is not understood"),
        (('rml:iterator "$.r[*]"', 'rml:iterator "$.r[?(@.v>1)]"'), "is not understood from"),
        (("rml:JSONPath", "rml:XPath"), "the reference formulation XPath is refused"),
        (('rml:source "s"', 'rml:query "s"'), "rml:query is refused here"),
        (('rml:source "s"', 'rml:source [ rml:path "s" ; rml:null "-" ]'), "rml:null is refused here"),
        (
            ('rml:source "s"', 'rml:source [ rml:path "s" ; rml:compression rml:gzip ]'),
            "rml:compression is refused here: root, path are understood",
        ),
        (("rml:predicate :v", "rml:predicate :v ; rml:graph :g"), "rml:graph is refused"),
        (('rml:reference "v"', 'rml:functionExecution "v"'), "rml:functionExecution is refused here"),
        (('rml:reference "v"', 'rml:template "{v"'), "a brace is not closed"),
        (('rml:reference "v"', 'rml:reference "v" ; rml:language "x y"'), "'x y' is not a language tag"),
        (('rml:reference "v"', 'rml:reference "v" ; rml:termType rml:Thing'), "there is no term type Thing"),
        (("rml:subjectMap", "rml:noMap"), "rml:noMap is refused here"),
        (("http://w3id.org/rml/", "http://semweb.mmlab.be/ns/rml#"), "the vocabulary .* is not understood"),
        (("rml:predicate :v", "rml:predicate []"), "a predicate is an IRI"),
        ((":m rml", ":m rml rml"), "line 1"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(change: tuple[str, str], reason: str) -> None:
    text = (PREFIX + SENSORS).replace(*change)
    with pytest.raises(RheosError, match=reason):
        decoder(Mapping(text, "rml"), "arrival")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("$", "$"),
        ("$.a.b", '$."a"."b"'),
        ("a", '$."a"'),
        ("$['a b'][0]", '$."a b"[0]'),
        ('$["a\\"b"].*', '$."a\\"b".*'),
        ("$.a[*]", '$."a"[*]'),
    ],
)
def test_json_paths(text: str, sql: str) -> None:
    assert json_path(text).sql == sql
