"""The index of the default graph: answers are the same with it and without it, and follow every change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from rheos import Engine
from rheos.execute import matching, paths
from rheos.execute.matching import Matcher
from rheos.execute.plan import Plan

PREFIX = "PREFIX : <http://ex/> "
NODES = [f":{letter}" for letter in "abcdefgé"]
PREDICATES = [":p", ":q", ":r"]
VARIABLES = ["?x", "?y", "?z", "?w", "?v"]
CASES = 250
SEEDS = (1, 2)


class Chance(random.Random):
    """Random data and queries about it."""

    def data(self) -> str:
        nodes = [*NODES, ":p", '"1"', '"eins"@de', "4.5"]
        triples = {(self.choice(NODES), self.choice(PREDICATES), self.choice(nodes)) for _ in range(40)}
        chain = [(f":n{at}", ":next", f":n{at + 1}") for at in range(30)]
        return (
            PREFIX.replace("PREFIX", "@prefix").replace("> ", "> .\n")
            + " .\n".join(
                " ".join(triple)
                for triple in [*sorted(triples), *chain, (":n30", ":next", ":n20"), (":p", ":q", ":a")]
            )
            + " ."
        )

    def node(self) -> str:
        constants = [*NODES[:2], NODES[-1], ":n3", ":unknown", ":p"]
        return self.choice(VARIABLES) if self.random() < 0.65 else self.choice(constants)

    def triple(self) -> str:
        predicate = self.choice([*PREDICATES, *PREDICATES, ":next", ":unknown", "?v", "?x"])
        end = '"1"' if self.random() < 0.1 else self.node()
        return f"{self.node()} {predicate} {end} ."

    def path(self, depth: int = 2) -> str:
        if not depth:
            return self.choice([":p", ":q", ":next", "!:p", "!(:q|^:p)", "^:r", ":unknown"])
        one, other = self.path(depth - 1), self.path(depth - 1)
        return self.choice(
            [f"({one})+", f"({one})*", f"({one})?", f"({one}/{other})", f"({one}|{other})", f"^({one})"]
        )

    def part(self, depth: int) -> str:
        match self.choice(["triple"] * 5 + ["path"] * 3 + ["optional", "exists", "group", "filter"]):
            case "path":
                return f"{self.node()} {self.path()} {self.node()} ."
            case "optional" if depth:
                return f"OPTIONAL {{ {self.group(depth - 1)} }}"
            case "group" if depth:
                return f"{{ {self.group(depth - 1)} }}"
            case "exists" if depth:
                word = self.choice(["EXISTS", "NOT EXISTS"])
                return f"FILTER {word} {{ {self.triple()} {self.triple() if self.random() < 0.3 else ''} }}"
            case "filter":
                return f"FILTER({self.choice(VARIABLES)} != {self.choice(['?x', ':a'])})"
        return self.triple()

    def group(self, depth: int = 2) -> str:
        return " ".join(self.part(depth) for _ in range(self.randint(1, 3)))

    def query(self) -> str:
        chosen = "*" if self.random() < 0.5 else " ".join(self.sample(VARIABLES, 2))
        return f"{PREFIX}SELECT {chosen} {{ {self.node()} {self.choice(PREDICATES)} ?x . {self.group()} }}"


def rows(engine: Engine, query: str) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in engine.query(query).rows)


@pytest.fixture
def engines() -> Iterator[tuple[Engine, Engine]]:
    """One with an index from the first query on, and one that never has any."""
    with Engine(execution="local") as indexed, Engine(execution="local") as plain:
        indexed.graphs.indexed.patience = 0
        plain.graphs.indexed.patience = 1e9
        yield indexed, plain


@pytest.mark.slow
@pytest.mark.parametrize("most", [100_000, 20])
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_do_not_depend_on_the_index(
    seed: int, most: int, engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MOST", most)
    monkeypatch.setattr(paths, "MARKS", 200)  # closures of several starts in parts
    monkeypatch.setattr(paths, "FEW", most // 10)
    chance = Chance(seed)
    data = chance.data()
    whole = 0
    for engine in engines:
        engine.load(data=data, format="turtle")
    for _ in range(CASES):
        query = chance.query()
        expected, found = (rows(engine, query) for engine in reversed(engines))
        assert found == expected, query
        plan, _ = engines[0]._plan(query, "auto", engines[0].base, "none", (), ())
        index = engines[0].graphs.indexed.current()
        assert index is not None
        whole += plan.is_selective and plan.matched(index).is_whole
    assert whole > CASES / (4 if most > 1000 else 10)


LOOKUP = f"{PREFIX}SELECT ?o {{ :a :p ?o }}"
FILTERED = f'{PREFIX}SELECT ?o {{ :a :p ?o FILTER(STR(?o) != "") }}'
REACHED = f"{PREFIX}SELECT ?o {{ :a :next+ ?o }}"


@pytest.mark.parametrize("query", [LOOKUP, FILTERED, REACHED])
def test_changes_are_seen(query: str, engines: tuple[Engine, Engine]) -> None:
    engine, _ = engines
    for step in range(3):
        engine.update(f"{PREFIX}INSERT DATA {{ :a :p :b{step} ; :next :b{step} }}")
        assert len(engine.query(query)) == step + 1
    engine.update(f"{PREFIX}DELETE DATA {{ :a :p :b0 ; :next :b0 }}")
    assert len(engine.query(query)) == 2
    engine.clear()
    assert len(engine.query(query)) == 0


def test_a_change_meanwhile_is_seen_as_a_whole_or_not_at_all(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the index matched and what the statement reads beside it are of one version."""
    engine, _ = engines
    engine.update(f"{PREFIX}INSERT DATA {{ :a :p :b . :b :name 1 }}")
    query = f"{PREFIX}SELECT ?n {{ :a :p ?o OPTIONAL {{ ?o :name ?n FILTER(?n > 0) }} }}"
    table, late = (
        Matcher.table,
        [f"{PREFIX}DELETE {{ ?s ?p ?o }} INSERT {{ :a :p :c . :c :name 2 }} WHERE {{ ?s ?p ?o }}"],
    )

    def changing(self: Matcher, node: matching.Node) -> object:
        found = table(self, node)
        if late:
            engine.update(late.pop())
        return found

    monkeypatch.setattr(Matcher, "table", changing)
    assert [row["n"].value for row in engine.query(query).rows] == ["2"]
    assert not late


