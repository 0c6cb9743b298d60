"""The answers of continuous queries: Answers made late, and the lines of each form of output."""

from __future__ import annotations

import csv
import io
import json
import pickle
import random
from datetime import UTC, datetime

import pyarrow as pa
import pyoxigraph as ox
import pytest

from rheos.answers.continuous import (
    Alike,
    Answer,
    QueryInfo,
    answer_lines,
    answers,
    moment,
    ndjson_lines,
    ntriples_term,
    time_text,
    untimed,
)
from rheos.answers.formatter import Formatter
from rheos.answers.result import Result
from rheos.answers.terms import json_term
from rheos.errors import RheosError
from rheos.sources.documents import read_document
from rheos.terms import encode

XSD = "http://www.w3.org/2001/XMLSchema#"
NEW_YEAR = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000
INTEGER = f"^^<{XSD}integer>"
TEXTS = ['"plain"', '"say \\"hi\\""', '"a\nb\r\t"', '"back\\slash"', '"chat"@fr', '""', '"\u2028é𝄞\x01"']
TERMS = ["<http://ex/a>", "_:b0", f'"5"{INTEGER}', *TEXTS]


def batch(*rows: tuple[object, ...], columns: int = 1) -> pa.Table:
    """Rows that start with the second of their instant."""
    times = [NEW_YEAR + int(row[0] * SECOND) for row in rows]  # type: ignore[call-overload]
    terms = [pa.array([row[1 + at] for row in rows], pa.string()) for at in range(columns)]
    names = ["instant", "at", *(f"column{at}" for at in range(columns))]
    return pa.table([pa.array(times, pa.int64()), pa.array(times, pa.int64()), *terms], names=names)


def asked(*found: bool) -> pa.Table:
    times = pa.array([NEW_YEAR + at * SECOND for at in range(len(found))], pa.int64())
    return pa.table({"instant": times, "at": times, "found": pa.array(found, pa.bool_())})


def test_estimates_and_what_was_skipped_are_said_in_lines() -> None:
    query = QueryInfo("q", "select", ("g", "n", "n_error", "skipped"), errors=("n",), skips=True)
    error = f'"3.5"^^<{XSD}double>'
    table = batch(
        (0, None, None, None, f'"true"^^<{XSD}boolean>'),
        (1, "<http://ex/a>", f'"40"{INTEGER}', error, None),
        (1, "<http://ex/b>", f'"10"{INTEGER}', None, None),
        columns=4,
    )
    first, *rest = Formatter("ndjson", [query]).batch([(query, table)]).decode().splitlines()
    assert json.loads(first) == {"query": "q", "at": "2026-01-01T00:00:00Z", "skipped": True}
    one, other = map(json.loads, rest)
    assert one["error"] == {"n": 3.5}
    assert set(one["row"]) == {"g", "n"}
    assert other["error"] == {}
    instants = pa.table({"instant": table.column(0).unique(), "at": table.column(1).unique()})
    skipped, answered = answers(query, instants, table)
    assert (skipped.skipped, skipped.rows) == (True, [])
    assert not answered.skipped
    assert [set(row) for row in answered.rows or []] == [{"g", "n", "n_error"}, {"g", "n"}]
    assert b",true" in Formatter("csv", [query]).batch([(query, table)])


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (NEW_YEAR + 60 * SECOND, "2026-01-01T00:01:00Z"),
        (NEW_YEAR + 250_000, "2026-01-01T00:00:00.25Z"),
        (NEW_YEAR + 1, "2026-01-01T00:00:00.000001Z"),
        (NEW_YEAR + 10 * 60 * SECOND, "2026-01-01T00:10:00Z"),
        (-1_500_000, "1969-12-31T23:59:58.5Z"),
    ],
)
def test_times_are_as_short_as_they_can_be(time: int, text: str) -> None:
    assert time_text(time) == text


def test_rows_are_terms() -> None:
    answer = Answer.of(
        QueryInfo("q", "select", ("at", "n")), NEW_YEAR, batch((0, "<http://ex/a>", None), columns=2)
    )
    assert answer.at == datetime(2026, 1, 1, tzinfo=UTC)
    assert answer.rows == [{"at": ox.NamedNode("http://ex/a")}]
    assert (answer.triples, answer.boolean, answer.start, answer.end) == (None, None, None, None)


