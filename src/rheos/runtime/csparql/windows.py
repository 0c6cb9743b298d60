"""The tables of a batch: windows on the elements of streams, each made once.

The name of a table is a digest of what it is made from, so that a query finds a table that another one has
made. Windows are views if they only need a few sums for each row: to write such a table would take longer
than to compute it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from rheos.algebra.nodes import Dataset
from rheos.algebra.sampling import MILLION
from rheos.algebra.streams import LogicalWindow, PhysicalWindow, SessionWindow, Window
from rheos.runtime.csparql.instants import Interval
from rheos.runtime.operator import Count, Times
from rheos.runtime.worker.database import Database
from rheos.sql import windows as sql
from rheos.sql.entailed import derived_sql
from rheos.sql.relation import INTERVAL, nested, select
from rheos.sql.rspql import NUMBER, counted_sql
from rheos.sql.scans import static_default
from rheos.sql.validity import ALWAYS

# With more different predicates than this, decisions by predicate are not made.
MOST_PREDICATES = 1000


def digest(kind: str, *parts: object) -> str:
    """The name of a table that is made from these parts."""
    return f"{kind}_{hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()}"


class Tables:
    """The tables and views that were made in a database for one batch, from tables of elements."""

    def __init__(self, database: Database, elements: Mapping[str, str]) -> None:
        self.database = database
        self.elements = elements
        self._made: set[str] = set()
        self._shown: dict[str, str] = {}
        self._held: dict[str, list[Interval]] = {}
        self._predicates: dict[str, tuple[str, ...] | None] = {}
        self._first_place: dict[str, int] = {}
        self._derived: dict[str, tuple[str, str]] = {}  # the two tables in a union
        self._shares_places: set[str] = set()  # tables in which several elements have the same place
        self._graphs: dict[str, bool] = {}

    def new(self, name: str) -> bool:
        """Whether a table has not been made yet; the caller then makes it."""
        if name in self._made:
            return False
        self._made.add(name)
        return True

    def show(self, name: str, table: str) -> None:
        """Give a table the name by which statements read it."""
        if self._shown.get(name) != table:
            self._shown[name] = table
            self.database.view(name, f"SELECT * FROM {table}")

    def has_graphs(self, elements: str) -> bool:
        """Whether elements come from a stream of graphs. Then they have the columns of `rheos.sql.rspql`."""
        if elements not in self._graphs:
            columns = self.database.ask(f"SELECT * FROM {elements} LIMIT 0").column_names
            self._graphs[elements] = NUMBER in columns
        return self._graphs[elements]

    def counted(self, stream: str, window: Window) -> str:
        """The table of a stream's elements, with places as a window counts them. If it counts graphs, all
        triples of a graph have the same place."""
        elements = self.elements[stream]
        graphs = isinstance(window, PhysicalWindow) and window.graphs
        if not graphs or not self.has_graphs(elements):
            return elements
        name = digest("counted", elements)
        if self.new(name):
            self._shares_places.add(name)
            self.database.view(name, counted_sql(elements))
        return name

    def sampled(self, elements: str, parts: int | None) -> str:
        """The elements of a sample: `parts` of a million, chosen by a hash of the triple. So a triple that
        comes again is in the sample again, and all batches and shards choose the same triples."""
        if parts is None:
            return elements
        name = digest("sampled", elements, parts)
        if self.new(name):
            self.database.view(name, select(["*"], elements, [f"hash(s, p, o) % {MILLION} < {parts}"]))
        return name

    def unseen(self, stream: str, window: Window, before: Count | None) -> int:
        """How many triples, or graphs if the window counts these, came before the query."""
        if before is None:
            return 0
        by_triple = self.counted(stream, window) == self.elements[stream]
        return before.triples if by_triple else before.graphs

    def entailed(self, elements: str, derivations: str | None, more: Sequence[str] = ()) -> str:
        """The elements of a table and the triples that they entail, each with the time and place of its
        element. `more` are further columns to keep."""
        if derivations is None:
            return elements
        name = digest("entailed", elements, derivations)
        if self.new(name):
            derived = digest("derived", elements, derivations)
            columns = (*sql.ELEMENT, *more)
            found = derived_sql(elements, derivations, columns[3:])
            self.database.make(derived, select(columns, nested(found, "e")))
            both = (select(columns, table) for table in (elements, derived))
            self.database.view(name, "\nUNION ALL\n".join(both))
            self._derived[name] = elements, derived
        return name

    def chosen(self, elements: str, condition: str | None) -> str:
        """The elements of a table for which a condition holds."""
        if condition is None:
            return elements
        name = digest("chosen", elements, condition)
        if self.new(name):
            self.database.make(name, select(sql.ELEMENT, elements, [condition]))
        return name

    def followed(self, elements: str, more: Sequence[str] = ()) -> str:
        """The elements of a table, each with the time and place of the next element that has the same triple
        and the same values in the columns `more`."""
        name = digest("followed", elements)
        if not self.new(name):
            return name
        if more or elements in self._shares_places or self._of_shared_places(elements):
            columns = (*sql.ELEMENT, *more)
            self.database.put(
                name, with_next(self.database.ask(select(columns, elements)), "spo" + "".join(more))
            )
            return name
        if elements in self._derived:
            return self._followed_entailed(elements, name)
        found = self.database.ask(f"SELECT place, hash(s, p, o) AS hash FROM {elements}")
        repeated = of_equal_hash(*(found.column(column).to_numpy() for column in ("hash", "place")))
        if not len(repeated):
            self.database.view(name, sql.alone_sql(elements))
            return name
        again, few = digest("again", elements), len(repeated) < len(found) // 8
        if few:
            candidates = digest("repeated", elements)
            self.database.put(candidates, pa.table({"place": repeated}))
            chosen = with_next(self.database.ask(sql.repeated_sql(elements, candidates)))
            self.database.put(again, chosen.select(["place", *sql.AGAIN]))
            self.database.view(name, sql.joined_again_sql(elements, again))
        else:
            chosen = with_next(self.database.ask(select(sql.ELEMENT, elements)))
            if self.database.can_plan(chosen):
                self.database.put(name, chosen)
            else:
                self.database.put(again, chosen)
                self.database.make(name, f"SELECT * FROM {again}")
        return name

    def _of_shared_places(self, elements: str) -> bool:
        return elements in self._derived and self._derived[elements][0] in self._shares_places

    def _followed_entailed(self, all_of: str, name: str) -> str:
        """As `followed`, for elements with what they entail. Only triples with a predicate that is also
        entailed are looked at again; for the others, the table of the elements alone is right."""
        base, derived = self._derived[all_of]
        predicates, own = self.predicates(derived), self.followed(base)
        listed, others = (
            sql.among(predicates, self.database.dialect, negated=negated) for negated in (False, True)
        )
        again = digest("again", all_of)
        # Several triples have the same place here, so the place does not identify a row.
        some = select([f"w.{column}" for column in sql.ELEMENT], f"{all_of} AS w", listed)
        self.database.put(again, with_next(self.database.ask(some)))
        columns = [*sql.ELEMENT, *sql.AGAIN]
        rest = select([f"w.{column}" for column in columns], f"{own} AS w", others)
        self.database.view(name, f"{rest}\nUNION ALL\n{select(columns, again)}")
        return name

    def seen(
        self, elements: str, window: Window, unseen: int, all_of: str | None = None, more: Sequence[str] = ()
    ) -> str:
        """The elements that a query sees if `unseen` of them came before it was registered. With `all_of`, a
        table of the elements and what they entail, the rows of that table."""
        followed = self.followed(all_of or elements, more)
        if not unseen:
            return followed
        if isinstance(window, LogicalWindow) and self.first_place(elements) > unseen:
            return followed  # all unseen elements are dropped, and a logical window does not count elements
        name = digest("seen", followed, unseen)
        if self.new(name):
            self.database.view(name, sql.seen_sql(followed, unseen, more))
        return name

    def first_place(self, elements: str) -> int:
        if elements not in self._first_place:
            found = self.database.ask(f"SELECT min(place) AS first FROM {elements}")
            self._first_place[elements] = found.column(0)[0].as_py() or 2**62
        return self._first_place[elements]

    def window(
        self,
        window: Window,
        elements: str,
        moves: str | None = None,
        more: Sequence[str] = (),
        sessions: str | None = None,
    ) -> str:
        name = digest("window", elements, window, moves)
        if self.new(name):
            made = self.database.view if moves is None else self.database.make
            if sessions is not None:
                assert moves is not None
                made(name, sql.session_window_sql(sessions, elements, moves, more))
            else:
                made(name, sql.window_sql(window, elements, moves, more))
        return name

    def sessions(self, window: SessionWindow, elements: str, after: int, until: int) -> str:
        """The sessions that are over in a span."""
        name = digest("sessions", elements, window, after, until)
        if self.new(name):
            self.database.make(name, sql.sessions_sql(window, elements, after, until))
        return name

    def held(self, window: LogicalWindow, elements: str) -> list[Interval]:
        """The intervals in which a logical window is not empty."""
        name = digest("held", elements, window)
        if name not in self._held:
            found = self.database.ask(sql.held_sql(window, elements))
            self._held[name] = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        return self._held[name]

    def first_move(self, window: PhysicalWindow, elements: str, until: int) -> list[Interval]:
        """The interval from the first move of a physical window on; the window is never empty again."""
        first = self.database.ask(sql.first_move_sql(window, elements, until)).column(0)[0].as_py()
        return [] if first is None else [(first, 2**62)]

    def last_move(self, window: PhysicalWindow, elements: str, until: int) -> int | None:
        """The time of the last move of a physical window up to a time."""
        found = self.database.ask(sql.last_move_sql(window, elements, until)).column(0)[0].as_py()
        return None if found is None else int(found)

    # --- the default graph -----------------------------------------------------------------------

    def predicates(self, elements: str) -> tuple[str, ...] | None:
        """The predicates of a table of elements; None if there are many."""
        if elements not in self._predicates:
            few = f"SELECT DISTINCT p FROM {elements} LIMIT {MOST_PREDICATES + 1}"
            found = self.database.ask(few).column(0).to_pylist()
            self._predicates[elements] = tuple(sorted(found)) if len(found) <= MOST_PREDICATES else None
        return self._predicates[elements]

    def default(
        self, windows: Sequence[tuple[int, str, str]], dataset: Dataset | None, timed: bool
    ) -> tuple[str, str]:
        """The name of the windows (number, elements, table) of the default graph as one set of triples, and
        the name of the table of those triples that its static part has, too.

        Triples of the static part are left out of the set. If the query is `timed`, which means that it asks
        for the time of its triples, they are in the set, also for the instants at which only the static part
        has them; then the scan of the static part leaves them out.
        """
        default = None if dataset is None else (dataset.default, dataset.entailed)
        parts = windows, default, timed
        name, both, careful = digest("default", *parts), digest("both", *parts), digest("careful", *parts)
        if not self.new(name):
            return name, both
        database, dialect = self.database, self.database.dialect
        static = static_default(dataset, dialect)
        shared, mixed = self.mixed(windows, static)
        tables = [(number, table) for number, _, table in windows]
        times = ["time", *(sql.stream_time(number) for number, _ in tables if timed)]
        columns = [*sql.COLUMNS, *INTERVAL, *times[1:]]
        rows = sql.default_rows(tables, timed, sql.among(shared, dialect))
        nothing = not shared and shared is not None
        if nothing:
            database.view(both, select(["s", "p", "o"], nested(rows, "w"), ["FALSE"]))
        else:
            database.make(both, sql.static_too_sql(rows, static))
        plain = sql.default_rows(tables, timed, sql.among(mixed, dialect, negated=True))
        if mixed == ():
            database.view(name, plain)
            return name, both
        rows = sql.default_rows(tables, timed, sql.among(mixed, dialect))
        if timed:
            always = [f"{bound} AS {column}" for bound, column in zip(ALWAYS, INTERVAL, strict=True)]
            no_times = [f"CAST(NULL AS BIGINT) AS {time}" for time in times]
            rows += "\nUNION ALL\n" + select(["s", "p", "o", no_times[0], *always, *no_times[1:]], both)
        else:
            rows = sql.without_sql(rows, columns, both)
        database.make(careful, sql.disjoint(rows, times) if timed or len(tables) > 1 else rows)
        chosen = select(columns, careful)
        database.view(name, chosen if mixed is None else f"{plain}\nUNION ALL\n{chosen}")
        return name, both

    def mixed(
        self, windows: Sequence[tuple[int, str, str]], static: str
    ) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The predicates that the windows share with the static graph; and these together with the predicates
        that two of the windows share. Only triples with one of the latter can be there twice. None stands for
        all predicates, if a window has too many."""
        found = [self.predicates(elements) for _, elements, _ in windows]
        lists = [predicates for predicates in found if predicates is not None]
        if len(lists) < len(found):
            return None, None
        every = [predicate for predicates in lists for predicate in predicates]
        if not every:
            return (), ()
        listed = ", ".join(map(self.database.dialect.string, sorted(set(every))))
        asked = select(["p"], nested(static, "d"), [f"p IN ({listed})"], distinct=True)
        shared = tuple(sorted(self.database.ask(asked).column(0).to_pylist()))
        twice = {predicate for predicate in every if every.count(predicate) > 1}
        return shared, tuple(sorted(twice.union(shared)))


