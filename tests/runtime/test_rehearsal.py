"""A query is rehearsed when it is registered, on elements that are made up for its patterns."""

from __future__ import annotations

from pathlib import Path

from rheos import Engine
from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import TriplePattern
from rheos.runtime.worker.made_up import different, made_up


def test_patterns_that_differ_in_their_variables_get_one_element() -> None:
    value, kind = Constant("<http://ex/value>"), Constant("<http://ex/kind>")
    patterns = [
        TriplePattern(Variable(f"s{number}"), predicate, Variable(f"o{number}"))
        for number in range(4)
        for predicate in (value, kind)
    ]
    named = TriplePattern(Variable("s"), kind, Constant("<http://ex/k>"))
    assert made_up(different([*patterns, named])).num_rows == 3


def test_many_patterns_of_the_same_shape_are_registered_at_once(tmp_path: Path) -> None:
    """With an element for each of the twenty patterns, a billion solutions were made up, and the memory was
    not enough."""
    (tmp_path / "s.nq").write_text("")
    observations = " ".join(f"?x{at} :kind ?k ; :by ?b{at} ; :of ?p{at} ; :value ?v{at} ." for at in range(5))
    text = f"PREFIX : <http://ex/> SELECT ?v0 ?v4 {{ STREAM <http://ex/s> [RANGE 3s] {{ {observations} }} }}"
    with Engine() as engine:
        engine.add_stream("http://ex/s", tmp_path / "s.nq")
        assert engine.register(text, name="q").name == "q"
