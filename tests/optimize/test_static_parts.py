"""Static parts of CQELS-QL queries: what is left to tables, what these read, and when they are filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.optimize.static_parts import DEFAULT, EVERY, has_static
from rheos.runtime.cqels.operator import CqelsFamily, CqelsOperator, Prepared
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.plan import Registered, StaticTable, families
from rheos.runtime.state.store import Store
from rheos.sql.duckdb import DUCKDB
from rheos.sql.statement import Statement
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.store.test_graphs import quads as as_quads

STREAM = "STREAM <s> [NOW] { ?a :p ?b }"


def registered(text: str, name: str = "q") -> Registered:
    query = translate_cqels(parse(f"PREFIX : <http://ex/> {text}", "cqels"), name, "http://ex/", ())
    return Registered(QueryInfo(name, "select"), CqelsOperator.of(query))


def prepared(where: str, clauses: str = "") -> Prepared:
    return Prepared.of(registered(f"SELECT * {clauses} {{ {STREAM} {where} }}").operator.query)


def graph(name: str) -> str:
    return f"<http://ex/{name}>"


# --- what is kept, and of which graphs ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "clauses", "reads"),
    [
        ("?b :s ?c", "", [{DEFAULT}]),
        ("?b :s+ ?c", "", [{DEFAULT}]),
        ("GRAPH :g { ?b :s ?c }", "", [{graph("g")}]),
        ("GRAPH ?g { ?b :s ?c }", "", [{EVERY}]),
        ("?b :s ?c . GRAPH :g { ?c :s ?d }", "", [{DEFAULT, graph("g")}]),
        ("{ ?b :s ?c } UNION { GRAPH :g { ?b :s ?c } }", "", [{DEFAULT, graph("g")}]),
        ("{ ?b :s ?c OPTIONAL { GRAPH :g { ?c :s ?d } } }", "", [{DEFAULT, graph("g")}]),
        ("{ ?b :s ?c FILTER NOT EXISTS { GRAPH :g { ?c :s ?d } } }", "", [{DEFAULT, graph("g")}]),
        ("{ SELECT ?b { GRAPH :g { ?b :s ?c } } }", "", [{graph("g")}]),
        ("{ ?b :s ?c MINUS { GRAPH ?g { ?b :s ?c } } }", "", [{DEFAULT, EVERY}]),
        # The graphs of FROM are the default graph; with FROM NAMED alone it stays what it is.
        ("?b :s ?c", "FROM :h FROM :i", [{graph("h"), graph("i")}]),
        ("?b :s ?c . GRAPH :g { ?c :s ?d }", "FROM :h FROM NAMED :g", [{graph("h"), graph("g")}]),
        ("?b :s ?c", "FROM NAMED :g", [{DEFAULT}]),
        # What shares no variable is not multiplied, and need not be of one table.
        ("?a :s ?c . ?b :t ?d", "", [{DEFAULT}, {DEFAULT}]),
        ("?a :s ?c . ?b :t ?d . ?d :u ?c", "", [{DEFAULT}]),
        ("?a :s ?c . GRAPH :g { ?b :t ?d . ?e :t ?f }", "", [{DEFAULT}, {graph("g")}, {graph("g")}]),
        ("OPTIONAL { GRAPH :g { ?b :s ?c } } ?a :s ?d", "", [{graph("g")}, {DEFAULT}]),
        ("MINUS { ?b :s ?c }", "", [{DEFAULT}]),
        ("VALUES ?b { :x }", "", []),
        ("", "", []),
    ],
)
def test_graphs_that_a_part_reads(where: str, clauses: str, reads: list[set[str]]) -> None:
    found = prepared(where, clauses)
    assert sorted(sorted(part.reads) for part in found.parts) == sorted(map(sorted, reads))
    assert not found.asks_graphs
    assert not has_static(found.pattern)


def test_what_looks_at_the_row_outside_stays() -> None:
    found = prepared("FILTER EXISTS { ?b :s ?c }")
    assert found.parts == ()
    assert found.asks_graphs


def test_queries_share_the_tables_of_what_they_ask_alike() -> None:
    one, other = prepared("?b :s ?c"), prepared("?b :s ?c FILTER (?a != ?b)")
    (shared,) = {part.table for part in (*one.parts, *other.parts)}
    (apart,) = prepared("?b :s ?c", "FROM :g").parts
    assert apart.table != shared


# --- when tables are filled ---------------------------------------------------------------------------------


class Counting:
    """An executor that takes down what it is asked, and may do something else after the first answer."""

    name, where, dialect = "counting", "here", DUCKDB

    def __init__(self, graphs: StaticGraphs) -> None:
        self.local = Local(graphs)
        self.asked: list[str] = []
        self.then: Callable[[], None] | None = None

    def run(self, statement: Statement) -> pa.Table:
        self.asked.append(statement.sql)
        found = self.local.run(statement)
        then, self.then = self.then, None
        if then is not None:
            then()
        return found


@dataclass
class Tables:
    """The tables of queries, and what each was filled with."""

    graphs: StaticGraphs
    folder: Path

    def __post_init__(self) -> None:
        self.executor = Counting(self.graphs)
        self.kept = StaticTables(self.graphs, Store(uri_of(self.folder)), lambda: self.executor)

    def fill(self, queries: Sequence[Registered]) -> tuple[dict[str, StaticTable], int]:
        """The tables that the queries need, and how many had to be filled."""
        before = len(self.executor.asked)
        found = self.kept.up_to_date(part for family in families(queries) for part in family.static_parts)
        return found, len(self.executor.asked) - before

    def rows(self, queries: Sequence[Registered]) -> list[set[tuple[str, ...]]]:
        """What the table of each family has, in the order of the families; each has one part."""
        found, _ = self.fill(queries)
        parts = [part for family in families(queries) for _, part in family.static_parts]
        tables = [self.kept.store.table(found[part.table].file) for part in parts]
        return [set(zip(*(column.to_pylist() for column in table.columns), strict=True)) for table in tables]


@pytest.fixture
def graphs() -> StaticGraphs:
    graphs = StaticGraphs()
    for name in (None, "g", "h"):
        data = "".join(f"<http://ex/x{n}> <http://ex/name> <http://ex/{name}{n}> .\n" for n in range(5))
        graphs.load(data=data, format="turtle", graph=None if name is None else f"http://ex/{name}")
    return graphs


@pytest.fixture
def tables(graphs: StaticGraphs, tmp_path: Path) -> Tables:
    return Tables(graphs, tmp_path)


def add(graphs: StaticGraphs, name: str | None, what: str) -> None:
    data = f"<http://ex/{what}> <http://ex/name> <http://ex/new> ."
    graphs.load(data=data, format="turtle", graph=None if name is None else f"http://ex/{name}")


QUERIES = [
    registered(f"SELECT * {{ {STREAM} {where} }}", f"q{number}")
    for number, where in enumerate(
        ["?b :name ?c", "GRAPH :g { ?b :name ?c }", "GRAPH :h { ?b :name ?c } GRAPH ?g { ?a :name ?d }"]
    )
]


@pytest.mark.parametrize(("changed", "filled"), [(None, 1), ("g", 2), ("h", 2), ("other", 1)])
def test_a_change_of_a_graph_fills_the_tables_that_read_it(
    tables: Tables, graphs: StaticGraphs, changed: str | None, filled: int
) -> None:
    before, first = tables.fill(QUERIES)
    assert (len(before), first) == (4, 4)
    assert tables.fill(QUERIES) == (before, 0)
    add(graphs, changed, "y")
    after, again = tables.fill(QUERIES)
    assert again == filled
    same = {name for name in after if after[name] == before[name]}
    assert len(same) == 4 - filled
    # Of each table the file that is used is there, and no other.
    assert set(tables.kept.store.names("static")) == {table.file for table in after.values()}
    # What is there already changes nothing.
    add(graphs, changed, "y")
    assert tables.fill(QUERIES) == (after, 0)


def test_what_no_query_needs_is_forgotten(tables: Tables) -> None:
    tables.fill(QUERIES)
    found, filled = tables.fill(QUERIES[:1])
    assert (len(found), filled, len(list(tables.folder.iterdir()))) == (1, 0, 1)


def named(number: int, window: str = "NOW") -> Registered:
    text = f"SELECT * {{ STREAM <s> [{window}] {{ ?a :p ?b }} ?b :name <None{number}> }}"
    return registered(text, f"{window}{number}")


def test_a_family_has_the_rows_of_its_constants(tables: Tables) -> None:
    (rows,) = tables.rows([named(1), named(3)])
    assert {row[0] for row in rows} == {graph("None1"), graph("None3")}
    assert len(rows) == 2
    # One more with a constant that is known already, or with another.
    assert tables.fill([named(1), named(3)])[1] == 0
    double = registered(named_text(3), "again")
    assert tables.fill([named(1), named(3), double])[1] == 0
    assert tables.fill([named(1), named(3), named(4)])[1] == 1
    (rows,) = tables.rows([named(1), named(3), named(4)])
    assert len(rows) == 3


def named_text(number: int) -> str:
    return f"SELECT * {{ STREAM <s> [NOW] {{ ?a :p ?b }} ?b :name <None{number}> }}"


def test_families_with_the_same_part_have_each_their_own_constants(tables: Tables) -> None:
    queries = [named(1), named(2), named(3, "ALL"), named(4, "ALL")]
    assert len(families(queries)) == 2
    one, other = tables.rows(queries)
    assert {row[0] for row in one} == {graph("None1"), graph("None2")}
    assert {row[0] for row in other} == {graph("None3"), graph("None4")}
    assert tables.fill(queries)[1] == 0


def test_another_first_member_changes_no_table(tables: Tables) -> None:
    tables.fill([named(1), named(2), named(3)])
    assert tables.fill([named(3), named(2), named(1)])[1] == 0
    assert CqelsFamily.of([named(3), named(2)]).members == ("NOW3", "NOW2")


def test_data_that_changes_while_tables_are_filled(tables: Tables, graphs: StaticGraphs) -> None:
    """All the tables of a batch are of one state."""

    def meanwhile() -> None:
        with graphs.revise() as revision:
            triple = graph("y"), graph("name"), graph("n")
            revision.change(insert=as_quads((None, *triple), (graph("g"), *triple)))

    tables.executor.then = meanwhile
    found, _ = tables.fill(QUERIES[:2])
    one, other = (
        set(tables.kept.store.table(table.file).column("c1").to_pylist()) for table in found.values()
    )
    assert graph("y") in one & other
