"""CONSTRUCT queries as mappings: what fields there are, what terms they are, what becomes of bad records."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from rheos.errors import LoadError, RheosError
from rheos.mapping import Mapping
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Messages, decoder
from tests.runtime.streams import NEW_YEAR

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIX = "PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#> "


def mapped(
    query: str, *records: Any, clock: str | None = "arrival", format: str | None = "json", **columns: Any
) -> Chunk:
    payload = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in records]
    columns.setdefault("arrival", pa.array([NEW_YEAR * 1_000_000] * len(payload)))
    made = decoder(Mapping(PREFIX + query), clock, format)
    return made.decode(Messages.of(payload, **columns), "b", "here")


def triples(chunk: Chunk) -> list[str]:
    rows = chunk.elements.to_pylist()
    return [
        " ".join(row[name].replace("http://ex/", "").replace(XSD, "xsd:") for name in "spo") for row in rows
    ]


def objects(chunk: Chunk) -> list[str]:
    return [item.split(" ", 2)[2] for item in triples(chunk)]


def reasons(chunk: Chunk) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in chunk.bad]


def seconds(chunk: Chunk) -> list[float]:
    return [time / 1e6 - NEW_YEAR for time in chunk.elements.column("time").to_pylist()]


@pytest.mark.parametrize(
    ("value", "term"),
    [
        ("text", '"text"'),
        ("", '""'),
        ('a "b" \\ \n é', '"a "b" \\ \n é"'),
        (5, '"5"^^<xsd:integer>'),
        (-0, '"0"^^<xsd:integer>'),
        (12345678901234567890123, '"12345678901234567890123"^^<xsd:integer>'),
        (1.5, '"1.5"^^<xsd:decimal>'),
        (1e300, '"1e300"^^<xsd:double>'),
        (float("nan"), '"NaN"^^<xsd:double>'),
        (float("-inf"), '"-INF"^^<xsd:double>'),
        (True, '"true"^^<xsd:boolean>'),
    ],
)
def test_values_of_json_are_terms(value: object, term: str) -> None:
    assert objects(mapped("CONSTRUCT { :s :p ?v } WHERE {}", {"v": value})) == [term]


@pytest.mark.parametrize("value", [None, {}, {"a": 1}, []])
def test_what_is_no_value_is_unbound(value: object) -> None:
    found = mapped("CONSTRUCT { :s :p ?v ; :q 1 } WHERE {}", {"v": value})
    assert triples(found) == ['<s> <q> "1"^^<xsd:integer>']


def test_paths_are_joined_by_underscores() -> None:
    query = "CONSTRUCT { :s :p ?a_b_c, ?x_y, ?Air_Temp, ?n_1 } WHERE {}"
    record = {"a": {"b": {"c": 1}}, "x_y": 2, "x": {"y": 3}, "Air Temp": 4, "n-1": 5}
    assert [item[:3] for item in objects(mapped(query, record))] == ['"1"', '"2"', '"4"', '"5"']


def test_fields_are_found_by_each_record_itself() -> None:
    """However many records there are, and whatever keys the others have."""
    query = "CONSTRUCT { :s :p ?a_b } WHERE {}"
    records = [{"a": {"b": 1}}, {"a_b": 2}, {"a b": 3}, {"a": {"b": [4, 5]}}, {"A": {"b": 6}, "a": 7}]
    together = mapped(query, *records)
    alone = [mapped(query, record) for record in records]
    assert triples(together) == [item for chunk in alone for item in triples(chunk)]
    assert [item[1] for item in objects(together)] == ["1", "2", "3", "4", "5"]
    assert reasons(together) == [(5, "the mapping gives no triple for the record")]


def test_arrays_give_a_row_for_each_item() -> None:
    query = "CONSTRUCT { ?s :value ?readings_v ; :tag ?tags } WHERE { BIND(IRI(?id) AS ?s) }"
    record = {"id": "http://ex/a", "readings": [{"v": 1}, {"v": [2, [3]]}], "tags": ["x", "y"]}
    found = mapped(query, record)
    assert sorted(triples(found)) == sorted(
        [*(f'<a> <value> "{n}"^^<xsd:integer>' for n in (1, 2, 3)), '<a> <tag> "x"', '<a> <tag> "y"']
    )
    assert found.bad == ()


def test_a_record_says_the_same_once_at_a_time() -> None:
    """However it comes to say it twice: by its rows or its template, and beside records that say nothing."""
    query = "CONSTRUCT { :s :p ?v_x, ?w } WHERE { FILTER(BOUND(?w)) }"
    found = mapped(query, {}, {}, {"v": [{"x": 1}, {"x": 1}], "w": 1}, {"v": {"x": 2}, "w": 2})
    assert found.elements.column("line").to_pylist() == [3, 4]
    timed = [{"x": 1, "t": 1}, {"x": 1, "t": 2}, {"x": 1, "t": 2}]
    found = mapped("CONSTRUCT { :s :p ?v_x } WHERE {}", {"v": timed}, clock="field:v.t")
    assert [second + NEW_YEAR for second in seconds(found)] == [1, 2]


def test_an_array_of_records_is_many_records() -> None:
    found = mapped("CONSTRUCT { :s :p ?v } WHERE {}", [{"v": 1}, {"w": 2}, [{"v": 3}]], [], {"v": 4})
    assert [item[1] for item in objects(found)] == ["1", "3", "4"]
    assert found.elements.column("line").to_pylist() == [1, 1, 3]
    assert [(item.line, item.text) for item in found.bad] == [(1, '{"w":2}')]


def test_sparql_makes_terms() -> None:
    query = """CONSTRUCT { ?s :label ?label ; :level ?level ; :opt ?opt ; :kind ?kind } WHERE {
        BIND(IRI(CONCAT("http://ex/", ENCODE_FOR_URI(?name))) AS ?s)
        BIND(STRLANG(?name, "en") AS ?label)
        BIND(IF(?v > 10, "high", "low") AS ?level)
        VALUES (?code ?kind) { (1 :Temperature) (2 :Humidity) }
        { FILTER(?v > 10) } UNION { FILTER(?v <= 10) FILTER(?v >= 0) }
        OPTIONAL { FILTER(?v > 100) BIND(?v / 100 AS ?opt) }
    }"""
    records = [{"name": "a b", "v": 5, "code": 1}, {"name": "c", "v": 200, "code": 2}, {"name": "d", "v": -1}]
    found = mapped(query, *records)
    assert triples(found) == [
        '<a%20b> <label> "a b"@en',
        '<a%20b> <level> "low"',
        "<a%20b> <kind> <Temperature>",
        '<c> <label> "c"@en',
        '<c> <level> "high"',
        '<c> <opt> "2"^^<xsd:decimal>',
        "<c> <kind> <Humidity>",
    ]
    assert reasons(found) == [(3, "the mapping gives no triple for the record")]


def test_blank_nodes_are_new_for_each_row_and_the_same_when_read_again() -> None:
    query = (
        "CONSTRUCT { [] :p ?v ; :q _:x . _:x :r ?b, ?c } WHERE { BIND(BNODE() AS ?b) BIND(BNODE('l') AS ?c) }"
    )
    records = [{"v": 1}, {"v": [2, 3]}]
    found = mapped(query, *records)
    nodes = {term for row in found.elements.to_pylist() for term in (row["s"], row["o"]) if term[0] == "_"}
    assert len(nodes) == 3 * 4
    assert mapped(query, *records).elements.equals(found.elements)


def test_what_is_known_of_the_message_is_a_field() -> None:
    query = "CONSTRUCT { :s :p ?_topic, ?_topic2, ?_topic9, ?_key, ?_time, ?_arrival, ?_line } WHERE {}"
    about = {
        "topic": pa.array(["city/hall/temp", "city"]),
        "key": pa.array([b"k", b"\xff"]),
        "time": pa.array([NEW_YEAR * 1_000_000 + 250_000, None]),
        "line": pa.array([7, 8]),
    }
    found = mapped(query, {}, {}, **about)
    first = [row["o"].replace(XSD, "xsd:") for row in found.elements.to_pylist() if row["line"] == 7]
    assert first == [
        '"city/hall/temp"',
        '"hall"',
        '"k"',
        '"2026-01-01T00:00:00.25Z"^^<xsd:dateTime>',
        '"2026-01-01T00:00:00Z"^^<xsd:dateTime>',
        '"7"^^<xsd:integer>',
    ]
    assert len(objects(found)) - len(first) == 3


# --- times -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01T00:00:05Z", 5),
        ("2026-01-01T02:00:05.25+02:00", 5.25),
        ("2026-01-01 00:00:05", 5),
        (NEW_YEAR + 5, 5),
        (NEW_YEAR + 5.5, 5.5),
        ((NEW_YEAR + 5) * 1000, 5),
        ((NEW_YEAR + 5) * 1_000_000, 5),
        ((NEW_YEAR + 5) * 1_000_000_000, 5),
        (str(NEW_YEAR + 5), 5),
    ],
)
def test_a_field_is_a_time(value: object, expected: float) -> None:
    for record in ({"v": 1, "at": {"ts": value}}, {"v": 1, "at": [{"ts": value}]}):
        assert seconds(mapped("CONSTRUCT { :s :p ?v } WHERE {}", record, clock="field:at.ts")) == [expected]


def test_each_row_has_its_own_time_or_that_of_its_record() -> None:
    query = "CONSTRUCT { :s :p ?r_v . :s :at ?time } WHERE { BIND(STRDT(?r_t, xsd:dateTime) AS ?time) }"
    query = f"PREFIX xsd: <{XSD}> {query}"
    record = {"r": [{"v": 1, "t": "2026-01-01T00:00:01Z"}, {"v": 2}]}
    assert seconds(mapped(query, record, clock="property:http://ex/at")) == [1, 1, 1]
    other = {"r": [{"v": 1, "t": "2026-01-01T00:00:01Z"}, {"v": 2, "t": "2026-01-01T00:00:02Z"}, {"v": 3}]}
    found = mapped(query, other, clock="property:http://ex/at")
    assert seconds(found) == [1, 1, 2, 2]
    assert reasons(found) == [(1, "the record gives no time: the mapping makes no <http://ex/at> of it")]


def test_the_mapping_itself_may_give_the_time() -> None:
    query = "CONSTRUCT { :s :p ?v ; prov:generatedAtTime ?t } WHERE {}"
    found = mapped(query, {"v": 1, "t": "2026-01-01T00:00:03Z"}, clock=None)
    assert triples(found) == ['<s> <p> "1"^^<xsd:integer>']
    assert seconds(found) == [3]


def test_the_time_may_be_that_of_the_message() -> None:
    times = pa.array([(NEW_YEAR + 4) * 1_000_000, None])
    made = decoder(Mapping(PREFIX + "CONSTRUCT { :s :p ?v } WHERE {}"), "message")
    found = made.decode(Messages.of([b'[{"v":1},{"v":2}]', b'{"v":3}'], time=times), "")
    assert seconds(found) == [4, 4]
    assert reasons(found) == [(2, "the record gives no time: message is not known")]


# --- what is wrong -----------------------------------------------------------------------------------------


def test_bad_records_are_dead_letters_with_their_reason_and_text() -> None:
    records = [
        {"v": 1, "t": 0},
        b"{oops",
        b'{"v": "\xff"}',
        b"",
        b"5",
        {"v": 2},
        {"v": 3, "t": "noon"},
        {"t": 0},
        b'{"v": "\\ud800", "t": 0}',
    ]
    found = mapped("CONSTRUCT { :s :p ?v } WHERE {}", *records, clock="field:t")
    assert [item[1] for item in objects(found)] == ["1"]
    assert reasons(found) == [
        (2, "the record is no JSON: Expecting property name enclosed in double quotes at column 2"),
        (3, "the record is not UTF-8"),
        (5, "the record gives no time: it has no t"),
        (6, "the record gives no time: it has no t"),
        (7, "not a dateTime of the years 0001 to 9999: noon"),
        (8, "the mapping gives no triple for the record"),
        (9, "the record is no JSON"),
    ]
    assert found.bad[0].text == "{oops"
    assert found.bad[4].text == '{"v": 3, "t": "noon"}'


def test_arrays_with_too_many_combinations_are_dead_letters() -> None:
    many = {name: list(range(1000)) for name in "abc"}
    found = mapped("CONSTRUCT { :s :p ?a, ?b, ?c } WHERE {}", {"a": 1}, many, {"b": [2, 3]})
    assert len(objects(found)) == 3
    assert reasons(found) == [(2, "the arrays of the record have more than 100,000 combinations")]


def test_records_that_are_nested_too_deeply_are_dead_letters() -> None:
    deep, text = b'{"v": ' + b"[" * 9000 + b"1" + b"]" * 9000 + b"}", "[{" * 500
    wide = {"v": [{"w": [number]} for number in range(300)], "text": text}
    found = mapped("CONSTRUCT { :s :p ?v_w } WHERE {}", deep, b"[" * 9000, wide)
    assert len(objects(found)) == 300
    assert reasons(found) == [
        (1, "JSON that is nested deeper than 100 levels is not read"),
        (2, "JSON that is nested deeper than 100 levels is not read"),
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT ?a WHERE {}", "a mapping is a CONSTRUCT query"),
        ("CONSTRUCT { :s :p ?a } WHERE { ?x :p ?a }", "a mapping cannot have a triple pattern"),
        ("CONSTRUCT { :s :p ?a } WHERE { GRAPH :g { } }", "a mapping cannot have GRAPH"),
        ("CONSTRUCT { :s :p ?a } WHERE { { SELECT ?a { } } }", "a mapping cannot have a SELECT inside"),
        ("CONSTRUCT { :s :p ?a } WHERE { SERVICE :x { } }", "a mapping cannot have SERVICE"),
        ("CONSTRUCT { :s :p ?a } WHERE { BIND(NOW() AS ?a) }", r"a mapping cannot have NOW\(\)"),
        ("CONSTRUCT { :s :p ?a } WHERE { FILTER(RAND() > 0) }", r"a mapping cannot have RAND\(\)"),
        ("CONSTRUCT { :s :p ?a } WHERE { } LIMIT 1", "a mapping cannot have LIMIT"),
        ("CONSTRUCT { :s :p ?a } FROM :g WHERE { }", "a mapping cannot have FROM"),
        ("CONSTRUCT { :s :p ?a } WHERE { } ORDER BY ?a", "a mapping cannot have ORDER BY"),
        ("CONSTRUCT { :s :p ?a WHERE { }", "line 1, column"),
        ("CONSTRUCT { :s no:p ?a } WHERE { }", "unknown prefix 'no:'"),
    ],
)
def test_what_a_mapping_cannot_have_is_refused_at_its_place(query: str, reason: str) -> None:
    with pytest.raises(LoadError, match=reason) as error:
        mapped(query, {})
    assert "^" in str(error.value)


def test_a_mapping_that_can_never_give_a_time_is_refused() -> None:
    with pytest.raises(RheosError, match=r"gives no time.*field:NAME, property:IRI, message or arrival"):
        mapped("CONSTRUCT { :s :p ?a } WHERE {}", {}, clock=None)
    with pytest.raises(RheosError, match="makes no <http://ex/at>"):
        mapped("CONSTRUCT { :s :p ?a } WHERE {}", {}, clock="property:http://ex/at")


def test_a_decoder_travels() -> None:
    made = decoder(Mapping(PREFIX + "CONSTRUCT { :s :p ?a } WHERE { BIND(?b + 1 AS ?a) }"), "field:t")
    assert pickle.loads(pickle.dumps(made)) == made


# --- tables ------------------------------------------------------------------------------------------------

CSV = (
    b"\xef\xbb\xbfid,Air Temp,note,ts\r\n"
    b'a,21.5,"x, ""y""",2026-01-01T00:00:01Z\r\n'
    b"b,,,2026-01-01T00:00:02Z\r\n"
)
TABLE = """CONSTRUCT { ?s :temp ?Air_Temp ; :note ?note ; :line ?_line }
WHERE { BIND(IRI(CONCAT('http://ex/', ?id)) AS ?s) }"""


