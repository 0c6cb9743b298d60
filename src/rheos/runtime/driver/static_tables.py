"""Static tables: the answers of the static parts of queries, as tables in the state store.

The driver fills a table when a query first needs it, and again when one of the graphs that it reads has
changed, or the constants of its family have. Tasks read the files, and keep the tables for the next batch.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Variable
from rheos.algebra.families import Family
from rheos.algebra.nodes import Join, Query, Values
from rheos.deadline import within
from rheos.execute.base import Executor
from rheos.optimize import optimize
from rheos.optimize.flows import Size
from rheos.optimize.static_parts import DEFAULT, EVERY, Derivations, Part
from rheos.runtime.plan import StaticTable
from rheos.runtime.state.store import Store
from rheos.sql.statement import compile_query
from rheos.store.graphs import StaticGraphs
from rheos.store.schema import restricted as matching

# After so many attempts to fill all tables from one version of the data, tables of several versions are used.
TRIES = 5
FOLDER = "static"


class Unfilled(Exception):
    """A table cannot be filled. `member` is the number of the family's member that is to blame; if it is
    None, all queries that need the table are."""

    def __init__(self, table: str, member: int | None, error: Exception) -> None:
        super().__init__(str(error).strip() or type(error).__name__)
        self.table = table
        self.member = member


@dataclass
class StaticTables:
    """The static tables in the state store, as the driver knows them; `executor` runs their queries."""

    graphs: StaticGraphs
    store: Store
    executor: Callable[[], Executor]
    tables: dict[str, tuple[object, StaticTable]] = field(default_factory=dict)
    milliseconds: float = 0.0  # how long it took when tables were last filled

    def begin(self) -> None:
        """Delete the tables of an earlier run, whose graphs may have been different."""
        self.store.delete(self.store.names(FOLDER))

    def up_to_date(
        self, parts: Iterable[tuple[Family | None, Part]], limit: float | None = None
    ) -> dict[str, StaticTable]:
        """The tables of these parts. Those that are out of date are filled again, and tables of other parts
        are deleted. If the data changes meanwhile, this is repeated, so that all tables are of one version.
        Each table may take `limit` seconds. Unfilled if a table cannot be filled."""
        wanted = list(parts)
        for _ in range(TRIES):
            version = self.graphs.version
            found = self._up_to_date(wanted, limit)
            if self.graphs.version == version:
                break
        return found

    def _up_to_date(
        self, parts: Sequence[tuple[Family | None, Part]], limit: float | None
    ) -> dict[str, StaticTable]:
        began, filled = time.perf_counter(), False
        # A table whose part has constants belongs to only one family.
        wanted = {part.table: (family, part) for family, part in parts}
        needed: dict[str, tuple[object, StaticTable]] = {}
        for family, part in wanted.values():
            constants = constants_of(family, part)
            state = (constants, self._state(part))
            known = self.tables.get(part.table)
            if known is None or known[0] != state:
                try:
                    with within(limit):
                        known, filled = (state, self._filled(part, constants)), True
                except Exception as error:
                    raise Unfilled(part.table, self._guilty(family, part, limit), error) from error
            needed[part.table] = known
        used = {table.file for _, table in needed.values()}
        self.store.delete(table.file for _, table in self.tables.values() if table.file not in used)
        self.tables = needed
        if filled:
            self.milliseconds = (time.perf_counter() - began) * 1000
        return {name: table for name, (_, table) in needed.items()}

    def _guilty(self, family: Family | None, part: Part, limit: float | None) -> int | None:
        """The number of the family's member whose constants alone make the table fail;
        None if there is none."""
        if family is None or len(family.rows) < 2 or constants_of(family, part) is None:
            return None
        for number, row in enumerate(family.rows):
            try:
                with within(limit):
                    self._filled(part, constants_of(replace(family, rows=(row,)), part))
            except Exception:
                return number
        return None

    def _state(self, part: Part) -> object:
        """The versions of all that a table is filled from: it is out of date when they have changed."""
        if isinstance(part, Derivations):
            return self.graphs.entailments.known(part.schema).number
        return tuple(sorted((graph, self._version(graph)) for graph in part.reads))

    def _version(self, graph: str) -> int:
        if graph == EVERY:
            return self.graphs.named_version
        return self.graphs.version_of(None if graph == DEFAULT else graph[1:-1])

    def _filled(self, part: Part, constants: Values | None) -> StaticTable:
        if isinstance(part, Derivations):
            all_derivations = self.graphs.entailments.closure(part.schema).derivations
            found = matching(all_derivations, part.patterns)
            return StaticTable(self._written(part, found), Size(len(found)))
        executor = self.executor()
        query = restricted(part.query, constants)
        plan = optimize(query, self.graphs.statistics_for(query))
        rows = executor.run(compile_query(plan, executor.dialect))
        different = {
            name: float(max(1, pc.count_distinct(rows.column(at)).as_py()))
            for at, name in enumerate(part.variables)
        }
        columns = [f"c{at}" for at in range(1, len(part.variables) + 1)]
        table = rows.rename_columns(columns) if columns else pa.table({"unit": [1] * len(rows)})
        return StaticTable(self._written(part, table), Size(len(rows), different))

    def _written(self, part: Part, table: pa.Table) -> str:
        name = f"{FOLDER}/{part.table}-{uuid.uuid4().hex[:12]}.arrow"
        self.store.write_table(name, table)
        return name


def constants_of(family: Family | None, part: Part) -> Values | None:
    """The different constants of a family's members that a part reads, in order; None if it reads none."""
    names = [name for name in family.variables if name in part.variables] if family is not None else []
    if family is None or not names:
        return None
    places = [family.variables.index(name) for name in names]
    rows = sorted({tuple(row[at] for at in places) for row in family.rows})
    return Values(tuple(map(Variable, names)), tuple(rows))


def restricted(query: Query, constants: Values | None) -> Query:
    """The query of a part, restricted to these constants."""
    if constants is None:
        return query
    return replace(query, form=replace(query.form, pattern=Join(constants, query.form.pattern)))
