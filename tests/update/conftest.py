"""A city for updates: an engine in this process, and what is in it as sets of short texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from rheos import Engine

EX = "http://ex/"


class City:
    """An engine whose names are all in one namespace, and what it holds, the way a test would write it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def update(self, text: str) -> int:
        return self.engine.update(f"PREFIX : <{EX}> {text}", base=EX)

    def ask(self, pattern: str) -> bool:
        return self.engine.query(f"PREFIX : <{EX}> ASK {{ {pattern} }}").boolean

    def count(self, variable: str, pattern: str) -> int:
        """How many different values a variable has."""
        text = f"PREFIX : <{EX}> SELECT DISTINCT {variable} {{ {pattern} }}"
        return len(self.engine.query(text))

    @property
    def default(self) -> set[str]:
        """The triples of the default graph, as `:s :p 1`; blank nodes are `[]`."""
        return {shown(*row) for row in self._rows("SELECT s, p, o FROM default_graph")}

    @property
    def named(self) -> dict[str, set[str]]:
        """The triples of each named graph."""
        found: dict[str, set[str]] = {short(name): set() for name in self.engine.graphs.graph_names}
        for graph, *triple in self._rows("SELECT g, s, p, o FROM named_graphs"):
            found[short(graph)].add(shown(*triple))
        return found

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        with self.engine.graphs.cursor() as cursor:
            return cursor.execute(sql).fetchall()


def shown(*terms: str) -> str:
    return " ".join(map(short, terms))


def short(term: str) -> str:
    if term.startswith("_:"):
        return "[]"
    number = re.fullmatch(r'"(\d+)"\^\^<.*#integer>', term)
    if number:
        return number[1]
    return re.sub(rf"^<{EX}(.*)>$", r":\1", term)


@pytest.fixture
def city() -> Iterator[City]:
    """Two triples in the default graph, two in :g, one in :h; :empty has none."""
    with Engine(execution="local") as engine:
        city = City(engine)
        city.update("""
            INSERT DATA {
              :a :p 1 . :b :p 2
              GRAPH :g { :a :p 1 . :a :q :b }
              GRAPH :h { :b :q :c }
            } ;
            CREATE GRAPH :empty
        """)
        yield city
