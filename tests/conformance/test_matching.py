"""The comparison of answers itself: blank nodes, order, multiplicity, values."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from .answers import read_csv
from .matching import XSD, Blank, by_value, exact, make_rows, same_rows
from .suite import Case, outline

A, B, C, D = (Blank(label) for label in "abcd")


def cycle(length: int, prefix: str) -> list[tuple[Blank, Blank]]:
    nodes = [Blank(f"{prefix}{index}") for index in range(length)]
    return [(nodes[index], nodes[(index + 1) % length]) for index in range(length)]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ([("x",), ("x",)], [("x",)], False),
        ([(A,), (B,)], [(C,), (D,)], True),
        ([(A,), (A,)], [(C,), (D,)], False),
        ([(A, "1"), (A, "2")], [(B, "2"), (B, "1")], True),
        ([(A, "1"), (A, "2")], [(B, "2"), (C, "1")], False),
        ([(A, B), (B, A)], [(C, D), (D, C)], True),
        ([(A, A), (B, B)], [(C, D), (D, C)], False),
        ([(A, None)], [(None, A)], False),
    ],
)
def test_same_rows(left: list[tuple], right: list[tuple], same: bool) -> None:
    assert same_rows(left, right) is same


def test_refinement_alone_cannot_tell_two_triangles_from_a_hexagon() -> None:
    triangles = cycle(3, "x") + cycle(3, "y")
    assert not same_rows(triangles, cycle(6, "z"))
    assert same_rows(triangles, cycle(3, "v") + cycle(3, "u"))


def test_hundreds_of_interchangeable_blank_nodes() -> None:
    left = [(Blank(f"l{index}"), "same") for index in range(300)]
    right = [(Blank(f"r{index}"), "same") for index in reversed(range(300))]
    assert same_rows(left, right)


def test_sets_forget_multiplicity() -> None:
    assert same_rows([("x",), ("x",)], [("x",)], as_sets=True)


def test_order_is_a_cell() -> None:
    solutions = [{"x": ox.Literal("1")}, {"x": ox.Literal("2")}]
    forward = make_rows(solutions, ["x"], exact, ordered=True)
    assert not same_rows(forward, make_rows(solutions[::-1], ["x"], exact, ordered=True))


def test_numbers_by_value_keep_their_datatype() -> None:
    def number(text: str, datatype: str) -> ox.Literal:
        return ox.Literal(text, datatype=ox.NamedNode(XSD + datatype))

    assert by_value(number("1.50", "decimal")) == by_value(number("1.5", "decimal"))
    assert by_value(number("1.5E1", "double")) == by_value(number("15", "double"))
    assert by_value(number("1", "integer")) != by_value(number("1", "decimal"))
    assert exact(number("01", "integer")) != exact(number("1", "integer"))


def test_only_the_outside_of_braces_counts() -> None:
    text = 'BASE <http://e/> SELECT * FROM <a> { { SELECT ?x { ?x ?y "}" } ORDER BY ?x } } # } ORDER BY'
    assert list(outline(text)) == ["BASE", "<http://e/>", "SELECT", "FROM", "<a>"]


def test_order_by_of_the_query_itself() -> None:
    case = Case(id="x", type="QueryEvaluationTest", name="x", query="x.rq")
    case.__dict__["text"] = "SELECT REDUCED * { ?s <http://e/#a> ?o } ORDER BY ?s"
    assert case.is_ordered
    assert case.is_reduced


def test_csv_has_plain_strings_and_blank_nodes() -> None:
    answer = read_csv('x,y\r\n"a,b",_:n\r\n,1\r\n')
    assert answer.rows == [{"x": ox.Literal("a,b"), "y": ox.BlankNode("n")}, {"y": ox.Literal("1")}]
