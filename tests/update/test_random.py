"""Random updates: after each, the engine holds what pyoxigraph holds, and says how much has changed.

Transfers are given to pyoxigraph as the operations that the recommendation defines them by, because its own
forget empty graphs and do not miss a source. Without blank nodes, so that graphs can be compared as sets.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pyoxigraph as ox
import pytest

from rheos import Engine, UpdateError
from rheos.terms import encode
from tests.spread import spread

REQUESTS = int(os.environ.get("UPDATE_REQUESTS", "40"))
PREFIX = "PREFIX : <http://ex/> "
GRAPHS = (":g", ":h", ":k")

Graphs = dict[str | None, set[tuple[str, ...]]]


@dataclass(frozen=True)
class Operation:
    """An operation, and the same for pyoxigraph; unless it is silent, the graph `source` must be there."""

    text: str
    reference: str
    source: str | None = None
    silent: bool = False


class Failed(Exception):
    pass


class Reference:
    """pyoxigraph's store; an update that fails changes nothing."""

    def __init__(self) -> None:
        self.store = ox.Store()

    def update(self, operations: list[Operation]) -> None:
        before, names = list(self.store), list(self.store.named_graphs())
        try:
            for operation in operations:
                self._apply(operation)
        except (Failed, RuntimeError):
            self.store = ox.Store()
            self.store.extend(before)
            for name in names:
                self.store.add_graph(name)
            raise Failed from None

    def _apply(self, operation: Operation) -> None:
        source = operation.source
        if source and not self.store.contains_named_graph(ox.NamedNode(f"http://ex/{source[1:]}")):
            if not operation.silent:
                raise Failed
            return
        self.store.update(PREFIX + operation.reference)

    def graphs(self) -> Graphs:
        found: Graphs = {None: set(), **{encode(name): set() for name in self.store.named_graphs()}}
        for quad in self.store:
            graph = None if isinstance(quad.graph_name, ox.DefaultGraph) else encode(quad.graph_name)
            found[graph].add(tuple(encode(term) for term in quad.triple))
        return found


def held(engine: Engine) -> Graphs:
    found: Graphs = {None: set(), **{name: set() for name in engine.graphs.graph_names}}
    with engine.graphs.cursor() as cursor:
        found[None].update(cursor.execute("SELECT s, p, o FROM default_graph").fetchall())
        for graph, *triple in cursor.execute("SELECT g, s, p, o FROM named_graphs").fetchall():
            found[graph].add(tuple(triple))
    return found


# --- random operations -----------------------------------------------------------------------------