def test_an_index_is_made_when_it_would_have_paid() -> None:
    with Engine(execution="local") as engine:
        engine.load(data="<http://ex/a> <http://ex/p> 1 .", format="turtle")
        indexed = engine.graphs.indexed
        assert indexed.current() is None
        engine.query(LOOKUP)  # which takes longer than to index one triple
        assert indexed.current() is not None
        engine.update("INSERT DATA { <http://ex/a> <http://ex/p> 2 }")
        assert indexed.current() is None
        assert len(engine.query(LOOKUP)) == 2


def test_queries_that_name_no_node_ask_for_no_index() -> None:
    with Engine(execution="local") as engine:
        engine.load(data="<http://ex/a> <http://ex/p> 1 .", format="turtle")
        for query in ("{ ?s <http://ex/p> ?o }", "{ GRAPH ?g { <http://ex/a> ?p ?o } }"):
            engine.query(f"SELECT * {query}")
        assert engine.graphs.indexed.current() is None


def test_plans_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        Plan, "__init__", lambda self, query, init=Plan.__init__: made.append(init(self, query))
    )
    with Engine(execution="local") as engine:
        for _ in range(3):
            engine.query(LOOKUP)
        assert len(made) == 1
        engine.load(data="<http://ex/a> <http://ex/p> 1 .", format="turtle")
        assert len(engine.query(LOOKUP)) == 1
        assert len(made) == 2


def test_a_long_chain_is_followed_to_its_end(engines: tuple[Engine, Engine]) -> None:
    engine, _ = engines
    chain = "\n".join(f"<http://ex/n{at}> <http://ex/next> <http://ex/n{at + 1}> ." for at in range(600))
    engine.load(data=chain, format="nt")
    for path, count in (("n0> <next>+ ?o", 600), ("n0> <next>* ?o", 601), ("n600> ^<next>+ ?o", 600)):
        found = engine.query(f"SELECT ?o {{ <http://ex/{path} }}", base="http://ex/")
        assert len(found) == count


def test_explain_says_what_the_index_matches(engines: tuple[Engine, Engine]) -> None:
    query = f"{PREFIX}SELECT ?o {{ :a :p ?o FILTER(?o > 1) }}"
    for engine, told in zip(engines, (True, False), strict=True):
        engine.update(f"{PREFIX}INSERT DATA {{ :a :p 1, 2 }}")
        assert ("matched_1" in engine.explain(query)) == told
