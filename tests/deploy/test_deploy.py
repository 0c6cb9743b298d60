"""The files in `deploy/`: they can be read, fit together and fit this version. What needs a container engine
or a cluster is not tried here; docs/deployment.md says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pyspark
import pytest
import yaml

from rheos.execute.session import kafka_coordinates
from rheos.processes import text, tree
from rheos.server import push
from rheos.server.config import Config, config_of
from rheos.sources.decoding import Decoding
from tests.conftest import java_is_missing
from tests.server.city import wait
from tests.server.conftest import serving

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WHEEL = f"rheos-{VERSION}-py3-none-any.whl"


def test_the_service_of_systemd(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not on this machine")
    text = (DEPLOY / "systemd" / "rheos.service").read_text()
    command = shutil.which("true")
    assert text.count("/opt/rheos/bin/rheos serve") == 1
    unit = tmp_path / "rheos.service"
    unit.write_text(text.replace("ExecStart=/opt/rheos/bin/rheos", f"ExecStart={command}"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    # Other units of the machine may have mistakes of their own.
    assert [line for line in done.stderr.splitlines() if "rheos" in line] == []


def test_the_wheel_has_the_name_that_is_written_down() -> None:
    for file in (ROOT / "docs" / "deployment.md", DEPLOY / "systemd" / "rheos.service"):
        assert re.findall(r"[\w.-]+\.whl", file.read_text()) == [WHEEL]
    assert "hatchling build --target wheel" in (ROOT / "Makefile").read_text()


def test_options_in_the_files_are_those_of_the_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "rheos", "serve", "--help"], capture_output=True, text=True, timeout=60
    ).stdout
    files = [DEPLOY / "systemd" / "rheos.service", *DEPLOY.glob("*/*.yaml")]
    used = {
        option
        for file in files
        for option in re.findall(r"(--(?:config|token|data)[a-z-]*)", file.read_text())
    }
    assert used == {"--config", "--data-dir", "--token-file"}
    assert all(option in shown for option in used)


@pytest.mark.parametrize("path", ["Containerfile", "kubernetes/Containerfile"])
def test_images_are_made_of_what_is_here(path: str) -> None:
    text = (DEPLOY / path).read_text()
    copied = [line.split()[1:-1] for line in text.splitlines() if re.match(r"COPY (?!--)", line)]
    assert copied
    assert all((ROOT / name).exists() for names in copied for name in names)
    assert re.search(r"^USER (10001|spark)$", text, re.MULTILINE)
    assert "TOKEN=" not in text.replace("the line RHEOS_TOKEN=…", "")  # it would be in the list of processes


def test_the_compose_file_mounts_what_is_here() -> None:
    folder = DEPLOY / "compose"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    assert {"rheos", "kafka", "mosquitto", "prometheus", "grafana"} == services.keys()
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())]
    files = [name for name in mounted if name.startswith(".")]
    assert len(files) == 6
    assert all((folder / name).is_file() for name in files)
    given = {**tomllib.loads((folder / "rheos.toml").read_text()), "token": "correct-horse"}
    config = config_of(given, folder=folder)
    assert [query.name for query in config.queries] == ["busy"]
    assert [(stream.name, stream.is_push) for stream in config.streams] == [
        ("posts", True),
        ("sensors", False),
    ]
    decoding = Decoding(config.streams[1].mapping, config.streams[1].time, "http://ex.org/")
    [record] = re.findall(r"-m '(.*)'", (folder / "rheos.toml").read_text())
    chunk = push.read_records(record.encode(), "json", decoding)
    assert (chunk.elements.num_rows, len(chunk.bad)) == (1, 0)


def test_the_manifests_of_kubernetes() -> None:
    parts = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "server.yaml").read_text()))
    assert [part["kind"] for part in parts] == ["ConfigMap", "Service", "StatefulSet"]
    config_of(tomllib.loads(parts[0]["data"]["rheos.toml"]))
    pod = parts[2]["spec"]["template"]["spec"]
    assert pod["enableServiceLinks"] is False  # they would set RHEOS_PORT
    [container] = pod["containers"]
    assert container["image"] == f"rheos:{VERSION}"
    # A wrong query makes /health 503, and is mended over HTTP: no probe may stop that.
    probed = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe")}
    assert probed == {"/openapi.json"}
    assert container["livenessProbe"]["tcpSocket"] == {"port": "http"}
    names = {volume["name"] for volume in pod["volumes"]} | {"state"}
    assert names == {mount["name"] for mount in container["volumeMounts"]}
    job = yaml.safe_load((DEPLOY / "kubernetes" / "spark-application.yaml").read_text())
    assert job["spec"]["image"] == f"rheos-spark:{VERSION}"


def test_the_job_has_the_packages_of_its_spark() -> None:
    spec = yaml.safe_load((DEPLOY / "kubernetes" / "spark-application.yaml").read_text())["spec"]
    image = (DEPLOY / "kubernetes" / "Containerfile").read_text()
    jars = Path(pyspark.__file__).parent / "jars"
    [hadoop] = jars.glob("hadoop-client-api-*.jar")
    assert spec["sparkVersion"] == pyspark.__version__
    assert f"FROM spark:{pyspark.__version__}-" in image
    assert f"pyspark=={pyspark.__version__}" in image
    assert spec["deps"]["packages"] == [
        kafka_coordinates(),
        f"org.apache.hadoop:hadoop-aws:{hadoop.stem.removeprefix('hadoop-client-api-')}",
    ]
    # Spark asks the interpreter that these name, in the driver and in the executors.
    assert all(
        f"{name}=/opt/rheos/bin/python" in image for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    )
    assert spec["sparkConf"]["spark.hadoop.fs.s3a.aws.credentials.provider"].endswith(
        ".DefaultCredentialsProvider"
    )
    assert len(spec["arguments"]) == 3


def test_the_dashboard_shows_metrics_that_there_are(tmp_path: Path) -> None:
    panels = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"rheos_\w+", target["expr"])
    }
    known = set[str]()
    for http in serving(Config(port=0, state=tmp_path)):
        known = set(re.findall(r"^# TYPE (rheos_\w+) ", http.get("/metrics").text, re.MULTILINE))
    assert {re.sub(r"_seconds_(bucket|count|sum)$", "_seconds", name) for name in asked} <= known
    assert {"rheos_process_memory_bytes", "rheos_dead_letters_total", "rheos_batch_seconds_bucket"} <= asked


@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
@pytest.mark.slow
def test_the_job_runs_on_spark(tmp_path: Path) -> None:
    stream = tmp_path / "posts.nq"
    stream.write_text(
        "".join(
            f'<http://ex/{n % 3}> <http://ex/posts> <http://ex/p{n}> "2026-01-01T00:00:{n:02}Z"'
            "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
            for n in range(60)
        )
    )
    job, answers = DEPLOY / "kubernetes" / "job.py", tmp_path / "answers"
    command = [sys.executable, job, stream, tmp_path / "checkpoint", answers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "checkpoint").rglob("*.json"))
    assert list((answers / "query=busy").rglob("*.parquet"))


def installed(package: Path, folder: Path) -> set[str]:
    """The files of rheos that a package installs; a source is built by what this environment has."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", folder]
    command = [sys.executable, "-m", "pip", "install", *options, package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {path.relative_to(folder).as_posix() for path in (folder / "rheos").rglob("*") if path.is_file()}
    assert {"rheos/cli/app.py", "rheos/server/pages/static/rheos.css", "rheos/syntax/cqels.lark"} <= found
    return {name for name in found if not name.endswith(".pyc")}


@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
@pytest.mark.slow
def test_the_wheel_runs_without_the_checkout(tmp_path: Path) -> None:
    """The steps of the Containerfile, in a plain folder: build, install into an empty environment, serve."""
    build = [sys.executable, "-m", "hatchling", "build", "--directory", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel], [source] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert installed(wheel, tmp_path / "of-wheel") == installed(source, tmp_path / "of-source")
    assert wheel.name == WHEEL
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True, timeout=120)
    binaries = tmp_path / "env" / "bin"
    install = [binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[server,kafka,mqtt]"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RHEOS_"))}
    demo = subprocess.run(
        [binaries / "rheos", "demo", "--for", "15s", "--port", "0"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert demo.returncode == 0, demo.stderr
    bench = subprocess.run(
        [binaries / "rheos", "bench", "sparql"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert bench.returncode != 0
    assert "Traceback" not in bench.stderr


def test_the_server_of_a_service_needs_no_file(tmp_path: Path) -> None:
    """As in the container: everything from the environment, and the token in no process list and no log."""
    token = "correct-horse"
    (tmp_path / "token").write_text(f"{token}\n")
    given = {"RHEOS_PORT": "0", "RHEOS_STATE": str(tmp_path / "state"), "RHEOS_LOG__LEVEL": "debug"}
    with (tmp_path / "log").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "rheos", "serve", "--token-file", "token"],
            cwd=tmp_path,
            env={**os.environ, **given},
            stderr=errors,
        )

    def log() -> list[dict[str, object]]:
        lines = (tmp_path / "log").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    try:
        wait(lambda: any(line["event"] == "listening" for line in log()), "it listens")
        address = next(line["address"] for line in log() if line["event"] == "listening")
        assert httpx.put(f"{address}name", content="x", timeout=60).status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        made = httpx.put(f"{address}made", json={}, headers=bearer, timeout=120)
        assert made.status_code == 201
        assert httpx.get(f"{address}queries", timeout=60).status_code == 200
        # Spark's processes are there by now, too.
        commands = [text(one, "cmdline") for one in tree(process.pid)]
        assert any("java" in command for command in commands) or java_is_missing()
        assert [command for command in commands if token in command] == []
        assert (tmp_path / "state").is_dir()
    finally:
        process.terminate()
        assert process.wait(60) == 0
    writes = [line for line in log() if line["event"] == "write"]
    assert [(line["method"], line["path"], line["status"]) for line in writes] == [
        ("PUT", "/name", 401),
        ("PUT", "/made", 201),
    ]
    requests = [line for line in log() if line["event"] == "request"]
    assert [(line["method"], line["path"]) for line in requests] == [("GET", "/queries")]
    assert {line["level"] for line in requests} == {"debug"}  # so they are not in a log of the level info
    assert all(line["client"] == "127.0.0.1" and line["time"] and line["level"] == "info" for line in writes)
    assert token not in (tmp_path / "log").read_text()
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert [path for path in kept if token.encode() in path.read_bytes()] == []
