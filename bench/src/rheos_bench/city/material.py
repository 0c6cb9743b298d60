"""CityBench's material: its folder comes in, its static graphs and what each sensor observes go out.

The data and the queries are those of CityBench (Ali, Gao and Mileo, 2015: sensors of the city of Aarhus).
They are no part of rheos. They are read from a folder beside the repository, when they are needed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyoxigraph as ox

from rheos.errors import EnvironmentFault

SHARED = Path(__file__).parents[4].parent / "shared"
FOLDER = SHARED / "citybench"
RSP4J = SHARED / "rspql" / "rsp4j"

SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/"
CT = "http://www.insight-centre.org/citytraffic#"

# The graphs have one name each, whatever a published query calls them.
GRAPHS = "http://example.org/citybench/"
REPOSITORY, CULTURAL, LIBRARY = "SensorRepository", "AarhusCulturalEvents", "AarhusLibraryEvents"


def missing(folder: Path = FOLDER) -> str | None:
    """Why CityBench cannot be had; None if it is there."""
    for needed in (folder / "streams", RSP4J):
        if not needed.is_dir():
            return f"CityBench is not there: there is no folder {needed}"
    return None


def folder() -> Path:
    """The folder with the data and the queries."""
    why = missing()
    if why is not None:
        raise EnvironmentFault(why)
    return FOLDER


def static_graphs() -> dict[str, Path]:
    """The files of the named graphs. The repository of sensors is also the default graph."""
    return {GRAPHS + name: folder() / f"{name}.ttl" for name in (REPOSITORY, CULTURAL, LIBRARY)}


def default_graph() -> Path:
    return folder() / f"{REPOSITORY}.ttl"


@cache
def observed() -> dict[str, dict[str, str]]:
    """What each sensor observes: the IRI of the property by its kind, such as `CongestionLevel`."""
    store = ox.Store()
    store.load(path=default_graph(), format=ox.RdfFormat.TURTLE)
    question = f"SELECT ?s ?p ?k {{ ?s <{SSN}observes> ?p . ?p a ?k FILTER(STRSTARTS(STR(?k), '{CT}')) }}"
    found: dict[str, dict[str, str]] = {}
    rows = store.query(question)
    assert isinstance(rows, ox.QuerySolutions)
    for row in rows:
        sensor, property, kind = (getattr(row[name], "value", "") for name in ("s", "p", "k"))
        found.setdefault(sensor.removeprefix(SERVICES), {})[kind.removeprefix(CT)] = property
    return found
