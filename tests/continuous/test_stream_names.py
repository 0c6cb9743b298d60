"""Streams that a query names wrongly: an error that points at the name, after IRIs are resolved."""

from __future__ import annotations

import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.errors import QuerySyntaxError
from rheos.syntax import parse

WINDOW = "[RANGE 10s STEP 5s]"


def error(text: str) -> QuerySyntaxError:
    query = parse(text, "csparql")
    with pytest.raises(QuerySyntaxError) as found:
        translate_csparql(query, "q", "http://ex/")
    return found.value


def test_several_windows_on_one_stream() -> None:
    text = f"SELECT * FROM STREAM <http://ex/s> {WINDOW}\nFROM NAMED STREAM <s> {WINDOW} {{ ?a ?b ?c }}"
    found = translate_csparql(parse(text, "csparql"), "q", "http://ex/")
    assert [(window.stream, window.named) for window in found.windows] == [
        ("<http://ex/s>", False),
        ("<http://ex/s>", True),
    ]


def test_a_stream_that_is_a_static_graph_under_another_spelling() -> None:
    found = error(f"SELECT * FROM STREAM <http://ex/s> {WINDOW}\nFROM NAMED <s> {{ ?a ?b ?c }}")
    assert "cannot be a named graph" in found.message
    assert (found.line, found.column) == (2, 12)


@pytest.mark.parametrize("call", ["timestamp(?a, <t>)", "timestamp(?a, :t)"])
def test_the_time_in_a_stream_that_is_none(call: str) -> None:
    found = error(
        f"PREFIX : <http://ex/> SELECT * FROM STREAM <s> {WINDOW} {{ ?a ?b ?c .\nFILTER({call} > 1) }}"
    )
    assert found.message.startswith("<http://ex/t> is not a stream of this query")
    assert (found.line, found.column) == (2, 22)


def test_the_time_in_a_stream_by_a_relative_name() -> None:
    text = f"SELECT * FROM STREAM <http://ex/s> {WINDOW} {{ ?a ?b ?c FILTER(timestamp(?a, <s>) > 1) }}"
    assert translate_csparql(parse(text, "csparql"), "q", "http://ex/").windows[0].stream == "<http://ex/s>"
