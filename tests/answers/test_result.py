"""A result as rows, triples, Arrow and text; what it cannot give, it says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheos.answers.result import GRAPH_FORMATS, Result
from rheos.errors import RheosError
from rheos.terms import AnyTerm, encode

XSD = "http://www.w3.org/2001/XMLSchema#"
SPARQL = "{http://www.w3.org/2005/sparql-results#}"
INTEGER = f'"5"^^<{XSD}integer>'

CONTROL = st.characters(codec="utf-8", exclude_categories=["Cs"])
lexical = st.text(st.one_of(CONTROL, st.sampled_from(list("\",\t\r\n\\<>&?'\x00\x0b"))), max_size=8)
term = st.one_of(
    st.sampled_from(
        [
            ox.NamedNode("http://ex/a?b=c&d='e'"),
            ox.BlankNode("b0"),
            *(ox.Literal(text, datatype=ox.NamedNode(XSD + "integer")) for text in ("5", "+5", "x", "")),
            *(ox.Literal(text, datatype=ox.NamedNode(XSD + "decimal")) for text in ("5.5", ".5", "5.", "5")),
            *(
                ox.Literal(text, datatype=ox.NamedNode(XSD + "double"))
                for text in ("1e6", "1.E6", "INF", "5")
            ),
            ox.Literal("true", datatype=ox.NamedNode(XSD + "boolean")),
        ]
    ),
    st.builds(ox.Literal, lexical),
    st.builds(lambda text: ox.Literal(text, language="en-gb"), lexical),
    st.builds(lambda text: ox.Literal(text, datatype=ox.NamedNode("http://ex/t")), lexical),
)
solution = st.dictionaries(st.sampled_from(["x", "y", "z"]), term, max_size=3)


def select(rows: list[dict[str, AnyTerm]], variables: list[str]) -> Result:
    columns = {
        name: pa.array([encode(row[name]) if name in row else None for row in rows], pa.string())
        for name in variables
    }
    return Result.select(variables, pa.table(columns))


def parsed(
    result: Result, format: ox.QueryResultsFormat, name: str
) -> tuple[list[str], list[dict[str, AnyTerm]]]:
    found = ox.parse_query_results(result.serialize(name).encode(), format)
    assert isinstance(found, ox.QuerySolutions)
    variables = [variable.value for variable in found.variables]
    rows = [{name: value for name in variables if (value := row[name]) is not None} for row in found]
    return variables, rows  # type: ignore[return-value]


@given(st.lists(solution, max_size=5))
@settings(max_examples=150, deadline=None)
def test_rows_and_json_give_back_what_came_in(rows: list[dict[str, AnyTerm]]) -> None:
    result = select(rows, ["z", "x", "y"])
    assert result.rows == rows
    assert list(result) == rows
    assert len(result) == len(rows)
    assert parsed(result, ox.QueryResultsFormat.JSON, "json") == (["z", "x", "y"], rows)


@given(st.lists(solution, max_size=5))
@settings(max_examples=150, deadline=None)
def test_tsv_gives_back_what_came_in(rows: list[dict[str, AnyTerm]]) -> None:
    variables, found = parsed(select(rows, ["z", "x", "y"]), ox.QueryResultsFormat.TSV, "tsv")
    assert variables == ["z", "x", "y"]
    assert found == rows


@given(st.lists(solution, max_size=5))
@settings(max_examples=150, deadline=None)
def test_xml_gives_back_what_xml_can_hold(rows: list[dict[str, AnyTerm]]) -> None:
    def in_xml(value: AnyTerm) -> AnyTerm:
        if not isinstance(value, ox.Literal):
            return value
        text = "".join(
            c if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff") else "\ufffd" for c in value.value
        )
        if value.language:
            return ox.Literal(text, language=value.language)
        return ox.Literal(text, datatype=value.datatype)

    expected = [{name: in_xml(value) for name, value in row.items()} for row in rows]
    assert from_xml(select(rows, ["z", "x", "y"]).serialize("xml")) == (["z", "x", "y"], expected)


def from_xml(text: str) -> tuple[list[str], list[dict[str, AnyTerm]]]:
    """SPARQL XML results by the book; pyoxigraph's own reader drops white space around literals."""

    def value(element: ElementTree.Element) -> AnyTerm:
        content = element.text or ""
        match element.tag.removeprefix(SPARQL):
            case "uri":
                return ox.NamedNode(content)
            case "bnode":
                return ox.BlankNode(content)
        if language := element.get("{http://www.w3.org/XML/1998/namespace}lang"):
            return ox.Literal(content, language=language)
        return ox.Literal(content, datatype=ox.NamedNode(element.get("datatype", XSD + "string")))

    root = ElementTree.fromstring(text.encode())
    variables = [element.attrib["name"] for element in root.iter(SPARQL + "variable")]
    rows = [
        {binding.attrib["name"]: value(binding[0]) for binding in result}
        for result in root.iter(SPARQL + "result")
    ]
    return variables, rows


@given(st.lists(solution, max_size=5))
@settings(max_examples=100, deadline=None)
def test_csv_holds_the_values(rows: list[dict[str, AnyTerm]]) -> None:
    def value(row: dict[str, AnyTerm], name: str) -> str:
        term = row.get(name)
        if term is None:
            return ""
        return f"_:{term.value}" if isinstance(term, ox.BlankNode) else term.value

    text = select(rows, ["z", "x", "y"]).serialize("csv")
    assert text.startswith("z,x,y\r\n")
    assert text.endswith("\r\n")
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found[1:] == [[value(row, name) for name in ("z", "x", "y")] for row in rows]


