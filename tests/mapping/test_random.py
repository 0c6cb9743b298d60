"""Random records through random mappings, beside a slow and obvious evaluator."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rheos.mapping import Mapping
from rheos.sources.decoding import Messages, decoder

XSD = "http://www.w3.org/2001/XMLSchema#"
KEYS = ("a", "b", "c", "a_b", "b c", "a-b")
NAMES = ("a", "b", "c", "a_b", "b_c", "a_b_c", "c_a")
Row = dict[str, str | None]
MISSING = object()

# --- records -----------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.5, -1.25, 1e300]),
    st.sampled_from(["", "x", 'y "z"', "é\n", "[", "{", "\\"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=8,
)
records = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)


# --- mappings: text, and the same in Python ----------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A BIND or a FILTER, and what it does to a row; a row that a FILTER drops is None."""

    text: str
    apply: Callable[[Row], Row | None]


def text_of(term: str | None) -> str | None:
    """What STR gives."""
    return None if term is None else term[1 : term.rindex('"')]


def bind_text(source: str, target: str) -> Step:
    def apply(row: Row) -> Row:
        text = text_of(row[source])
        return {**row, target: None if text is None else f'"<{text}>"'}

    return Step(f'BIND(CONCAT("<", STR(?{source}), ">") AS ?{target})', apply)


def bind_first(first: str, second: str, target: str) -> Step:
    return Step(
        f"BIND(COALESCE(?{first}, ?{second}) AS ?{target})",
        lambda row: {**row, target: row[first] if row[first] is not None else row[second]},
    )


def bind_bound(source: str, target: str) -> Step:
    def apply(row: Row) -> Row:
        return {**row, target: '"yes"' if row[source] is not None else '"no"'}

    return Step(f'BIND(IF(BOUND(?{source}), "yes", "no") AS ?{target})', apply)


def filter_bound(source: str) -> Step:
    return Step(f"FILTER(BOUND(?{source}))", lambda row: row if row[source] is not None else None)


def filter_type(source: str) -> Step:
    suffix = f'"^^<{XSD}integer>'
    return Step(
        f"FILTER(DATATYPE(?{source}) = <{XSD}integer>)",
        lambda row: row if (row[source] or "").endswith(suffix) else None,
    )


@st.composite
def mappings(draw: st.DrawFn) -> tuple[str, list[Step], list[str]]:
    """The text of a mapping, its steps, and the variables that are objects of its template."""
    name = st.sampled_from(NAMES)
    steps: list[Step] = []
    for number in range(draw(st.integers(0, 3))):
        target = f"t{number}"
        steps.append(
            draw(
                st.one_of(
                    st.builds(bind_text, name, st.just(target)),
                    st.builds(bind_first, name, name, st.just(target)),
                    st.builds(bind_bound, name, st.just(target)),
                    st.builds(filter_bound, name),
                    st.builds(filter_type, name),
                )
            )
        )
    bound = re.findall(r"AS \?(\w+)", " ".join(step.text for step in steps))
    objects = draw(st.lists(st.sampled_from([*NAMES, *bound]), min_size=1, max_size=4))
    template = " ; ".join(f"<http://ex/p{at}> ?{name}" for at, name in enumerate(objects))
    where = " ".join(step.text for step in steps)
    return f"CONSTRUCT {{ <http://ex/s> {template} }} WHERE {{ {where} }}", steps, objects


# --- the slow evaluator ------------------------------------------------------------------------------------


def term(value: Any) -> str | None:
    match value:
        case bool():
            return f'"{str(value).lower()}"^^<{XSD}boolean>'
        case str():
            return f'"{value}"'
        case int():
            return f'"{value}"^^<{XSD}integer>'
        case float():
            text = repr(value).replace("e+", "e")
            return f'"{text}"^^<{XSD}{"double" if "e" in text else "decimal"}>'
    return None


def paths(name: str) -> list[tuple[str, ...]]:
    """All ways of keys for a name: the fewest keys first, then the shortest first ones."""
    every = [
        way
        for length in range(1, name.count("_") + 2)
        for way in itertools.product(KEYS, repeat=length)
        if re.sub(r"\W", "_", "_".join(way)) == name
    ]
    return sorted(every, key=lambda way: (len(way), [len(key) for key in way], way))


def items(value: Any) -> Iterator[Any]:
    """The items of an array, also of arrays in it; an empty one has no value."""
    if not isinstance(value, list):
        yield value
    elif not value:
        yield MISSING
    else:
        for item in value:
            yield from items(item)


def spread(
    value: Any, ways: set[tuple[str, ...]], at: tuple[str, ...] = ()
) -> list[dict[tuple[str, ...], Any]]:
    """What stands at the ways in a record: a dictionary for each combination of items."""
    keys = dict.fromkeys(way[len(at)] for way in sorted(ways) if way[: len(at)] == at and len(way) > len(at))
    found = [{at: value}]
    for key in keys:
        inner = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        below = [row for item in items(inner) for row in spread(item, ways, (*at, key))]
        found = [{**row, **more} for row in found for more in below]
    return found


def rows(record: Any) -> Iterator[Row]:
    ways = {way for name in NAMES for way in paths(name)}
    for found in spread(record, ways):
        # What is there hides what comes after it, even if it is no term.
        there = {name: [found[way] for way in paths(name) if found[way] is not MISSING] for name in NAMES}
        yield {name: term(values[0]) if values else None for name, values in there.items()}


def expected(record: Any, steps: list[Step], objects: list[str]) -> set[tuple[int, str]]:
    """The triples of a record: the number of the predicate, and the object."""
    made: set[tuple[int, str]] = set()
    for start in rows(record):
        row: Row | None = start
        for step in steps:
            row = None if row is None else step.apply(row)
        for at, name in enumerate(objects) if row is not None else ():
            found = row.get(name) if row is not None else None
            if found is not None:
                made.add((at, found))
    return made


@settings(max_examples=80, deadline=None)
@given(st.lists(records, min_size=1, max_size=6), mappings())
def test_records_through_mappings(
    given_records: list[Any], mapping: tuple[str, list[Step], list[str]]
) -> None:
    text, steps, objects = mapping
    payloads = [json.dumps(record, ensure_ascii=False).encode() for record in given_records]
    arrival = pa.array([0] * len(payloads))
    chunk = decoder(Mapping(text), "arrival").decode(Messages.of(payloads, arrival=arrival), "b")
    found: dict[int, list[tuple[int, str]]] = {line: [] for line in range(1, len(payloads) + 1)}
    for row in chunk.elements.to_pylist():
        found[row["line"]].append((int(row["p"][-2]), row["o"]))
    bad = {item.line for item in chunk.bad}
    for line, record in enumerate(given_records, start=1):
        made = expected(record, steps, objects)
        assert sorted(found[line]) == sorted(made), (line, record)
        assert (line in bad) == (not made)