def of_equal_hash(hashes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The places of the elements that have the same hash as another one."""
    order = np.argsort(hashes)
    same = hashes[order[1:]] == hashes[order[:-1]]
    chosen = np.zeros(len(hashes), dtype=bool)
    chosen[order[1:][same]] = chosen[order[:-1][same]] = True
    return places[chosen]


def with_next(elements: pa.Table, terms: str = "spo") -> pa.Table:
    """Elements with the time and the place of the next element that has the same terms. `terms` are the
    columns to compare, each named by one letter.

    The terms are first made one number, or several if one is too small: to sort strings
    takes many times as long.
    """
    time, place = (elements.column(name).to_numpy() for name in ("time", "place"))
    keys: list[Times] = []
    key, size = np.zeros(len(elements), np.int64), 1
    for name in terms:
        column = elements.column(name).combine_chunks().dictionary_encode()
        if size * len(column.dictionary) > 2**62:
            keys.append(key)
            key, size = np.zeros(len(elements), np.int64), 1
        key = key * len(column.dictionary) + column.indices.to_numpy()
        size *= len(column.dictionary)
    keys.append(key)
    order = np.lexsort((place, *keys))
    same = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    first, following = order[:-1][same], order[1:][same]
    last = np.ones(len(elements), dtype=bool)
    last[first] = False
    for name, values in (("next_time", time), ("next_place", place)):
        found = np.zeros(len(elements), np.int64)
        found[first] = values[following]
        elements = elements.append_column(name, pa.array(found, pa.int64(), mask=last))
    return elements
