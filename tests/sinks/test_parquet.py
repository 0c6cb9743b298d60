"""Parquet as a sink: names that make repetitions harmless, other file systems, folders that take nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rheos.filesystems import file_system
from tests.cluster.cluster import make_bucket, s3_server
from tests.sinks.deliveries import GRAPH, QUERY, Bench, answers, triples, wait

DAY = 24 * 3600


def values(folder: str | Path) -> list[int]:
    return sorted(ds.dataset(str(folder)).to_table().column("x").to_pylist())


def test_a_batch_that_comes_again_replaces_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = Bench(tmp_path / "state").add(f"parquet:{folder}").recover()
    first.say(answers(DAY - 5, 10))
    first.drain()
    first.close()
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))
    assert [file.rpartition("/")[0] for file in files] == [
        "query=high/day=1970-01-01",
        "query=high/day=1970-01-02",
    ]
    again = Bench(tmp_path / "state").add(f"parquet:{folder}")
    again.sinks.put(0, [(QUERY, answers(DAY - 5, 10))])
    again.recover(0)
    again.say(answers(DAY + 5, 1))
    again.drain()
    again.close()
    assert values(folder / "query=high") == list(range(DAY - 5, DAY + 6))
    # Another run with a folder of its own does not touch them.
    other = Bench(tmp_path / "other").add(f"parquet:{folder}").recover()
    other.say(answers(0, 1))
    other.drain()
    other.close()
    assert len(values(folder / "query=high")) == 12


def test_a_folder_that_cannot_be_written_is_waited_for(tmp_path: Path) -> None:
    blocked = tmp_path / "out"
    blocked.write_text("a file where a folder should be")
    bench = Bench(tmp_path / "state").add(f"parquet:{blocked}").recover()
    bench.say(answers(0, 5))
    wait(lambda: bench.metrics().trouble, "it cannot be written")
    blocked.unlink()
    bench.drain()
    bench.close()
    assert values(blocked / "query=high") == list(range(5))
    assert not [path for path in blocked.rglob("*") if path.is_file() and path.name.startswith("_")]


def test_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server(tmp_path) as address:
        make_bucket(address, "answers")
        told = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
        for name, value in {**told, "AWS_DEFAULT_REGION": "us-east-1", "AWS_REGION": "us-east-1"}.items():
            monkeypatch.setenv(name, value)
        file_system.cache_clear()
        bench = Bench(tmp_path / "state").add("parquet:s3://answers/here").recover()
        bench.say(answers(0, 5))
        bench.say(answers(5, 5))
        bench.drain()
        bench.close()
        system, root = file_system("s3://answers/here")
        found = ds.dataset(f"{root}/query=high", filesystem=system).to_table()
        file_system.cache_clear()
    assert sorted(found.column("x").to_pylist()) == list(range(10))


def test_terms_are_structs_on_demand(tmp_path: Path) -> None:
    bench = (
        Bench(tmp_path / "state").add(f"parquet:{tmp_path}/out", GRAPH, options={"terms": "true"}).recover()
    )
    bench.say(triples(0, 1), GRAPH)
    bench.drain()
    bench.close()
    [file] = (tmp_path / "out").rglob("*.parquet")
    [row] = pq.ParquetFile(file).read().to_pylist()
    assert row["subject"] == {"type": "uri", "value": "http://ex/s0", "datatype": None, "lang": None}