def test_triples_and_booleans() -> None:
    table = batch((0, "<http://ex/a>", "<http://ex/p>", '"x"'), columns=3)
    triple = ox.Triple(ox.NamedNode("http://ex/a"), ox.NamedNode("http://ex/p"), ox.Literal("x"))
    assert Answer.of(QueryInfo("q", "construct"), NEW_YEAR, table).triples == [triple]
    assert Answer.of(QueryInfo("q", "construct"), NEW_YEAR, table).rows is None
    assert [Answer.of(QueryInfo("q", "ask"), 0, asked(found)).boolean for found in (True, False)] == [
        True,
        False,
    ]


def test_a_batch_falls_apart_into_answers_also_empty_ones() -> None:
    instants = pa.table({"instant": [1, 2, 3], "at": [10, 10, 20]})
    rows = pa.table({"instant": [1, 1, 3], "at": [10, 10, 20], "x": ['"a"', '"b"', '"c"']})
    found = list(answers(QueryInfo("q", "select", ("x",)), instants, rows))
    assert [[row["x"].value for row in answer.rows or []] for answer in found] == [["a", "b"], [], ["c"]]
    assert [answer.at.microsecond for answer in found] == [10, 10, 20]


def test_ndjson_rows() -> None:
    lines = answer_lines("select", "Q", ["x", "n"], batch((60, "<http://ex/a>", f'"3"{INTEGER}'), columns=2))
    assert lines.decode() == (
        '{"query":"Q","at":"2026-01-01T00:01:00Z","row":{"x":{"type":"uri","value":"http://ex/a"},'
        f'"n":{{"type":"literal","value":"3","datatype":"{XSD}integer"}}}}}}\n'
    )


def test_ndjson_triples_and_booleans() -> None:
    triple = batch((60, "<http://ex/a>", "<http://ex/p>", '"3"'), columns=3)
    assert answer_lines("construct", "Q", [], triple).decode() == (
        '{"query":"Q","at":"2026-01-01T00:01:00Z","triple":"<http://ex/a> <http://ex/p> \\"3\\" ."}\n'
    )
    first, second = answer_lines("ask", "Q", [], asked(True, False)).decode().splitlines()
    assert first == '{"query":"Q","at":"2026-01-01T00:00:00Z","boolean":true}'
    assert json.loads(second)["boolean"] is False


def test_ndjson_of_nothing_and_of_no_variables() -> None:
    assert answer_lines("select", "Q", ["x"], batch((0, None)).slice(0, 0)) == b""
    assert json.loads(answer_lines("select", "Q", ["x"], batch((0, None))))["row"] == {}
    assert json.loads(answer_lines("select", "Q", [], batch((0,), columns=0)))["row"] == {}


def test_ndjson_is_json_line_for_line_whatever_is_bound() -> None:
    chance = random.Random(7)
    rows = [(at, *(chance.choice([None, *TERMS]) for _ in range(3))) for at in range(400)]
    whole = batch(*rows, columns=3)
    names = ["x", 'odd "name"', "at"]
    # A table of several chunks, and one that starts within its buffers.
    for table, expected in [
        (pa.concat_tables([whole, whole]), rows * 2),
        (whole.slice(100, 50), rows[100:150]),
    ]:
        lines = answer_lines("select", 'a "query"', names, table).decode().split("\n")
        assert lines.pop() == ""
        for line, (at, *terms) in zip(lines, expected, strict=True):
            bound = {
                name: json.loads(json_term(term))
                for name, term in zip(names, terms, strict=True)
                if term is not None
            }
            assert json.loads(line) == {
                "query": 'a "query"',
                "at": time_text(NEW_YEAR + at * SECOND),
                "row": bound,
            }


@pytest.mark.parametrize("term", TERMS)
def test_nquads_read_back(term: str) -> None:
    query = QueryInfo("derived", "construct")
    table = batch((0.5, "<http://ex/a>", "<http://ex/p>", term), columns=3)
    line = Formatter("nquads", [query]).batch([(query, table)]).decode()
    assert line.endswith(f' "2026-01-01T00:00:00.5Z"^^<{XSD}dateTime> .\n')
    assert "\n" not in line[:-1]
    triple = line.removesuffix(f' "2026-01-01T00:00:00.5Z"^^<{XSD}dateTime> .\n') + " ."
    (read,) = ox.parse(triple, format=ox.RdfFormat.N_TRIPLES)
    assert encode(read.object) == term or term.startswith("_:")  # type: ignore[arg-type]
    assert f" {ntriples_term(term)} " in line


