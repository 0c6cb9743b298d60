"""Expected answers from files: .srx, .srj, .csv, .tsv, RDF graphs and result sets in RDF come in."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph as ox

from .matching import Term

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")

RESULT_FORMATS = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}


@dataclass
class Answer:
    """What a query gives: a boolean, rows, or triples, by `kind` (describe counts as construct)."""

    kind: str
    variables: Sequence[str] = ()
    rows: list[dict[str, Term]] = field(default_factory=list)
    boolean: bool | None = None
    triples: list[ox.Triple] = field(default_factory=list)
    has_index: bool = False  # rs:index says that the order counts


def read_answer(path: Path, base: str) -> Answer:
    if path.suffix in RESULT_FORMATS:
        return from_results(ox.parse_query_results(path.read_bytes(), RESULT_FORMATS[path.suffix]))
    format = ox.RdfFormat.from_extension(path.suffix[1:])
    triples = [quad.triple for quad in ox.parse(path.read_bytes(), format, base_iri=base)]
    return from_result_set(triples) or Answer("construct", triples=triples)


def from_results(results: ox.QuerySolutions | ox.QueryBoolean) -> Answer:
    """An answer from what pyoxigraph read or evaluated."""
    if isinstance(results, ox.QueryBoolean):
        return Answer("ask", boolean=bool(results))
    variables = [variable.value for variable in results.variables]
    rows = [{name: row[name] for name in variables if row[name] is not None} for row in results]
    return Answer("select", variables=variables, rows=rows)


def from_result_set(triples: list[ox.Triple]) -> Answer | None:
    """An answer in the vocabulary rs:ResultSet; None where the graph holds no such thing."""
    properties: dict[tuple[object, str], list[Term]] = {}
    for triple in triples:
        properties.setdefault((triple.subject, triple.predicate.value), []).append(triple.object)

    def values(subject: object, name: str) -> list[Term]:
        return properties.get((subject, RS + name), [])

    kind = ox.NamedNode(RS + "ResultSet")
    roots = [t.subject for t in triples if t.predicate == RDF_TYPE and t.object == kind]
    if not roots:
        return None
    root = roots[0]
    for flag in values(root, "boolean"):
        return Answer("ask", boolean=flag.value in ("true", "1"))
    indexed: list[tuple[int, dict[str, Term]]] = []
    solutions = values(root, "solution")
    for solution in solutions:
        index = min((int(value.value) for value in values(solution, "index")), default=0)
        row = {
            values(binding, "variable")[0].value: values(binding, "value")[0]
            for binding in values(solution, "binding")
        }
        indexed.append((index, row))
    indexed.sort(key=lambda pair: pair[0])
    return Answer(
        "select",
        variables=[value.value for value in values(root, "resultVariable")],
        rows=[row for _, row in indexed],
        has_index=bool(solutions) and all(values(solution, "index") for solution in solutions),
    )


def read_csv(text: str) -> Answer:
    """CSV has no types: every cell is a plain literal, except that `_:` starts a blank node.

    An empty cell is taken for unbound; the format cannot tell it from the empty string.
    """
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    rows: list[dict[str, Term]] = []
    for line in lines:
        cells = {name: cell for name, cell in zip(header, line, strict=True) if cell}
        rows.append(
            {
                name: ox.BlankNode(cell[2:]) if cell.startswith("_:") else ox.Literal(cell)
                for name, cell in cells.items()
            }
        )
    return Answer("select", variables=header, rows=rows)
