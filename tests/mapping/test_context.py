"""JSON-LD contexts as mappings."""

from __future__ import annotations

import json

import pytest

from rheos.errors import RheosError
from rheos.mapping import Mapping
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Messages, decoder
from tests.runtime.streams import NEW_YEAR

XSD = "http://www.w3.org/2001/XMLSchema#"
TIME = {"@id": "http://www.w3.org/ns/prov#generatedAtTime", "@type": f"{XSD}dateTime"}
CONTEXT = json.dumps({"@context": {"@vocab": "http://ex/", "id": "@id", "ts": TIME}})
WHEN = "2026-01-01T00:00:03Z"


def mapped(*records: object, time: str | None = None, context: str = CONTEXT) -> Chunk:
    payloads = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in records]
    return decoder(Mapping.of(context), time, base="http://ex/s/").decode(Messages.of(payloads), "b")


def triples(chunk: Chunk) -> list[str]:
    return [
        " ".join(row[name].replace("http://ex/", "") for name in "spo") for row in chunk.elements.to_pylist()
    ]


def test_plain_json_is_rdf() -> None:
    found = mapped({"id": "a", "v": "x", "tags": ["y", "z"], "ts": WHEN}, [{"id": "b", "v": "w", "ts": WHEN}])
    assert triples(found) == ['<s/a> <v> "x"', '<s/a> <tags> "y"', '<s/a> <tags> "z"', '<s/b> <v> "w"']
    assert {time / 1e6 - NEW_YEAR for time in found.elements.column("time").to_pylist()} == {3}


def test_blank_nodes_are_those_of_their_record_and_the_same_when_read_again() -> None:
    records = [{"id": "a", "room": {"n": 1}, "ts": WHEN}, {"id": "_:x", "v": 1, "ts": WHEN}] * 2
    found = mapped(*records)
    blanks = {row["s"] for row in found.elements.to_pylist() if row["s"].startswith("_:")}
    assert len(blanks) == 4
    assert mapped(*records).elements.equals(found.elements)


def test_only_the_records_at_fault_are_dead_letters() -> None:
    good = {"id": "a", "v": "x", "ts": WHEN}
    records = [good, b"{", good, {"id": 5, "ts": WHEN}, b"7", {"id": "b", "v": 1}, {"ts": WHEN}, good]
    found = mapped(*records)
    assert found.elements.column("line").to_pylist() == [1, 3, 8]
    reasons = {item.line: item.reason for item in found.bad}
    assert "no JSON" in reasons.pop(2)
    assert reasons == {
        4: "the record is no JSON-LD: @id value must be a string",
        5: "the record is no JSON object",
        6: "the record gives no time: the mapping makes no prov:generatedAtTime of it",
        7: "the mapping gives no triple for the record",
    }


def test_the_time_may_be_a_field() -> None:
    found = mapped({"id": "a", "v": "x", "at": {"t": WHEN}}, time="field:at.t")
    assert [time / 1e6 - NEW_YEAR for time in found.elements.column("time").to_pylist()] == [3, 3, 3]


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ("{", "the context is no JSON"),
        ('{"@context": "http://schema.org/"}', "nothing is fetched from elsewhere"),
        ('{"@context": {"a": 5}}', "the context cannot be used"),
        ('{"a":' * 9000 + "1" + "}" * 9000, "nested deeper than 100 levels"),
    ],
)
def test_a_context_that_cannot_be_used(context: str, reason: str) -> None:
    with pytest.raises(RheosError, match=reason):
        mapped({}, context=context)


def test_a_context_is_for_json() -> None:
    with pytest.raises(RheosError, match="a JSON-LD context makes RDF of JSON, not of csv"):
        decoder(Mapping.of(CONTEXT), None, "csv")