def test_columns_of_csv_are_fields_and_empty_ones_unbound() -> None:
    found = mapped(TABLE, CSV, clock="field:ts", format="csv")
    assert triples(found) == [
        '<a> <temp> "21.5"',
        '<a> <note> "x, "y""',
        '<a> <line> "2"^^<xsd:integer>',
        '<b> <line> "3"^^<xsd:integer>',
    ]
    assert seconds(found) == [1, 1, 1, 2]


def test_tsv_has_no_quotes() -> None:
    found = mapped("CONSTRUCT { :s :p ?b } WHERE {}", b'a\tb\n1\t"2"\n', format="tsv")
    assert objects(found) == ['""2""']


def test_tables_with_other_columns_are_read_each_for_itself() -> None:
    found = mapped(
        "CONSTRUCT { :s :p ?b } WHERE {}", b"a,b\n1,2\n", b"b,c\n3,4\n", b"a,b\n5,6", b"a,b\n", format="csv"
    )
    assert objects(found) == ['"2"', '"3"', '"6"']


def test_bad_lines_of_csv_are_dead_letters() -> None:
    body = b'a,b\n1,2\n1\n"1,2\n\n1,\xff\n3,4,5\n'
    found = mapped("CONSTRUCT { :s :p ?b } WHERE {}", body, format="csv")
    assert objects(found) == ['"2"']
    assert reasons(found) == [
        (3, "it has 1 fields, not 2"),
        (4, "a quoted field is not closed on its line: a record is one line"),
        (6, "the record is not UTF-8"),
        (7, "it has 3 fields, not 2"),
    ]


