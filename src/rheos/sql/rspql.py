"""RSP-QL: the SQL of the tables of named graphs in windows, which `rheos.sql.context` describes."""

from __future__ import annotations

from rheos.sql.grouped import PRECEDING
from rheos.sql.relation import INTERVAL, nested, select
from rheos.sql.windows import ELEMENT

SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"

# Columns of the elements of a stream of graphs: the name of the graph, if it has one, and its number.
GRAPH, NUMBER = "graph", "element"


def counted_sql(elements: str) -> str:
    """Elements whose place is the number of their graph."""
    return select([*ELEMENT[:-1], f"{NUMBER} AS place"], elements)


def named_sql(elements: str, place: str) -> str:
    """The elements of graphs that have a name, with this name in the column g."""
    return select([f"{GRAPH} AS g", *ELEMENT[:-1], f"{place} AS place"], elements, [f"{GRAPH} IS NOT NULL"])


def names_sql(graphs: str) -> str:
    """When a window holds each of its named graphs: intervals that do not touch each other."""
    start, end = INTERVAL
    order = "PARTITION BY g ORDER BY valid_from, valid_until"
    new = f"CASE WHEN {start} <= max({end}) OVER ({order} {PRECEDING}) THEN 0 ELSE 1 END AS new"
    begun = select(["g", start, end, new], graphs)
    number = f"sum(new) OVER ({order} {SO_FAR}) AS stretch"
    stretches = select(["g", start, end, number], nested(begun, "b"))
    bounds = [f"min({start}) AS {start}", f"max({end}) AS {end}"]
    return select(["g", *bounds], nested(stretches, "s"), tail="GROUP BY g, stretch")
