"""The RML-Core test cases for JSON: what each mapping makes of its records, all at one time.

A case that must fail is refused as a mapping, or leaves its records to the dead letters. The cases in
`rml_refused.txt` ask for what a stream cannot have; each is refused by that name.
"""

from __future__ import annotations

import csv
import os
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox
import pytest

from rheos.errors import RheosError
from rheos.mapping import Mapping
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Messages, decoder
from rheos.terms import decode
from tests.conformance.suite import CHECKOUT

SUITE = Path(os.environ.get("RHEOS_RML", CHECKOUT.parent / "shared" / "rml"))
BASE = "http://example.com/"
_PATH = re.compile(r'rml:path "([^"]*)"')


def refused() -> dict[str, str]:
    """The cases that are refused, and what the reason must name."""
    text = Path(__file__).with_name("rml_refused.txt").read_text()
    lines = (line.partition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: reason.strip() for name, _, reason in lines}


def cases() -> list[str]:
    return sorted(path.name for path in SUITE.glob("RMLTC*")) if SUITE.is_dir() else []


def must_fail() -> set[str]:
    with (SUITE / "metadata.csv").open() as file:
        return {row["ID"] for row in csv.DictReader(file) if row["error"] == "true"}


def made(name: str) -> Chunk:
    folder = SUITE / name
    text = (folder / "mapping.ttl").read_text()
    made_by = decoder(Mapping(text, "rml", name), "arrival", base=BASE)
    found = []
    for number, path in enumerate(sorted(set(_PATH.findall(text)))):
        messages = Messages.of([(folder / path).read_bytes()], arrival=pa.array([0]))
        found.append(made_by.decode(messages, f"b{number}_", path))
    return replace(
        found[0],
        elements=pa.concat_batches([chunk.elements for chunk in found]),
        bad=tuple(bad for chunk in found for bad in chunk.bad),
    )


@pytest.mark.skipif(not SUITE.is_dir(), reason=f"{SUITE} is missing")
@pytest.mark.parametrize("name", [name for name in cases() if name not in refused()])
def test_case(name: str) -> None:
    if name in must_fail():
        try:
            chunk = made(name)
        except (RheosError, OSError):
            return
        assert chunk.bad
        assert not chunk.elements.num_rows
        return
    chunk = made(name)
    columns = [chunk.elements.column(term).to_pylist() for term in "spo"]
    found = ox.Dataset(ox.Quad(*map(decode, triple)) for triple in zip(*columns, strict=True))
    expected = ox.Dataset(ox.parse(path=str(SUITE / name / "output.nq"), format=ox.RdfFormat.N_QUADS))
    for dataset in (found, expected):
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert found == expected


@pytest.mark.skipif(not SUITE.is_dir(), reason=f"{SUITE} is missing")
@pytest.mark.parametrize(("name", "reason"), refused().items())
def test_case_is_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(RheosError) as error:
        made(name)
    assert reason in str(error.value)
