"""`rheos run` in this process: what is written in each form, and what is said when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Outcome, called

STREAM = "http://ex/tolls"
COUNT = f"""REGISTER QUERY Cars AS PREFIX ex: <http://ex/>
SELECT ?gate (COUNT(?car) AS ?n) FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]
WHERE {{ ?gate ex:registers ?car }} GROUP BY ?gate"""
BUSY = f"""REGISTER STREAM busy AS PREFIX ex: <http://ex/>
CONSTRUCT {{ ?gate ex:saw ?car }} FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]
WHERE {{ ?gate ex:registers ?car }}"""
ANY = f"ASK FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] {{ <http://ex/t2> <http://ex/registers> ?car }}"
TYPE = "http://www.w3.org/2001/XMLSchema#"


def element(gate: str, car: str, seconds: float, zone: str = "Z") -> str:
    minute, second = divmod(seconds, 60)
    time = f"2026-01-01T00:{int(minute):02}:{second:06.3f}{zone}"
    return f'<http://ex/{gate}> <http://ex/registers> <http://ex/{car}> "{time}"^^<{TYPE}dateTime> .\n'


ELEMENTS = [element("t1", "c1", 1), element("t1", "c2", 5), element("t2", "c1", 12), element("t1", "c3", 30)]


@pytest.fixture
def tolls(tmp_path: Path) -> Path:
    path = tmp_path / "tolls.nq"
    path.write_text("".join(ELEMENTS))
    return path


def run(*arguments: str | Path, stream: Path | None = None) -> Outcome:
    given = [] if stream is None else ["--stream", f"{STREAM}={stream}"]
    return called("run", *arguments, *given)


def rows(outcome: Outcome) -> list[tuple[str, str, dict[str, str]]]:
    assert outcome.status == 0, outcome
    answers = [json.loads(line) for line in outcome.out.splitlines()]
    return [
        (answer["query"], answer["at"], {name: term["value"] for name, term in answer["row"].items()})
        for answer in answers
    ]


COUNTS = [
    ("Cars", "2026-01-01T00:00:10Z", {"gate": "http://ex/t1", "n": "2"}),
    ("Cars", "2026-01-01T00:00:20Z", {"gate": "http://ex/t2", "n": "1"}),
    ("Cars", "2026-01-01T00:00:30Z", {"gate": "http://ex/t1", "n": "1"}),
]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("execution", ["task", "catalyst"])
def test_rows_of_each_instant_as_ndjson(tolls: Path, execution: str) -> None:
    outcome = run("-q", COUNT, "--execution", execution, stream=tolls)
    assert rows(outcome) == COUNTS
    assert outcome.err == ""


@pytest.mark.usefixtures("spark")
def test_a_query_is_called_as_its_file(tolls: Path, tmp_path: Path) -> None:
    (tmp_path / "any.rq").write_text(ANY)
    outcome = run(tmp_path / "any.rq", stream=tolls)
    assert [json.loads(line) for line in outcome.out.splitlines()] == [
        {"query": "any", "at": "2026-01-01T00:00:10Z", "boolean": False},
        {"query": "any", "at": "2026-01-01T00:00:20Z", "boolean": True},
        {"query": "any", "at": "2026-01-01T00:00:30Z", "boolean": False},
    ]


@pytest.mark.usefixtures("spark")
def test_csv_to_a_file(tolls: Path, tmp_path: Path) -> None:
    output = tmp_path / "counts.csv"
    outcome = run("-q", COUNT, "--output", output, stream=tolls)
    assert (outcome.status, outcome.out) == (0, "")
    assert output.read_bytes().decode().split("\r\n") == [
        "query,at,gate,n",
        "Cars,2026-01-01T00:00:10Z,http://ex/t1,2",
        "Cars,2026-01-01T00:00:20Z,http://ex/t2,1",
        "Cars,2026-01-01T00:00:30Z,http://ex/t1,1",
        "",
    ]


@pytest.mark.usefixtures("spark")
def test_a_table_for_each_instant(tolls: Path) -> None:
    outcome = run("-q", COUNT, "--format", "table", stream=tolls)
    first = ["Cars  2026-01-01T00:00:10Z", "?gate  ?n", "─────  ──", "ex:t1   2", "1 row", ""]
    assert outcome.out.splitlines()[:6] == first


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("ending", "line"),
    [
        ("nq", f'<http://ex/t1> <http://ex/saw> <http://ex/c1> "2026-01-01T00:00:10Z"^^<{TYPE}dateTime> .'),
        ("trig", "<http://ex/t1> <http://ex/saw> <http://ex/c1> ."),
    ],
)
def test_derived_streams_are_written_in_the_form_that_is_read(
    ending: str, line: str, tolls: Path, tmp_path: Path
) -> None:
    derived = tmp_path / f"derived.{ending}"
    assert run("-q", BUSY, "--output", derived, stream=tolls).status == 0
    assert sorted(derived.read_text().splitlines())[0] == line
    again = COUNT.replace("registers", "saw")
    assert rows(run("-q", again, stream=derived)) == COUNTS


@pytest.mark.usefixtures("spark")
def test_a_query_on_the_stream_of_another(tolls: Path, tmp_path: Path) -> None:
    reader = COUNT.replace("registers", "saw").replace(f"<{STREAM}>", "<http://ex/busy>")
    outcome = run("-q", reader, "-q", BUSY, "--base", "http://ex/", stream=tolls)
    assert outcome.status == 0, outcome
    answers = [json.loads(line) for line in outcome.out.splitlines()]
    assert [answer["at"] for answer in answers] == sorted(answer["at"] for answer in answers)
    counted = [(answer["at"], answer["row"]["n"]["value"]) for answer in answers if answer["query"] == "Cars"]
    assert counted == [(at, row["n"]) for _, at, row in COUNTS]
    assert [answer["query"] for answer in answers].count("busy") == 4


@pytest.mark.usefixtures("spark")
def test_static_data(tolls: Path, tmp_path: Path) -> None:
    static = tmp_path / "city.ttl"
    static.write_text("<http://ex/t1> <http://ex/in> <http://ex/north> .")
    query = f"""SELECT ?d ?car FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]
        {{ ?g <http://ex/registers> ?car ; <http://ex/in> ?d }}"""
    found = rows(run("-q", query, "--data", static, stream=tolls))
    assert [(name, row["car"][-2:]) for name, _, row in found] == [
        ("query", car) for car in ("c1", "c2", "c3")
    ]


@pytest.mark.usefixtures("spark")
def test_bad_and_late_elements_are_counted_and_kept(tmp_path: Path) -> None:
    stream, letters = tmp_path / "tolls.nq", tmp_path / "dead.txt"
    late = element("t9", "late", 3)
    stream.write_text("".join([*ELEMENTS, "not an element\n", late]))
    outcome = run("-q", COUNT, stream=stream)
    assert rows(outcome) == COUNTS
    warning = (
        f"warning: <{STREAM}>: the first late element: <http://ex/t9> <http://ex/registers> <http://ex/late>"
        ": late: its time is 2026-01-01T00:00:03Z, the stream is already at 2026-01-01T00:00:30Z; "
        "a lateness of 27s would have kept it\n"
    )
    assert outcome.err == (
        f"{warning}2 elements went to the dead letters: 1 bad, 1 late; --dead-letters FILE keeps them\n"
    )
    assert run("-q", COUNT, "--quiet", stream=stream).err == warning
    kept = run("-q", COUNT, "--dead-letters", letters, stream=stream)
    assert kept.err.endswith(f"they are in {letters}\n")
    assert "not an element" in letters.read_text()
    assert "late" in letters.read_text()
    # Allowed to be late, it is counted where it belongs.
    assert ("Cars", "2026-01-01T00:00:10Z", {"gate": "http://ex/t9", "n": "1"}) in rows(
        run("-q", COUNT, "--lateness", "1m", stream=stream)
    )


@pytest.mark.usefixtures("spark")
def test_times_without_a_zone_are_told_of_once(tmp_path: Path) -> None:
    stream = tmp_path / "tolls.nq"
    stream.write_text(element("t1", "c1", 1, zone="") + element("t1", "c2", 2, zone=""))
    outcome = run("-q", COUNT, stream=stream)
    assert rows(outcome) == COUNTS[:1]
    assert outcome.err == f"warning: <{STREAM}>: times without a time zone are taken as UTC\n"


def test_a_query_without_a_stream_is_answered_at_once(tmp_path: Path) -> None:
    static = tmp_path / "city.ttl"
    static.write_text("<http://ex/t1> <http://ex/in> <http://ex/north> .")
    (tmp_path / "where.rq").write_text("SELECT ?d { ?g <http://ex/in> ?d }")
    outcome = run(tmp_path / "where.rq", "--data", static)
    assert outcome == Outcome(
        0, '{"query":"where","row":{"d":{"type":"uri","value":"http://ex/north"}}}\n', ""
    )


@pytest.mark.usefixtures("spark")
def test_queries_with_and_without_streams_together(tolls: Path) -> None:
    outcome = run("-q", COUNT, "-q", "ASK {}", stream=tolls)
    first, *others = outcome.out.splitlines()
    assert first == '{"query":"query","boolean":true}'
    assert rows(Outcome(outcome.status, "\n".join(others), outcome.err)) == COUNTS


@pytest.mark.usefixtures("spark")
def test_a_checkpoint_of_other_queries(tolls: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    assert rows(run("-q", COUNT, "--checkpoint", checkpoint, stream=tolls)) == COUNTS
    changed = run("-q", COUNT.replace("10s", "20s"), "--checkpoint", checkpoint, stream=tolls)
    changed.faulted(
        f"the checkpoint {checkpoint} was made with other", "the text of the query Cars has changed"
    )
    again = run("-q", COUNT, "--checkpoint", checkpoint, stream=tolls)
    assert (again.status, again.out, again.err) == (0, "", "")


def test_an_error_names_the_file_and_the_place(tmp_path: Path) -> None:
    (tmp_path / "good.rq").write_text(COUNT)
    (tmp_path / "bad.rq").write_text(COUNT.replace("STEP", "SETP"))
    run(tmp_path / "good.rq", tmp_path / "bad.rq").faulted("bad.rq: line 2, column ", "STEP")


def test_a_stream_that_nobody_supplies(tmp_path: Path) -> None:
    (tmp_path / "cars.rq").write_text(COUNT)
    run(tmp_path / "cars.rq").faulted("cars.rq: line 2, column ", STREAM)


def test_two_queries_of_one_name(tolls: Path) -> None:
    run("-q", COUNT, "-q", COUNT, stream=tolls).faulted("Cars")


def test_a_stream_of_a_select(tolls: Path) -> None:
    wrong = COUNT.replace("REGISTER QUERY", "REGISTER STREAM")
    run("-q", wrong, stream=tolls).faulted("only CONSTRUCT and DESCRIBE make streams")


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    run("-q", COUNT, stream=tmp_path / "nothing.nq").faulted("nothing.nq")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "a query is needed"),
        (["-q", COUNT, "--stream", "tolls.nq"], "IRI=SOURCE"),
        (["-q", COUNT, "--stream", "tolls=tolls.nq"], "absolute IRI"),
        (["-q", COUNT, "-s", f"{STREAM}=a.nq", "-s", f"{STREAM}=b.nq"], "given twice"),
        (["-q", COUNT, "-s", f"{STREAM}=-", "-s", "http://ex/other=-"], "only one stream"),
        (["-", "-s", f"{STREAM}=-"], "read only once"),
        (["-q", COUNT, "--lateness", "soon"], "such as 5s"),
        (["-q", COUNT, "--ahead", "soon"], "such as 5s"),
        (["-q", COUNT, "--idle", "5"], "such as 5s"),
        (["-q", COUNT, "--dialect", "sql"], "sql"),
        (["-q", COUNT, "--execution", "local"], "local"),
        (["-q", COUNT, "--format", "turtle"], "turtle"),
        (["-q", COUNT, "-s", f"{STREAM}=tolls.nq", "--format", "nquads"], "form SELECT"),
        (["-q", COUNT, "-s", f"{STREAM}=tolls.nq", "--format", "trig"], "form SELECT"),
        (["-q", "CONSTRUCT WHERE { ?s ?p ?o }", "--format", "nquads"], "reads no stream"),
        (["-q", "SELECT ?x {}", "-q", "SELECT ?y {}", "--format", "csv"], "one header"),
    ],
)
def test_wrong_usage(arguments: list[str], word: str, tolls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tolls.parent)
    outcome = run(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    assert word in " ".join(outcome.err.replace("│", " ").split())