def test_trig_reads_back_as_a_graph_for_each_instant() -> None:
    one, two = QueryInfo("http://ex/a query", "construct"), QueryInfo("two", "describe")
    triples = [(0.5, "<http://ex/a>", "<http://ex/p>", term) for term in TERMS]
    tables = batch(*triples, (1, "_:x", "<http://ex/p>", "_:x"), columns=3), batch(triples[0], columns=3)
    text = Formatter("trig", [one, two]).batch(list(zip((one, two), tables, strict=True)))
    chunk = read_document(text, "answers.trig", "b_")
    assert chunk.bad == ()
    read = chunk.elements.to_pydict()
    assert read["time"] == [NEW_YEAR + int(0.5 * SECOND)] * (len(TERMS) + 1) + [NEW_YEAR + SECOND]
    assert [term for term in read["o"] if not term.startswith("_:")] == [
        term for term in [*TERMS, TERMS[0]] if not term.startswith("_:")
    ]
    assert text.startswith(b"GRAPH <urn:rheos:http%3A%2F%2Fex%2Fa%20query:2026-01-01T00:00:00.5Z> {\n")


def test_trig_has_one_time_for_a_graph() -> None:
    with pytest.raises(RheosError, match="one is of the form SELECT, and trig needs triples"):
        Formatter("trig", [QueryInfo("one", "select", ("x",))])
    with pytest.raises(RheosError, match="the answers of e have intervals, and a graph one time; use nquads"):
        Formatter("trig", [QueryInfo("e", "construct", occurs=True)])


def test_lines_of_all_queries_are_in_order_of_time() -> None:
    one, two = QueryInfo("one", "select", ("x",)), QueryInfo("two", "ask")
    for form in ("ndjson", "table"):
        text = Formatter(form, [one, two]).batch(  # type: ignore[arg-type]
            [(one, batch((0, '"a"'), (0, '"b"'), (2, '"c"'))), (two, asked(True, False, True))]
        )
        lines = [line for line in text.decode().splitlines() if "2026" in line]
        names = [json.loads(line)["query"] if form == "ndjson" else line.split()[0] for line in lines]
        repeated = ["one", "one"] if form == "ndjson" else ["one"]
        assert names == [*repeated, "two", "two", "one", "two"]


def test_csv() -> None:
    query = QueryInfo("a,b", "select", ("x", "n"))
    formatter = Formatter("csv", [query, QueryInfo("other", "select", ("x", "n"))])
    rows = batch((0, '"a, \\"b"', None), (1, "<http://ex/a>", f'"3"{INTEGER}'), columns=2)
    text = formatter.header() + formatter.batch([(query, rows)])
    assert list(csv.reader(io.StringIO(text.decode(), newline=""))) == [
        ["query", "at", "x", "n"],
        ["a,b", "2026-01-01T00:00:00Z", 'a, \\"b', ""],
        ["a,b", "2026-01-01T00:00:01Z", "http://ex/a", "3"],
    ]


def test_csv_of_graphs_and_booleans() -> None:
    graph, ask = QueryInfo("g", "construct"), QueryInfo("a", "ask")
    assert Formatter("csv", [graph]).header() == b"query,at,subject,predicate,object\r\n"
    formatter = Formatter("csv", [ask])
    assert formatter.header() == b"query,at,boolean\r\n"
    assert formatter.batch([(ask, asked(False))]) == b"a,2026-01-01T00:00:00Z,false\r\n"


def test_csv_needs_one_header() -> None:
    with pytest.raises(RheosError, match=r"one has the columns x and two has x, y; use ndjson"):
        Formatter("csv", [QueryInfo("one", "select", ("x",)), QueryInfo("two", "select", ("x", "y"))])


def test_nquads_needs_triples() -> None:
    with pytest.raises(RheosError, match="one is of the form SELECT"):
        Formatter("nquads", [QueryInfo("one", "select", ("x",))])


