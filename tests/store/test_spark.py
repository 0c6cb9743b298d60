"""The same graphs in Spark: as views of what DuckDB holds, and read in parallel from large files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rheos.errors import EnvironmentFault, LoadError
from rheos.spark import adopt
from rheos.store import parallel as reading
from rheos.store.documents import documents
from rheos.store.graphs import StaticGraphs
from tests.store.test_graphs import quads, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return adopt(spark)


@pytest.fixture
def parallel(session: SparkSession) -> Iterator[StaticGraphs]:
    """Graphs for which every file is large."""
    graphs = StaticGraphs(lambda: session, parallel_bytes=0)
    yield graphs
    graphs.close()


def spark_rows(graphs: StaticGraphs, session: SparkSession, table: str) -> list[tuple[str, ...]]:
    graphs.views(session)
    return sorted(tuple(row) for row in session.table(table).collect())


def test_views_follow_the_version(session: SparkSession) -> None:
    graphs = StaticGraphs()
    assert spark_rows(graphs, session, "default_graph") == []
    graphs.load(data="<a:s> <a:p> <a:o> .", format="turtle")
    graphs.load(data="<a:s> <a:p> <a:o> .", format="turtle", graph="a:g")
    assert spark_rows(graphs, session, "default_graph") == [("<a:s>", "<a:p>", "<a:o>")]
    assert spark_rows(graphs, session, "named_graphs") == [("<a:g>", "<a:s>", "<a:p>", "<a:o>")]
    assert spark_rows(graphs, session, "graph_names") == [("<a:g>",)]
    before = session.table("default_graph")
    graphs.views(session)
    assert session.table("default_graph").sameSemantics(before)
    graphs.clear()
    assert spark_rows(graphs, session, "default_graph") == []
    graphs.close()


def test_views_of_many_rows(session: SparkSession) -> None:
    graphs = StaticGraphs()
    graphs.load(data="".join(f"<a:s{n}> <a:p> <a:o> .\n" for n in range(30_000)), format="nt")
    graphs.views(session)
    assert session.table("default_graph").count() == 30_000
    graphs.close()


def test_files_read_in_parallel(parallel: StaticGraphs, session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a b.nt").write_text("# first\n" + '<a:s> <a:p> _:x .\n_:x <a:p> "\\t"@EN .\n' * 1000)
    (tmp_path / "b[1].nt.gz").write_bytes(gzip.compress(b"<a:s> <a:p> _:x .\r\n" * 10))
    (tmp_path / "c.nq").write_text("<a:s> <a:p> _:x <a:g> .\n<a:s> <a:p> <a:o> .\n")
    (tmp_path / "d.ttl").write_text("<a:s> <a:p> <a:o>, _:x .")
    assert parallel.load(tmp_path / "*") == 6
    assert parallel.in_spark
    assert parallel.size == 6
    assert parallel.load(data="<a:s> <a:p> <a:o> .\n<a:new> <a:p> <a:o> .", format="nt") == 1
    assert parallel.size == 7
    default = spark_rows(parallel, session, "default_graph")
    assert len(default) == len(set(default)) == 6
    labels = {o for _, _, o in default if o.startswith("_:")}
    assert len(labels) == 3
    assert {s for s, _, o in default if o == '"\t"@en'} <= labels
    ((graph, _, _, label),) = spark_rows(parallel, session, "named_graphs")
    assert graph == "<a:g>"
    assert label not in labels
    assert parallel.graph_names == ["<a:g>"]
    assert parallel.statistics.predicates["<a:p>"].triples == 7


def test_what_spark_keeps_can_be_brought_in(
    parallel: StaticGraphs, session: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "data.nq"
    path.write_text("".join(f"<a:s{n}> <a:p> <a:o> {'<a:g>' * (n % 2)} .\n" for n in range(1000)))
    assert parallel.load(path) == 1000
    assert parallel.load(path) == 0
    assert parallel.in_spark
    assert len(rows(parallel, "default_graph")) == 500
    assert not parallel.in_spark
    assert len(rows(parallel, "named_graphs")) == 500
    assert (parallel.size, parallel.graph_names) == (1000, ["<a:g>"])
    assert len(spark_rows(parallel, session, "named_graphs")) == 500
    assert parallel.load(path) == 0


def test_changes_of_what_spark_keeps(parallel: StaticGraphs, session: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text("<a:1> <a:p> <a:o> .\n<a:2> <a:p> <a:o> .\n")
    parallel.load(path)
    parallel.insert(quads((None, "<a:3>", "<a:p>", "<a:o>"), (None, "<a:1>", "<a:p>", "<a:o>")))
    assert parallel.size == 3
    gone = quads((None, "<a:1>", "<a:p>", "<a:o>"), (None, "<a:3>", "<a:p>", "<a:o>"))
    assert parallel.delete(gone) == 2
    assert spark_rows(parallel, session, "default_graph") == [("<a:2>", "<a:p>", "<a:o>")]
    assert parallel.in_spark
    parallel.clear()
    assert (parallel.size, parallel.in_spark) == (0, False)


def test_a_given_graph_takes_the_default_part(
    parallel: StaticGraphs, session: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "data.nq"
    path.write_text("<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:h> .\n")
    assert parallel.load(path, graph="a:g") == 2
    assert [row[0] for row in spark_rows(parallel, session, "named_graphs")] == ["<a:g>", "<a:h>"]
    assert [row[0] for row in spark_rows(parallel, session, "graph_names")] == ["<a:g>", "<a:h>"]


@pytest.mark.parametrize("files", [1, 2])
def test_broken_lines_are_found(files: int, parallel: StaticGraphs, tmp_path: Path) -> None:
    path = tmp_path / "bad one.nt"
    path.write_text("<a:s> <a:p> <a:o> .\n" * 999 + "<a:s> <a:p> o .\n" + "<a:s> <a:p> <a:o> .\n" * 9)
    if files == 2:
        (tmp_path / "good.nt").write_text("<a:s> <a:p> <a:o> .\n")
    with pytest.raises(LoadError) as caught:
        parallel.load(tmp_path / "*.nt")
    assert (caught.value.source, caught.value.line) == (str(path), 1000)
    assert caught.value.reason == "The object of a triple must be an IRI, a blank node or a literal"
    assert parallel.size == 0


def test_broken_files_are_found(parallel: StaticGraphs, tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"<a:s%d> <a:p> <a:o> .\n" % n for n in range(10_000)))
    (tmp_path / "cut.nt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LoadError, match="ends too early"):
        parallel.load(tmp_path / "cut.nt.gz")
    (tmp_path / "binary.nt").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff\xfe" * 100)
    with pytest.raises(LoadError, match=r"binary.nt, line 1: .*UTF-8"):
        parallel.load(tmp_path / "binary.nt")
    assert parallel.size == 0


def test_any_name_and_any_packing(parallel: StaticGraphs, tmp_path: Path) -> None:
    (tmp_path / "_hidden.nt").write_text("<a:1> <a:p> <a:o> .\n")
    (tmp_path / "packed.nt").write_bytes(gzip.compress(b"<a:2> <a:p> <a:o> .\n"))
    (tmp_path / "é [x].nt").write_text("\ufeff<a:3> <a:p> <a:o> .")
    (tmp_path / "empty.nt").write_text("")
    assert parallel.load(tmp_path / "*.nt") == 3
    assert parallel.in_spark


def test_parts_begin_and_end_with_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts = [f"<a:s{n}> <a:p> <a:o> .\n" for n in range(50)]
    path = tmp_path / "data.nt"
    path.write_text("".join(texts))
    for size in (1, 2, 19, 20, 21, 22, 100, 10_000):
        monkeypatch.setattr(reading, "_SHARE_BYTES", size)
        monkeypatch.setattr(reading, "PIECE_BYTES", 33)
        (document,) = documents(path)
        parts = [part for share in reading._shares([document], "f1_") for part in share]
        found = [line for part in parts for piece in reading._pieces_of(part) for line in piece.to_pylist()]
        assert found == texts


def test_faults_in_later_parts_have_their_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text("".join("<a:s> <a:p> <a:o> .\n" if n != 33 else "wrong\n" for n in range(50)))
    for size in (1, 19, 20, 21, 100, 10_000):
        monkeypatch.setattr(reading, "_SHARE_BYTES", size)
        (document,) = documents(path)
        shares = tuple(reading._shares([document], "f1_"))
        numbers = pa.record_batch({"id": pa.array(range(len(shares)))})
        rows = pa.Table.from_batches(reading.ReadShares(shares, None)(iter([numbers]))).to_pylist()
        (fault,) = [row for row in rows if row["s"] is None]
        error = reading._load_error([document], fault["g"], fault["p"], fault["o"])
        assert (error.source, error.line) == (str(path), 34)


def test_without_java_large_files_are_read_here(tmp_path: Path) -> None:
    def no_spark() -> SparkSession:
        raise EnvironmentFault("no Java")

    graphs = StaticGraphs(no_spark, parallel_bytes=0)
    (tmp_path / "data.nt").write_text("<a:s> <a:p> <a:o> .\n")
    assert graphs.load(tmp_path / "data.nt") == 1
    graphs.close()
