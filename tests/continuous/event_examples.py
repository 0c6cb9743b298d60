"""The examples of EP-SPARQL for the reference: the name of a folder comes in; its cases and files go out.

The queries are put together here once more, beside their texts in `rheos_bench.applications`. Data and
expected
results of the folders are written by this module, the latter by the reference:

    python -m tests.continuous.event_examples
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rheos.answers.continuous import time_text
from rheos.terms import decode
from rheos_bench import applications
from rheos_bench.applications import delivery, plants, stocks, tsunami
from rheos_bench.applications.elements import DAY
from tests.cli.command import ROOT
from tests.cli.examples import Example, Line, examples, json_term
from tests.continuous.arrival_query import Aggregate, Bind, Filter, Group, Optional, Static
from tests.continuous.event_algebra import Event
from tests.continuous.event_query import DURATION, As, Chain, Element, Query, Triples, chain
from tests.continuous.event_reference import Answer, Case, answers
from tests.continuous.example_files import TYPE, elements, quads
from tests.continuous.expressions import (
    SECOND,
    Abs,
    And,
    Arithmetic,
    Bound,
    Compare,
    Expression,
    Not,
    integer,
    literal,
)

TEXTS = {
    "stocks": applications.STOCKS,
    "class-tree": applications.PLANTS,
    "delivery": applications.DELIVERY,
    "tsunami": applications.TSUNAMI,
}


# --- queries ----------------------------------------------------------------------------------------------


def group(*parts: str | Element, base: str) -> Group:
    """A string is a basic graph pattern, in which names stand for IRIs."""
    return Group(tuple(triples(part, base) if isinstance(part, str) else part for part in parts))


def triples(written: str, base: str) -> Triples:
    found = []
    for pattern in written.split(" . "):
        s, p, o = (term(place, base) for place in pattern.split())
        found.append((s, p, o))
    return Triples(tuple(found))


def term(place: str, base: str) -> str:
    if place[0] in "?_<":
        return place
    return integer(int(place)) if place.isdigit() else TYPE if place == "a" else f"<{base}{place}>"


def lasts(operator: str, duration: str) -> Compare:
    return Compare(DURATION, operator, literal(duration, "duration"))


def decimal(value: str) -> str:
    return literal(value, "decimal")


def times(variable: str, factor: str) -> Arithmetic:
    return Arithmetic(variable, "*", decimal(factor))


def all_of(first: Expression, *others: Expression) -> Expression:
    for other in others:
        first = And(first, other)
    return first


def stock(*parts: str | Element) -> Group:
    return group(*parts, base=stocks.STOCKS)


def stock_queries() -> dict[str, Query]:
    prices = [stock(f"?company hasStockPrice ?price{number}") for number in (1, 2, 3)]
    acme, between = stock("ACME hasStockPrice ?price"), stock("ACME hasStockPrice ?inbetween")
    before = stock("?point hasCount ?prevcount . ?point hasSum ?prevsum")
    point = stock("?point hasCount ?count . ?point hasSum ?sum")
    begun = triples("_:point hasCount 1 . _:point hasSum ?price", stocks.STOCKS).patterns
    made = triples("_:point hasCount ?count . _:point hasSum ?sum", stocks.STOCKS).patterns
    rating = "?rating{0} of ?company . ?rating{0} by ?agency . ?rating{0} grade ?{1}"
    stream = (f"<{stocks.STREAM}>",)
    going_on = Query(
        Group(
            (
                Chain(
                    (before, acme, Group((chain("SEQ", before, between, acme),))), ("SEQ", "EQUALSOPTIONAL")
                ),
                Filter(And(Not(Bound("?inbetween")), lasts("<", "P10D"))),
            )
        ),
        (
            As(Arithmetic("?prevcount", "+", integer(1)), "?count"),
            As(Arithmetic("?prevsum", "+", "?price"), "?sum"),
        ),
    )
    return {
        "crash-and-recovery": Query(
            Group(
                (
                    chain("SEQ", *prices),
                    Filter(
                        all_of(
                            Compare("?price2", "<", times("?price1", "0.7")),
                            Compare("?price3", ">", times("?price2", "1.05")),
                            lasts("<", "P30D"),
                        )
                    ),
                )
            ),
            ("?company",),
        ),
        "crash-and-downrating": Query(
            Group(
                (
                    chain(
                        "OPTIONALSEQ",
                        stock("?company downratedBy ?agency", Filter(lasts("<", "P20D"))),
                        Group(
                            (
                                chain("SEQ", *prices[:2]),
                                Filter(
                                    And(Compare("?price2", "<", times("?price1", "0.5")), lasts("<", "P10D"))
                                ),
                            )
                        ),
                    ),
                )
            ),
            ("?company", "?agency"),
        ),
        "rise-without-acquisition": Query(
            Group(
                (
                    Chain(
                        (
                            *prices[:2],
                            Group(
                                (chain("SEQ", prices[0], stock("?company hasAcquired ?other"), prices[1]),)
                            ),
                        ),
                        ("SEQ", "EQUALSOPTIONAL"),
                    ),
                    Filter(
                        all_of(
                            Compare("?price2", ">", times("?price1", "1.5")),
                            Not(Bound("?other")),
                            lasts("<", "P15D"),
                        )
                    ),
                )
            ),
            ("?company",),
        ),
        "downratings": Query(
            Group(
                (
                    chain("SEQ", stock(rating.format(1, "before")), stock(rating.format(2, "after"))),
                    Filter(And(Compare("?after", "<", "?before"), lasts("<", "P90D"))),
                )
            ),
            template=triples("?company downratedBy ?agency", stocks.STOCKS).patterns,
            consumption="recent",
        ),
        "counts-begin": Query(acme, template=begun, streams=stream),
        "counts-go-on": Query(Group((going_on,)), template=made),
        "average": Query(
            Group(
                (
                    Chain(
                        (acme, point, Group((chain("SEQ", acme, between, point),))), ("SEQ", "EQUALSOPTIONAL")
                    ),
                    Filter(And(Not(Bound("?inbetween")), lasts(">", "P10D"))),
                )
            ),
            (As(Arithmetic("?sum", "/", "?count"), "?average"),),
        ),
        "averages": Query(
            stock("?company hasStockPrice ?price"),
            ("?company", Aggregate("AVG", "?price", "?average")),
            group_by=("?company",),
            within=10 * DAY * SECOND,
            streams=stream,
        ),
    }


def plant_queries() -> dict[str, Query]:
    below = f"{TYPE}/<http://www.w3.org/2000/01/rdf-schema#subClassOf>*"

    def seen(who: str) -> Group:
        return group(f"?{who} seenAt ?place . ?{who} a {plants.ROOT}", base=plants.PLANTS)

    by_path = group(
        "?specimen seenAt ?place", Static(f"?specimen {below} {plants.ROOT} ."), base=plants.PLANTS
    )
    stream = (f"<{plants.STREAM}>",)
    return {
        "vascular-plants": Query(seen("specimen"), ("?specimen", "?place"), streams=stream),
        "vascular-plants-by-path": Query(by_path, ("?specimen", "?place"), streams=stream),
        "seen-together": Query(
            Group(
                (
                    chain("SEQ", seen("specimen"), seen("other")),
                    Filter(And(Compare("?specimen", "!=", "?other"), lasts("<", "PT1M"))),
                )
            ),
            ("?specimen", "?other", "?place"),
        ),
    }


def delivery_queries() -> dict[str, Query]:
    def city(*parts: str | Element) -> Group:
        return group(*parts, base=delivery.CITY)

    here, elsewhere = city("?agent isAt ?here"), city("?agent isAt ?elsewhere")
    closing = city("?road turns Blocked . ?road start ?here")
    opening = city("?road turns ?state", Filter(Compare("?state", "=", f"<{delivery.CITY}Open>")))
    asking = city("?request from ?here")
    leads = Static(f"?via <{delivery.CITY}leadsTo>* ?next .")
    return {
        "closing-ahead": Query(
            city(
                Chain(
                    (here, closing, Group((chain("SEQ", here, elsewhere, closing),))),
                    ("SEQ", "EQUALSOPTIONAL"),
                ),
                "?stop agent ?agent . ?stop place ?here . ?stop next ?next . ?road end ?via",
                leads,
                Filter(And(Not(Bound("?elsewhere")), lasts("<", "PT30M"))),
            ),
            ("?agent", "?here", "?next", "?road"),
        ),
        "closed-roads": Query(
            city(
                Chain(
                    (closing, asking, Group((chain("SEQ", closing, opening, asking),))),
                    ("SEQ", "EQUALSOPTIONAL"),
                ),
                Filter(And(Not(Bound("?state")), lasts("<", "P1D"))),
            ),
            template=triples("?road closedFor ?request", delivery.CITY).patterns,
        ),
        "open-roads": Query(
            city(
                "?request by ?agent . ?request from ?here . ?request to ?next",
                "?road start ?here . ?road end ?via",
                leads,
                Optional(city("?closed closedFor ?request", Filter(Compare("?closed", "=", "?road")))),
                Filter(And(Not(Bound("?closed")), lasts("<", "PT1S"))),
            ),
            ("?agent", "?here", "?next", "?road"),
        ),
    }


def tsunami_queries() -> dict[str, Query]:
    def sea(*parts: str | Element) -> Group:
        return group(*parts, base=tsunami.SEA)

    values = [sea(f"?buoy pressure ?h{hour}") for hour in range(4)]
    found = values[3]
    for hour in (2, 1, 0):
        lasting = Filter(lasts("=", f"PT{3 - hour}H"))
        found = Group((chain("SEQ", found, values[hour]), lasting))
    weighted = [
        Arithmetic(decimal(f"{weight:.14f}"), "*", f"?h{hour}") for hour, weight in enumerate(tsunami.WEIGHTS)
    ]
    predicted = weighted[0]
    for more in weighted[1:]:
        predicted = Arithmetic(predicted, "+", more)
    compared = chain("SEQ", sea("?buoy predicted ?predicted"), sea("?buoy pressure ?observed"))
    difference, due = Arithmetic("?observed", "-", "?predicted"), lasts("=", "PT3H5M15S")
    return {
        "predictions": Query(
            Group((*found.elements, Bind(predicted, "?predicted"))),
            template=triples("?buoy predicted ?predicted", tsunami.SEA).patterns,
        ),
        "predicted-and-observed": Query(
            Group((compared, Filter(due))),
            ("?buoy", "?predicted", "?observed", As(difference, "?difference")),
        ),
        "detections": Query(
            sea(
                compared,
                "?buoy warns ?place . ?place name ?name",
                Bind(difference, "?difference"),
                Filter(And(Compare(Abs("?difference"), ">", integer(tsunami.THRESHOLD)), due)),
            ),
            ("?buoy", "?difference", "?name"),
        ),
    }


QUERIES = {
    "stocks": stock_queries(),
    "class-tree": plant_queries(),
    "delivery": delivery_queries(),
    "tsunami": tsunami_queries(),
}


# --- files ------------------------------------------------------------------------------------------------


def data() -> dict[str, Iterable[str]]:
    """The files of streams and background knowledge below `examples`, and the lines of each."""
    return {
        "stocks/stocks.nq": stocks.lines(24, seed=7, every=2 * DAY),
        "stocks/acme.nq": stocks.prices(6, seed=5, every=3 * DAY),
        "class-tree/plants.nt": plants.static_lines(40, 16),
        "class-tree/sightings.nq": plants.lines(40, 16),
        "delivery/city.nt": delivery.static_lines(4, 2, 3, seed=9),
        "delivery/traffic.nq": delivery.lines(20, 4, 2, 3, seed=9),
        "tsunami/places.nt": tsunami.static_lines(),
        "tsunami/buoy.nq": tsunami.lines(18, [10.02], moments=tsunami.SPARSE),
    }


def case_of(folder: str, example: Example) -> Case:
    """What an example asks, of the files that its command names."""
    streams: dict[str, list[Event]] = {
        f"<{iri}>": [(s, p, o, time, time) for s, p, o, time in elements(path)]
        for iri, path in example.pairs("--stream")
    }
    background = [quad for path in example.options.get("--data", []) for quad in quads(str(ROOT / path))]
    queries = [QUERIES[folder][query.stem] for query in example.queries]
    return Case(queries, streams, background, "rdfs" in example.options.get("--entailment", []))


def reports(folder: str, example: Example) -> Iterator[tuple[str, Answer]]:
    """What the queries of an example report, in order of time, each with the name of its query."""
    case = case_of(folder, example)
    found = [
        (query.stem, answer)
        for number, query in enumerate(example.queries)
        for answer in answers(case, number)
    ]
    yield from sorted(found, key=lambda report: report[1][0])


def ndjson(name: str, answer: Answer) -> Line:
    end, start, row = answer
    line: Line = {"query": name, "at": time_text(end), "start": time_text(start), "end": time_text(end)}
    if row.endswith(" ."):
        return {**line, "triple": row.replace("_:", "_:point")}
    bindings = (binding.split("=", 1) for binding in row.split(" ?"))
    return {**line, "row": {name.lstrip("?"): json_term(decode(term)) for name, term in bindings}}


def write() -> None:
    for path, lines in data().items():
        (ROOT / "examples" / path).write_text("".join(lines), encoding="utf-8")
    for folder in TEXTS:
        for example in examples(ROOT / "examples" / folder).values():
            lines = [
                json.dumps(ndjson(*report), separators=(",", ":"), ensure_ascii=False) + "\n"
                for report in reports(folder, example)
            ]
            Path(example.expected).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
