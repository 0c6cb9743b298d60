"""Policies of consumption: which pairs a sequence makes, and what it must remember of its left side.

A sequence with a policy is evaluated apart, and inner sequences come first. The solutions of its right side
that end in a batch are taken in order: by end, start and terms. Each may be paired with a solution of the
left side. These are kept between batches as solutions, because events do not tell whether they were used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.nodes import Query, Select
from rheos.algebra.rewrite import has_streams
from rheos.algebra.variables import certain
from rheos.optimize.events import all_patterns, bounds, branches, completed
from rheos.runtime.epsparql.operator import BATCH, EPSparqlBatch, EPSparqlOperator
from rheos.runtime.epsparql.patterns import Side, Stage, present
from rheos.runtime.operator import Answers
from rheos.runtime.worker.database import Database
from rheos.sources.chunks import LIVE
from rheos.sql.conditions import all_of, any_of
from rheos.sql.dialect import Dialect
from rheos.sql.epsparql import EPSparqlStatement, compile_epsparql
from rheos.sql.relation import OCCURRENCE, pairs_name, select

LEFTS, RIGHTS = "lefts", "rights"


def answers(
    batch: EPSparqlBatch,
    database: Database,
    detection: EPSparqlOperator,
    span: tuple[int, int],
    unseen: Mapping[str, int],
    state: Mapping[str, pa.Table],
) -> tuple[Answers, dict[str, pa.Table]]:
    """The solutions of a query that end in a span (after, until), and its new state: the elements of each of
    its `states`, by name."""
    after, until = span
    found = batch.show(detection, after, until, unseen)
    consuming = Consuming(database, detection, found, batch.filled, after, until)
    names, later = iter(detection.states), dict[str, pa.Table]()
    for stage in detection.stages:
        kept = [(next(names), len(stage.variables("left"))), (next(names), len(stage.both))]
        lefts, made = (as_solutions(state[name], count) for name, count in kept)
        for (name, _), rows in zip(kept, consuming.make(stage, lefts, made), strict=True):
            later[name] = as_elements(rows)
    return batch.completed(detection, found, after), later


@dataclass
class Consuming:
    """The sequences of a query in one batch; the database has the tables of its patterns."""

    database: Database
    detection: EPSparqlOperator
    events: frozenset[int]
    static: frozenset[str]
    after: int
    until: int

    def make(self, stage: Stage, lefts: pa.Table, made: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Make the tables of a sequence's pairs, from the kept solutions of its left side and its earlier
        pairs. The result is both of these, as they must be kept for the next batch."""
        first, second = stage.variables("left"), stage.variables("right")
        lefts = pa.concat_tables([lefts, self.solutions(stage, "left")])
        self.show(LEFTS, lefts, first)
        self.show(RIGHTS, self.solutions(stage, "right"), second)
        chosen = CHOICES[self.detection.query.consumption](self.database, stage)
        self.database.put("chosen", chosen)
        new = self.database.ask(paired(stage))
        made = pa.concat_tables([made, new.cast(made.schema)])
        for part, rows in (("all", made), ("old", made.slice(0, len(made) - len(new))), ("new", new)):
            self.database.put(pairs_name(stage.number, part), rows)
        if self.detection.query.consumption == "chronological":
            left_over = f"{LEFTS} AS l ANTI JOIN chosen ON l.place = chosen.first"
            unused = select(["l.* EXCLUDE (place)"], left_over)
            return self.database.ask(unused).cast(lefts.schema), since(made, self.until, stage.memory)
        return since(lefts, self.until, stage.memory), since(made, self.until, stage.memory)

    def solutions(self, stage: Stage, side: Side) -> pa.Table:
        """The solutions of one side that end in the batch, with columns c1, c2, …"""
        self.database.put(BATCH, pa.table({"after": pa.array([self.after], pa.int64())}))
        statement = side_statement(
            self.detection, stage.number, side, self.events, self.static, self.database.dialect
        )
        names = stage.variables(side)
        if statement is None:
            return no_solutions(len(names))
        rows = self.database.solutions(statement).rename_columns([*OCCURRENCE[::-1], *columns(names)])
        schema = no_solutions(len(names)).schema
        return rows.select(schema.names).cast(schema)

    def show(self, name: str, rows: pa.Table, names: Sequence[str]) -> None:
        """Make a table of solutions, with the place of each in their order."""
        self.database.put("found", rows)
        order = ", ".join(["ending", "starting", *(f"{column} NULLS FIRST" for column in columns(names))])
        self.database.make(name, f"SELECT *, row_number() OVER (ORDER BY {order}) AS place FROM found")