# --- formats -----------------------------------------------------------------------------------------------

VALUE = "CONSTRUCT { _:b :p ?v } WHERE {}"


def test_each_payload_shows_its_format() -> None:
    payloads = [
        b'{"v": 1}',
        b"v,w\n2,x\n3,y\n",
        b'{"v": 4}\n\n{"v": 5}\n',
        b"w\tv\r\na,b\t6\r\n",
        b'{\n"v": 7\n}',
        b'[{"v": 8},\n{"v": 9}]\n',
        b"v,w\n10,x\n",
        b"v\n11\n",
    ]
    found = mapped(VALUE, *payloads, format=None, line=pa.array(range(20, 28)))
    assert [item.split('"')[1] for item in objects(found)] == [str(number) for number in range(1, 12)]
    assert found.elements.column("line").to_pylist() == [20, 21, 21, 22, 22, 23, 24, 25, 25, 26, 27]
    assert len(set(found.elements.column("s").to_pylist())) == 11
    assert (found.bad, found.lines) == ((), 8)


def test_bad_records_of_any_format_are_dead_letters_by_themselves() -> None:
    payloads = [
        b'{"v": 1}\nnonsense\n{"v": 2}\n',
        b"v,w\n3,x\n4\n5,y\n",
        b"nonsense",
        b"",
        None,
        b"  \n",
        b"v,v\n1,2\n",
        b"v\n\xff\n6\n",
        b'\n{"v": 7}\n{"v": 8}',
        b"\nv\n9\n",
    ]
    messages = Messages.of(payloads, arrival=pa.array([NEW_YEAR * 1_000_000] * len(payloads)))
    found = decoder(Mapping(PREFIX + VALUE), "arrival").decode(messages, "b", "here")
    assert [item.split('"')[1] for item in objects(found)] == ["1", "2", "3", "5", "6", "7", "8"]
    assert [(item.line, item.text) for item in found.bad] == [
        (1, "nonsense"),
        (2, "4"),
        (3, "nonsense"),
        (7, "1,2"),
        (8, "\ufffd"),
        (10, "v"),
        (10, "9"),
    ]
    assert found.bad[-1].reason == "the first line is empty, and does not name the columns"


def test_the_time_of_a_line_is_its_own() -> None:
    """A field that a line of NDJSON lacks is looked for in this line only."""
    found = mapped(
        "CONSTRUCT { :s :p ?v } WHERE {}", b'{"v": 1, "t": 5}\n{"v": 2}\n', clock="field:t", format=None
    )
    assert [item[1] for item in objects(found)] == ["1"]
    assert reasons(found) == [(1, "the record gives no time: it has no t")]


def test_a_context_reads_lines_too() -> None:
    made = decoder(Mapping('{"@vocab": "http://ex/"}', "context"), "arrival")
    messages = Messages.of([b'{"v": 1}\n{"v": 2}\n', b'{"v": 3}'], arrival=pa.array([0, 0]))
    found = made.decode(messages, "b")
    assert [item.split('"')[1] for item in objects(found)] == ["1", "2", "3"]
    assert found.elements.column("line").to_pylist() == [1, 1, 2]
    assert len(set(found.elements.column("s").to_pylist())) == 3
