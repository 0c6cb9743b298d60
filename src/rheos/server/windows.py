"""Windows in addresses (`physical/100`, `logical/PT1H/PT10M`): functions to read and write them, and their
form in C-SPARQL and in RDF (Streaming Linked Data, section 4)."""

from __future__ import annotations

import re

import pyoxigraph as ox

from rheos import durations
from rheos.algebra.streams import LogicalWindow, MovingWindow, PhysicalWindow
from rheos.terms import XSD

SLD = "http://www.streaminglinkeddata.org/schema#"
TUMBLING = "tumbling"

_COUNT = re.compile(r"[1-9][0-9]{0,14}")
_MILLISECOND = 1000


def read(path: str) -> MovingWindow:
    """Read a window from a path. ValueError says what is wrong."""
    match path.split("/"):
        case ["physical", size]:
            return physical(size)
        case ["logical", size, step]:
            return logical(size, step)
    raise ValueError(f"a window is physical/100, logical/PT1H/PT10M or logical/PT1H/tumbling, not {path!r}")


def physical(size: str) -> PhysicalWindow:
    if _COUNT.fullmatch(size) is None:
        raise ValueError(f"the size of a physical window is a number of triples, not {size!r}")
    return PhysicalWindow(int(size), 1)


def logical(size: str, step: str) -> LogicalWindow:
    length = durations.from_xsd(size)
    move = length if step == TUMBLING else durations.from_xsd(step)
    if min(length, move) < _MILLISECOND or length % _MILLISECOND or move % _MILLISECOND:
        raise ValueError("a window and its step are at least a millisecond long, and some whole ones")
    if move > length:
        raise ValueError(
            f"the step {step} is longer than the window {size}: elements between would be in none"
        )
    return LogicalWindow(length, move)


def path_of(window: MovingWindow) -> str:
    """The path of a window. The same window always has the same path."""
    match window:
        case PhysicalWindow(triples):
            return f"physical/{triples}"
        case LogicalWindow(length, step):
            move = TUMBLING if step == length else durations.to_xsd(step)
            return f"logical/{durations.to_xsd(length)}/{move}"


def view_text(name: str, stream: str, window: MovingWindow) -> str:
    """The C-SPARQL query of a view: it selects the triples in a window, each with its time."""
    match window:
        case PhysicalWindow(triples):
            clause = f"[RANGE TRIPLES {triples}]"
        case LogicalWindow(length, step):
            clause = f"[RANGE {length // _MILLISECOND}ms STEP {step // _MILLISECOND}ms]"
    return (
        f"REGISTER QUERY <{name}> AS SELECT ?s ?p ?o (timestamp(?p) AS ?time)"
        f" FROM NAMED STREAM <{stream}> {clause} WHERE {{ GRAPH <{stream}> {{ ?s ?p ?o }} }}"
    )


def kind_of(window: MovingWindow) -> ox.NamedNode:
    match window:
        case PhysicalWindow():
            return ox.NamedNode(SLD + "physical")
        case LogicalWindow(length, step):
            return ox.NamedNode(SLD + ("logicalTumbling" if length == step else "logicalSliding"))


def size_of(window: MovingWindow) -> ox.Literal:
    match window:
        case PhysicalWindow(triples):
            return ox.Literal(str(triples), datatype=ox.NamedNode(XSD + "integer"))
        case LogicalWindow(length):
            return ox.Literal(durations.to_xsd(length), datatype=ox.NamedNode(XSD + "duration"))