# --- which go together --------------------------------------------------------------------------------------


def recent(database: Database, stage: Stage) -> pa.Table:
    """Pairs of each solution on the right side with the last one on the left side that fits: it agrees in the
    shared variables, and ended before the other started."""
    if not stage.sure:
        return database.ask(f"SELECT max(first) AS first, second FROM ({fitting(stage)}) GROUP BY second")
    return database.ask(
        f"SELECT last AS first, place AS second FROM ({in_turn(stage)}) WHERE side = 0 AND last IS NOT NULL"
    )


def chronological(database: Database, stage: Stage) -> pa.Table:
    """Pairs of each solution on the right side, in order, with the first one on the left side that fits and
    was not used before.

    Of the left solutions that agree in the shared variables, the first are used first. So it is enough to
    count how many had ended before a right solution started, and how many were used. Only this count depends
    on the solution before, so only it needs a loop in Python.
    """
    if not stage.sure:
        return first_unused(database.ask(f"SELECT * FROM ({fitting(stage)}) ORDER BY second, first"))
    database.make("turns", in_turn(stage))
    rights = database.ask("SELECT agreeing, ended, place FROM turns WHERE side = 0 ORDER BY agreeing, place")
    agreeing, ended = (rights.column(name).to_pylist() for name in ("agreeing", "ended"))
    turns, used, last = list[int](), 0, 0
    for key, count in zip(agreeing, ended, strict=True):
        used, last = used if key == last else 0, key
        fits = count > used
        used += fits
        turns.append(used if fits else 0)
    database.put("taken", rights.append_column("turn", pa.array(turns, pa.int64())))
    return database.ask(
        "SELECT turns.place AS first, taken.place AS second FROM turns JOIN taken"
        " ON turns.side = 1 AND turns.agreeing = taken.agreeing AND turns.ended = taken.turn"
    )


CHOICES = {"recent": recent, "chronological": chronological}


def in_turn(stage: Stage) -> str:
    """The solutions of both sides in one order: left ones by their end, right ones by their start.
    Each has the number of left solutions up to it that agree with it (`ended`), and the place of the
    last of these (`last`)."""
    keys = [f"k{at}" for at in range(1, len(stage.shared) + 1)]
    lefts = [f"{column} AS {key}" for column, key in zip(stage.shared_columns("left"), keys, strict=True)]
    rights = [f"{column} AS {key}" for column, key in zip(stage.shared_columns("right"), keys, strict=True)]
    both = select([*lefts, "ending AS moment", "1 AS side", "place", "place AS left_place"], LEFTS)
    both += "\nUNION ALL\n"
    both += select([*rights, "starting AS moment", "0 AS side", "place", "NULL AS left_place"], RIGHTS)
    same = f"PARTITION BY {', '.join(keys)} " if keys else ""
    before = f"{same}ORDER BY moment, side, place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    agreeing = f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1"
    columns_ = [f"count(left_place) OVER ({before}) AS ended", f"max(left_place) OVER ({before}) AS last"]
    return select([f"{agreeing} AS agreeing", "side", "place", *columns_], f"(\n{both}\n)")


def fitting(stage: Stage) -> str:
    """All pairs that fit, where a shared variable may be unbound."""
    tests = ["l.ending < r.starting"]
    for name, left, right in zip(
        stage.shared, stage.shared_columns("left"), stage.shared_columns("right"), strict=True
    ):
        equal = [f"l.{left} = r.{right}"]
        equal += [] if name in certain(stage.left) else [f"l.{left} IS NULL"]
        equal += [] if name in certain(stage.right) else [f"r.{right} IS NULL"]
        tests.append(any_of(equal))
    source = f"{LEFTS} AS l JOIN {RIGHTS} AS r ON {all_of(tests)}"
    return select(["l.place AS first", "r.place AS second"], source)