class Writer:
    """Writes random operations over a few names, so that they often meet the same triples."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def operations(self) -> list[Operation]:
        return [self.operation() for _ in range(self.random.choice((1, 1, 1, 2, 3)))]

    def operation(self) -> Operation:
        kinds = {self.data: 4, self.delete_where: 2, self.modify: 6, self.whole: 2, self.transfer: 3}
        (kind,) = self.random.choices(list(kinds), list(kinds.values()))
        return kind()

    def data(self) -> Operation:
        text = f"{self.pick('INSERT', 'INSERT', 'DELETE')} DATA {{ {self.quads(self.term, 1, 6)} }}"
        return Operation(text, text)

    def delete_where(self) -> Operation:
        text = f"DELETE WHERE {{ {self.quads(self.some, 1, 2)} }}"
        return Operation(text, text)

    def modify(self) -> Operation:
        clauses = [
            self.maybe(0.3, f"WITH {self.pick(*GRAPHS)}"),
            self.maybe(0.6, f"DELETE {{ {self.quads(self.some, 0, 2)} }}"),
            f"INSERT {{ {self.quads(self.some, 0, 3)} }}",
            self.maybe(0.2, f"USING {self.pick(*GRAPHS)}"),
            self.maybe(0.2, f"USING {self.pick(*GRAPHS)}"),
            self.maybe(0.2, f"USING NAMED {self.pick(*GRAPHS)}"),
            f"WHERE {{ {self.pattern()} }}",
        ]
        text = " ".join(clauses)
        return Operation(text, text)

    def whole(self) -> Operation:
        silent = self.maybe(0.7, "SILENT")
        graphs = self.pick("DEFAULT", "NAMED", "ALL", *[f"GRAPH {graph}" for graph in GRAPHS * 3])
        text = self.pick(
            f"CLEAR {silent} {graphs}",
            f"DROP {silent} {graphs}",
            f"CREATE {silent} GRAPH {self.pick(*GRAPHS)}",
        )
        return Operation(text, text)

    def transfer(self) -> Operation:
        kind, silent = self.pick("ADD", "COPY", "MOVE"), self.maybe(0.7, "SILENT")
        source, target = (self.pick("DEFAULT", *GRAPHS) for _ in range(2))
        steps = []
        if source != target:
            if target != "DEFAULT":
                steps.append(f"CREATE SILENT GRAPH {target}")
            if kind != "ADD":
                steps.append(f"CLEAR {graph_ref(target)}")
            steps.append(f"INSERT {{ {inside(target)} }} WHERE {{ {inside(source)} }}")
            if kind == "MOVE":
                steps.append(f"DROP {graph_ref(source)}")
        needed = None if source == "DEFAULT" else source
        return Operation(f"{kind} {silent} {source} TO {target}", " ; ".join(steps), needed, bool(silent))

    def pattern(self) -> str:
        parts = [self.quads(self.some, 1, 2)]
        if self.random.random() < 0.3:
            parts.append(f"OPTIONAL {{ {self.quads(self.some, 1, 1)} }}")
        if self.random.random() < 0.2:
            parts.append(f"MINUS {{ {self.quads(self.some, 1, 1)} }}")
        if self.random.random() < 0.2:
            parts.append("BIND(?x AS ?new)")
        if self.random.random() < 0.3:
            parts.append(self.pick("FILTER(?x != ?y)", "FILTER(isIRI(?z))", "FILTER(?y > 1)"))
        return " ".join(parts)

    def quads(self, term: object, least: int, most: int) -> str:
        """Triples, some of them in graphs; `term` writes one, given what may stand at its place."""
        assert callable(term)
        found = []
        for _ in range(self.random.randint(least, most)):
            triple = f"{term('s')} {term('p')} {term('o')}"
            named = self.random.random() < 0.4
            found.append(f"GRAPH {term('g')} {{ {triple} }}" if named else f"{triple} .")
        return " ".join(found)

    def term(self, place: str) -> str:
        nodes = {
            "g": GRAPHS,
            "s": (":a", ":b", ":g"),
            "p": (":p", ":q"),
            "o": (":a", ":b", "1", "2", '"x"@en'),
        }
        return self.pick(*nodes[place])

    def some(self, place: str) -> str:
        """A term, or more often a variable."""
        if self.random.random() < 0.35:
            return self.term(place)
        return self.pick("?x", "?y", "?z", f"?{place}", f"?{place}")

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def maybe(self, chance: float, text: str) -> str:
        return text if self.random.random() < chance else ""


def graph_ref(graph: str) -> str:
    return graph if graph == "DEFAULT" else f"GRAPH {graph}"


def inside(graph: str) -> str:
    return "?s ?p ?o" if graph == "DEFAULT" else f"GRAPH {graph} {{ ?s ?p ?o }}"


# --- the comparison --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", spread(8))
def test_random_updates(seed: int) -> None:
    writer, reference = Writer(seed), Reference()
    with Engine(execution="local") as engine:
        for _ in range(REQUESTS):
            operations = writer.operations()
            text = PREFIX + " ;\n".join(operation.text for operation in operations)
            before, versions = reference.graphs(), grown(engine, reference.graphs())
            try:
                reference.update(operations)
            except Failed:
                with pytest.raises(UpdateError):
                    engine.update(text)
                assert held(engine) == before, text
                continue
            number = engine.update(text)
            after = reference.graphs()
            assert held(engine) == after, text
            if len(operations) == 1:
                check_figures(engine, number, before, after, versions, text)


def grown(engine: Engine, graphs: Graphs) -> dict[str | None, int]:
    return {graph: engine.graphs.version_of(graph and graph[1:-1]) for graph in graphs}


def check_figures(
    engine: Engine, number: int, before: Graphs, after: Graphs, versions: dict[str | None, int], text: str
) -> None:
    """The number of changes of one operation, and that the versions of the graphs it changed have grown."""
    everything = {*before, *after}
    assert number == sum(len(before.get(graph, set()) ^ after.get(graph, set())) for graph in everything), (
        text
    )
    changed = {graph for graph in everything if before.get(graph) != after.get(graph)}
    now = grown(engine, after | before)
    assert {graph for graph in everything if now[graph] > versions.get(graph, 0)} == changed, text


def test_operations_are_worth_trying() -> None:
    """Of the random operations, enough change something, and enough fail."""
    changed = failed = 0
    for seed in range(8):
        writer, reference = Writer(seed), Reference()
        for _ in range(40):
            before = reference.graphs()
            try:
                reference.update(writer.operations())
                changed += reference.graphs() != before
            except Failed:
                failed += 1
    assert changed > 120
    assert failed > 10
