"""Random data sets: a few triples in the default graph and in two named graphs, as N-Quads."""

from __future__ import annotations

from dataclasses import dataclass

from .vocabulary import (
    DERIVED,
    EX,
    GRAPHS,
    NODES,
    OBJECTS,
    PREDICATE_WEIGHTS,
    PREDICATES,
    Chooser,
    Features,
    short,
)

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
DEFAULT = "default"
DENSE_NODES = NODES[:3]
DENSE_WEIGHTS = {":p": 3, ":q": 2, ":i": 4, ":n": 3, ":s": 2, ":v": 1}

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Data:
    """The text of a data set as N-Quads, and by graph its triples, predicates as a query writes them."""

    text: str
    triples: dict[str, list[Triple]]

    def nodes(self, graph: str) -> list[str]:
        """The resources of a graph that a query can name."""
        found = dict.fromkeys(term for triple in self.triples[graph] for term in (triple[0], triple[2]))
        return [short(term) for term in found if term.startswith("<")]


def random_data(choose: Chooser, features: Features) -> Data:
    low, high = (16, 36) if features.dense else (8, 26)
    graphs = {DEFAULT: random_triples(choose, features, low, high)}
    if choose.chance(60):
        for graph in GRAPHS[: choose.number(1, 2)]:
            graphs[graph] = random_triples(choose, features, 3, 10)
    lines = [
        f"{subject} {spell(predicate)} {object}{'' if graph == DEFAULT else ' ' + graph} ."
        for graph, triples in graphs.items()
        for subject, predicate, object in triples
    ]
    return Data("\n".join(lines) + "\n", graphs)


def spell(predicate: str) -> str:
    return RDF_TYPE if predicate == "a" else f"<{EX}{predicate[1:]}>"


def random_triples(choose: Chooser, features: Features, low: int, high: int) -> list[Triple]:
    return list(dict.fromkeys(random_triple(choose, features) for _ in range(choose.number(low, high))))


def random_triple(choose: Chooser, features: Features) -> Triple:
    predicate = choose.weighted(DENSE_WEIGHTS if features.dense else PREDICATE_WEIGHTS)
    kind = PREDICATES[predicate]
    objects = OBJECTS[kind]
    if features.derived and kind == "num":
        objects = [*objects, *DERIVED]
    return choose.pick(DENSE_NODES if features.dense else NODES), predicate, choose.pick(objects)
