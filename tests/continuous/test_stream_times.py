"""timestamp() after GROUP BY: an error that points at it, since a group is no triple."""

from __future__ import annotations

import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.syntax import parse
from tests.continuous.test_stream_names import WINDOW, error

PREFIX = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>"


def query(head: str, tail: str, where: str = "?a ?b ?c") -> str:
    return f"{PREFIX} SELECT {head} FROM STREAM <s> {WINDOW} {{ {where} }}\n{tail}"


@pytest.mark.parametrize(
    ("tail", "column", "key"),
    [
        ("GROUP BY ?a HAVING (timestamp(?c) > 1)", 21, None),
        ("GROUP BY ?a HAVING (timestamp(?a) > 1)", 21, "a"),
        ("GROUP BY ?a ORDER BY ?n timestamp(?c, <s>)", 25, None),
        ("GROUP BY ?a ORDER BY DESC(timestamp(?a))", 27, "a"),
        ("GROUP BY (STR(?a) AS ?k) HAVING (?k > f:timestamp(?a, ?b, ?c))", 39, None),
        ("HAVING (timestamp(?c) > 1)", 9, None),
    ],
)
def test_a_group_has_no_time(tail: str, column: int, key: str | None) -> None:
    found = error(query("(COUNT(*) AS ?n)", tail))
    assert (found.line, found.column) == (2, column)
    what = f"?{key} is the key of a group" if key else "timestamp is asked of a group"
    assert found.message == (
        f"{what} here, and a group has no time; MAX(timestamp(…)) is the latest of its triples"
    )


def test_nor_in_a_head_or_a_sub_select() -> None:
    assert error(query("?a (timestamp(?a) AS ?t)", "GROUP BY ?a")).message.startswith("?a is the key")
    inner = "{\nSELECT ?a (timestamp(?a) AS ?t) { ?a ?b ?c } GROUP BY ?a }"
    found = error(query("*", "", inner))
    assert (found.line, found.column) == (2, 12)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("(MAX(timestamp(?c)) AS ?t)", "GROUP BY ?a HAVING (MIN(f:timestamp(?a, ?b, ?c)) > 1)"),
        ("?t (COUNT(*) AS ?n)", "GROUP BY (timestamp(?c) AS ?t) ORDER BY ?t"),
        ("?a", "GROUP BY ?a HAVING (EXISTS { ?a ?p ?o FILTER(timestamp(?o) > 1) })"),
    ],
)
def test_triples_have_one(head: str, tail: str) -> None:
    translate_csparql(parse(query(head, tail), "csparql"), "q", "http://ex/")