def test_variables_without_any_binding_are_in_the_head() -> None:
    result = select([], ["a", "b"])
    assert json.loads(result.serialize("json")) == {
        "head": {"vars": ["a", "b"]},
        "results": {"bindings": []},
    }
    assert result.serialize("csv") == "a,b\r\n"
    assert result.serialize("tsv") == "?a\t?b\n"
    assert '<variable name="a"/><variable name="b"/>' in result.serialize("xml")


def test_rows_without_variables() -> None:
    result = Result.select([], pa.table({"one": pa.array(["x", "x"])}))
    assert result.rows == [{}, {}]
    assert len(json.loads(result.serialize("json"))["results"]["bindings"]) == 2


def test_tsv_writes_numbers_as_turtle_does() -> None:
    table = pa.table({"x": [INTEGER, f'"5"^^<{XSD}decimal>', f'"5.5"^^<{XSD}decimal>', '"a"@en', '"1"']})
    assert Result.select(["x"], table).serialize("tsv").splitlines()[1:] == [
        "5",
        f'"5"^^<{XSD}decimal>',
        "5.5",
        '"a"@en',
        '"1"',
    ]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json", '{"head":{},"boolean":true}\n'),
        ("csv", "true\n"),
        ("tsv", "true\n"),
        ("table", "true\n"),
    ],
)
def test_booleans(format: str, text: str) -> None:
    result = Result.ask(True)
    assert (result.kind, result.boolean, bool(result)) == ("ask", True, True)
    assert result.serialize(format) == text
    assert repr(Result.ask(False)) == "<Result ask: false>"


def test_booleans_in_xml() -> None:
    found = ox.parse_query_results(Result.ask(False).serialize("xml").encode(), ox.QueryResultsFormat.XML)
    assert isinstance(found, ox.QueryBoolean)
    assert not found


@pytest.fixture
def graph() -> Result:
    table = pa.table(
        {
            "s": ["<http://ex/a>", "_:b"],
            "p": ["<http://ex/p>", "<http://ex/p>"],
            "o": ['"a "quoted"\nline"@en', INTEGER],
        }
    )
    return Result.graph("construct", table, prefixes={"e": "http://ex/", "": "http://other/"})


def test_graphs(graph: Result) -> None:
    assert graph.arrow.column_names == ["subject", "predicate", "object"]
    assert graph.triples == [
        ox.Triple(
            ox.NamedNode("http://ex/a"),
            ox.NamedNode("http://ex/p"),
            ox.Literal('a "quoted"\nline', language="en"),
        ),
        ox.Triple(ox.BlankNode("b"), ox.NamedNode("http://ex/p"), ox.Literal(5)),
    ]
    assert list(graph) == graph.triples
    assert repr(graph) == "<Result construct: 2 triples>"


@pytest.mark.parametrize("format", GRAPH_FORMATS)
def test_graphs_are_read_back(format: str, graph: Result) -> None:
    text = graph.serialize(format)
    found = {quad.triple for quad in ox.parse(text, GRAPH_FORMATS[format])}
    assert ox.Dataset(ox.Quad(*triple) for triple in found).__len__() == 2
    assert {triple.object for triple in found} == {triple.object for triple in graph.triples}


def test_turtle_uses_the_prefixes(graph: Result) -> None:
    assert "e:a e:p" in graph.serialize("turtle")
    assert graph.serialize("ttl") == graph.serialize("Turtle")


def test_wrong_formats_list_the_right_ones(graph: Result) -> None:
    with pytest.raises(
        RheosError, match="the answer of CONSTRUCT cannot be written as 'json'; formats: turtle, ntriples"
    ):
        graph.serialize("json")
    with pytest.raises(
        RheosError, match="the answer of SELECT cannot be written as 'turtle'; formats: json, xml, csv"
    ):
        select([], ["x"]).serialize("turtle")
    with pytest.raises(RheosError, match="the answer of ASK cannot be written as 'nt'"):
        Result.ask(True).serialize("nt")


def test_parts_that_a_kind_does_not_have(graph: Result) -> None:
    with pytest.raises(RheosError, match="no rows"):
        _ = graph.rows
    with pytest.raises(RheosError, match="no boolean"):
        _ = graph.boolean
    with pytest.raises(RheosError, match="no triples"):
        _ = select([], ["x"]).triples
    with pytest.raises(RheosError, match="not connected to Spark"):
        _ = graph.dataframe


def test_tables_may_come_late() -> None:
    calls = []

    def table() -> pa.Table:
        calls.append(1)
        return pa.table({"x": [INTEGER]})

    result = Result.select(["x"], table)
    assert repr(result) == "<Result select: not computed yet>"
    assert calls == []
    assert (len(result), result.rows) == (1, [{"x": ox.Literal(5)}])
    assert calls == [1]


W3C = Path(__file__).parents[3] / "shared" / "w3c" / "sparql11"


@pytest.mark.skipif(not W3C.exists(), reason="the W3C tests are not beside the checkout")
@pytest.mark.parametrize(("data", "expected"), [("data.ttl", "csvtsv01"), ("data2.ttl", "csvtsv03")])
def test_w3c_files(data: str, expected: str) -> None:
    """`SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s` over the data of the W3C tests, to the letter."""
    folder = W3C / "csv-tsv-res"
    triples = sorted(
        ox.parse(path=folder / data, format=ox.RdfFormat.TURTLE), key=lambda quad: str(quad.subject)
    )
    rows = [{"s": quad.subject, "p": quad.predicate, "o": quad.object} for quad in triples]
    result = select(rows, ["s", "p", "o"])  # type: ignore[arg-type]
    for format in ("csv", "tsv"):
        path = folder / f"{expected}.{format}"
        if path.exists():
            ours, theirs = (
                [line for line in text.splitlines() if "_:" not in line]
                for text in (result.serialize(format), path.read_text())
            )
            assert [line.lower() for line in ours] == [line.lower() for line in theirs]