def test_a_table_for_each_instant() -> None:
    query = QueryInfo("Q", "select", ("x",), {"ex": "http://ex/"})
    text = Formatter("table", [query]).batch(
        [(query, batch((0, "<http://ex/a>"), (0, '"\x1b[31m"'), (1, '"b"')))]
    )
    assert text.decode() == (
        'Q  2026-01-01T00:00:00Z\n?x\n───────\nex:a\n"\ufffd[31m"\n2 rows\n\n'
        'Q  2026-01-01T00:00:01Z\n?x\n───\n"b"\n1 row\n\n'
    )


def test_a_table_for_a_terminal_fits_it() -> None:
    query = QueryInfo("Q", "select", ("x",))
    text = (
        Formatter("table", [query], width=30).batch([(query, batch((0, '"' + "word " * 20 + '"')))]).decode()
    )
    assert "\x1b[" in text
    assert "word" in text


def test_answers_of_one_shot_queries_come_first_and_have_no_time() -> None:
    later = QueryInfo("later", "select", ("x",))
    asked_once = QueryInfo("once", "select", ("x",))
    result = Result.select(["x"], pa.table({"x": ['"a"', '"b"']}))
    once = [(asked_once, untimed(asked_once, result))]
    assert Formatter("csv", [later], once=once).header() == b"query,at,x\r\nonce,,a\r\nonce,,b\r\n"
    assert Formatter("ndjson", [later], once=once).header().splitlines() == [
        b'{"query":"once","row":{"x":{"type":"literal","value":"a"}}}',
        b'{"query":"once","row":{"x":{"type":"literal","value":"b"}}}',
    ]
    assert Formatter("table", [later], once=once).header().decode().splitlines()[0] == "once"
    yes = QueryInfo("yes", "ask")
    lines = Formatter("ndjson", once=[(yes, untimed(yes, Result.ask(True)))]).header()
    assert lines == b'{"query":"yes","boolean":true}\n'
    graph = QueryInfo("graph", "construct")
    with pytest.raises(RheosError, match="graph reads no stream"):
        Formatter("nquads", once=[(graph, batch((0, "<a:a>", "<a:a>", "<a:a>"), columns=3))])


def test_what_travels_to_workers_can_be_pickled() -> None:
    formatter = Formatter("csv", [QueryInfo("Q", "select", ("x",), {"ex": "http://ex/"})])
    copy = pickle.loads(pickle.dumps(formatter))
    assert (copy.header(), copy.queries) == (formatter.header(), formatter.queries)


def test_intervals() -> None:
    """Answers of EP-SPARQL have a start and an end."""
    query = QueryInfo("q", "select", ("x",), occurs=True)
    times = pa.array([NEW_YEAR + 5_000_000], pa.int64()), pa.array([NEW_YEAR], pa.int64())
    instants = pa.table([pa.array([1], pa.int64()), *times], names=["instant", "at", "start"])
    rows = instants.append_column("x", pa.array(["<http://ex/a>"]))
    (answer,) = answers(query, instants, rows)
    assert (answer.start, answer.end, answer.at) == (
        moment(NEW_YEAR),
        answer.at,
        moment(NEW_YEAR + 5_000_000),
    )
    assert answer.rows == [{"x": ox.NamedNode("http://ex/a")}]
    line = ndjson_lines(Alike((query,), rows))[0].as_py()
    assert (
        '"at":"2026-01-01T00:00:05Z","start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:05Z","row"'
        in line
    )
    formatter = Formatter("csv", [query])
    assert formatter.header() == b"query,at,start,end,x\r\n"
    assert formatter.batch([(query, rows)]).startswith(b"q,2026-01-01T00:00:05Z,2026-01-01T00:00:00Z,2026-")
    triples = pa.table([*instants.columns, *(pa.array([f"<http://ex/{name}>"]) for name in "spo")],
                       names=["instant", "at", "start", "s", "p", "o"])  # fmt: skip
    derived = Formatter("nquads", [QueryInfo("g", "construct", occurs=True)])
    (written,) = derived.batch([(QueryInfo("g", "construct", occurs=True), triples)]).splitlines()
    assert written.index(b"00:00:00Z") < written.index(b"00:00:05Z")
