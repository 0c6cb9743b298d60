"""What the examples of RSP-QL must report; `python -m tests.continuous.rspql_examples` writes it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from rheos.algebra.rspql import translate_rspql
from rheos.answers.continuous import ntriples_term, time_text
from rheos.answers.terms import json_term
from rheos.sources.documents import read_document
from rheos.syntax import parse
from tests.cli.command import ROOT
from tests.continuous.rspql_reference import Answer, Case, Element, answers, end

FOLDER = ROOT / "examples" / "rspql"
BASE = "http://example.org/"
ROOMS = f"<{BASE}rooms>"
PREFIX = f"PREFIX : <{BASE}>"


def graphs(path: Path) -> list[Element]:
    """The graphs of a document."""
    found = read_document(path.read_bytes(), str(path), "").elements.to_pylist()
    return [
        Element(name[1:], tuple((row["s"], row["p"], row["o"]) for row in rows), time)
        for (name, time), group in itertools.groupby(found, lambda row: ("+" + row["graph"][1:], row["time"]))
        if (rows := list(group))
    ]


def case(name: str, streams: dict[str, list[Element]]) -> Case:
    text = (FOLDER / f"{name}.rq").read_text(encoding="utf-8")
    query = translate_rspql(parse(text, "rspql"), name, BASE)
    body = text.split(" AS\n", 1)[1]
    body = re.sub(r"(?m)^FROM .*\n|\b[ID]STREAM ", "", body)
    read = {window.stream: streams[window.stream] for window in query.windows}
    return Case(query, PREFIX, body, [], read, {})


def reported(name: str, streams: dict[str, list[Element]]) -> tuple[Case, list[Answer]]:
    asked = case(name, streams)
    columns = asked.query.query.form.variables if hasattr(asked.query.query.form, "variables") else ()
    first = min(elements[0].time for elements in asked.streams.values())
    return asked, answers(asked, list(columns), first - 1, end(asked))


def lines(name: str) -> Iterator[tuple[int, str]]:
    """The lines that a command with this query reports, with their times."""
    streams = {ROOMS: graphs(FOLDER / "rooms.trig")}
    wanted = ["readings-with-company", "meetings"] if name == "meetings" else [name]
    for query in wanted:
        asked, found = reported(query, streams)
        if asked.query.makes_stream:
            streams[f"<{BASE}{query}>"] = [
                Element(None, tuple(rows), at)
                for at, rows in found
                if rows  # type: ignore[arg-type]
            ]
        form = asked.query.query.form
        for at, rows in found:
            for row in sorted(rows.elements(), key=str):
                head = f'{{"query":"{query}","at":"{time_text(at)}"'
                if hasattr(form, "variables"):
                    terms = ",".join(
                        f'"{column}":{json_term(term)}'
                        for column, term in zip(form.variables, row, strict=True)
                        if isinstance(term, str)
                    )
                    yield at, f'{head},"row":{{{terms}}}}}'
                else:
                    triple = " ".join(ntriples_term(str(term)) for term in row) + " ."
                    shown = triple.replace("\\", "\\\\").replace('"', '\\"')
                    yield at, f'{head},"triple":"{shown}"}}'


def expected(name: str) -> str:
    return "".join(f"{line}\n" for _, line in sorted(lines(name), key=lambda found: found[0]))


if __name__ == "__main__":
    for path in FOLDER.glob("*.rq"):
        (FOLDER / f"{path.stem}.expected.ndjson").write_text(expected(path.stem), encoding="utf-8")