def first_unused(fits: pa.Table) -> pa.Table:
    """The chosen pairs, from all pairs that fit, which are in order of the right side
    and then of the left."""
    used, chosen, done = set[int](), list[tuple[int, int]](), 0
    for first, second in zip(*(fits.column(name).to_pylist() for name in ("first", "second")), strict=True):
        if second != done and first not in used:
            used.add(first)
            chosen.append((first, second))
            done = second
    found = list(zip(*chosen, strict=True)) if chosen else [(), ()]
    return pa.table([pa.array(column, pa.int64()) for column in found], names=["first", "second"])


def paired(stage: Stage) -> str:
    """The statement for the solutions of the chosen pairs."""
    lefts, rights = stage.variables("left"), stage.variables("right")
    found = []
    for at, name in enumerate(stage.both, start=1):
        sides = [f"l.c{lefts.index(name) + 1}"] if name in lefts else []
        sides += [f"r.c{rights.index(name) + 1}"] if name in rights else []
        found.append(f"COALESCE({', '.join(sides)}) AS c{at}")
    source = (
        f"chosen JOIN {LEFTS} AS l ON l.place = chosen.first JOIN {RIGHTS} AS r ON r.place = chosen.second"
    )
    return select(["l.starting", "r.ending", *found], source)


# --- statements and state -----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def side_statement(
    detection: EPSparqlOperator,
    number: int,
    side: Side,
    events: frozenset[int],
    static: frozenset[str],
    dialect: Dialect,
) -> EPSparqlStatement | None:
    """The statement for the solutions of one side of a sequence that end in a batch; None
    if there can be none."""
    stage = detection.stages[number - 1]
    pattern = present(stage.pattern(side), events, static)
    new = all_patterns(change for branch in branches(pattern) for change in completed(branch))
    if not has_streams(new):
        return None
    asked = Query(Select(stage.pattern(side), stage.variables(side)), detection.query.query.dataset)
    return compile_epsparql(asked, new, bounds(new), dialect, detection.query.name)


def columns(names: Sequence[str]) -> list[str]:
    return [f"c{at}" for at in range(1, len(names) + 1)]


def no_solutions(variables: int) -> pa.Table:
    kinds = [*((name, pa.int64()) for name in OCCURRENCE)]
    return pa.schema(kinds + [(f"c{at}", pa.string()) for at in range(1, variables + 1)]).empty_table()


def since(rows: pa.Table, until: int, memory: int | None) -> pa.Table:
    """The solutions that must be remembered after a time."""
    return rows if memory is None else rows.filter(pc.greater(rows.column("ending"), until - memory))


# Characters for joining terms into one string. Since terms may hold any character, these are escaped in
# terms.
_ESCAPE, _BETWEEN = "\x1e", "\x1f"
_UNBOUND = f"{_ESCAPE}2"


def as_elements(rows: pa.Table) -> pa.Table:
    """Solutions in the form of stream elements, so that they are kept as these are: all
    terms joined in `s`."""
    terms = []
    for column in rows.columns[2:]:
        safe = pc.replace_substring(column, _ESCAPE, f"{_ESCAPE}0")
        safe = pc.replace_substring(safe, _BETWEEN, f"{_ESCAPE}1")
        terms.append(pc.fill_null(safe, _UNBOUND))
    nothing = pa.array([""] * len(rows), pa.string())
    joined = pc.binary_join_element_wise(*terms, _BETWEEN) if terms else nothing
    one = pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    alone = pa.nulls(len(rows), pa.string())
    columns_ = [joined, nothing, nothing, rows.column("starting"), rows.column("ending"), alone, one]
    return pa.table(columns_, schema=LIVE).sort_by("time")


def as_solutions(elements: pa.Table, variables: int) -> pa.Table:
    """The inverse of `as_elements`: the solutions, with so many variables, in elements."""
    empty = no_solutions(variables)
    if not len(elements):
        return empty
    parts = pc.split_pattern(elements.column("s"), _BETWEEN).combine_chunks()
    terms = []
    for at in range(variables):
        term = pc.list_element(parts, at)
        bound = pc.if_else(pc.equal(term, _UNBOUND), None, term)
        whole = pc.replace_substring(bound, f"{_ESCAPE}1", _BETWEEN)
        terms.append(pc.replace_substring(whole, f"{_ESCAPE}0", _ESCAPE))
    times = [elements.column(name) for name in ("start", "time")]
    return pa.table([*times, *terms], schema=empty.schema)
