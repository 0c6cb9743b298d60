"""The class archive: made by the first Spark of a user, and used by later ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rheos.execute import archive
from tests.conftest import java_is_missing

COMPLETE = bytes.fromhex("a8ab0bf0") + b"classes"
QUERY = "SELECT ?s FROM STREAM <http://ex/s> [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }"
ELEMENT = (
    '<http://ex/a> <http://ex/p> <http://ex/b> "2026-01-01T00:00:01Z"'
    "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
)


def option(folder: Path) -> tuple[str, Path]:
    [given] = archive.options(folder, archive.LASTING)
    name, _, path = given.partition("=")
    return name, Path(path)


def test_an_archive_is_used_when_it_is_complete_and_was_worth_it(tmp_path: Path) -> None:
    name, failed = option(tmp_path)
    assert name == "-XX:ArchiveClassesAtExit"
    failed.write_bytes(COMPLETE)  # of a command that failed before it had done anything
    name, half = option(tmp_path)
    archive.worth_keeping(archive.LASTING)
    half.write_bytes(bytes(100))  # the JVM was killed while it wrote
    name, whole = option(tmp_path)
    assert name == "-XX:ArchiveClassesAtExit"
    archive.worth_keeping(archive.QUICK)  # of other classes
    assert not whole.with_suffix(".worth").exists()
    archive.worth_keeping(archive.LASTING)
    whole.write_bytes(COMPLETE)
    assert option(tmp_path) == ("-XX:SharedArchiveFile", tmp_path / "lasting.jsa")
    assert (tmp_path / "lasting.jsa").read_bytes() == COMPLETE
    assert archive.options(tmp_path, archive.QUICK)[0].startswith("-XX:ArchiveClassesAtExit")


def test_remains_go_and_what_nobody_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = Path(sys.executable)
    old = tmp_path / "rheos" / "spark" / "0123"
    old.mkdir(parents=True)
    (old / "lasting.jsa").write_bytes(COMPLETE)
    os.utime(old, (0, 0))
    folder = archive.folder_of(tmp_path, java)
    assert folder is not None
    assert folder == archive.folder_of(tmp_path, java)
    assert not old.exists()
    _, left = option(folder)
    left.write_bytes(bytes(100))
    os.utime(left, (0, 0))
    option(folder)
    assert not left.exists()


def test_without_a_folder_of_the_user_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert archive.folder_of(Path(sys.prefix), Path(sys.executable)) is None


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_the_second_run_maps_the_archive_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    command = [sys.executable, "-m", "rheos", "run", str(tmp_path / "q.rq"), "--stream", "http://ex/s=-"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    answers, mapped = [], []
    for _ in range(2):
        with subprocess.Popen(
            [*command, "--format", "csv"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(ELEMENT + ELEMENT.replace("01Z", "09Z"))
            process.stdin.flush()
            answers.append([process.stdout.readline() for _ in range(2)])
            children = psutil.Process(process.pid).children(recursive=True)
            [jvm] = [child for child in children if child.name() == "java"]
            mapped.append(any("lasting.jsa" in kept.path for kept in jvm.memory_maps()))
            process.stdin.close()
        psutil.wait_procs([jvm], timeout=120)  # it writes the archive after its last command
        time.sleep(0.1)
    assert answers[0] == answers[1]
    assert mapped == [False, True]
