"""Artifacts of Maven Central that tests need: a Kafka broker, and Spark's connector for Kafka.

`make services` fetches them once, into the user's cache. Ivy, which PySpark brings, resolves them.

The connector that rheos asks for is the one of the installed PySpark. Maven Central may not have it (yet);
then an older one stands in, here and only in tests, and `Connector.note` says so. Nothing in rheos itself
ever takes another version than that of PySpark.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pyspark

KAFKA = "4.1.1"
CONNECTOR = "spark-sql-kafka-0-10_2.13"
# The newest that runs on Spark 4.3. Its own token provider is not on Maven Central; that of 4.0.0 serves.
STAND_IN, STAND_IN_TOKENS, STAND_IN_POOL = "4.2.0", "4.0.0", "2.12.0"
_TOKENS = "spark-token-provider-kafka-0-10_2.13"
_NEEDED = (CONNECTOR, _TOKENS, "kafka-clients", "commons-pool2")  # Spark has all else
_SPARK = Path(pyspark.__file__).parent
_SECONDS = 600


class Missing(Exception):
    """An artifact cannot be had: which one, and why."""


@dataclass(frozen=True)
class Connector:
    """The jars of the connector. `version` is that of its main jar, `wanted` that of PySpark."""

    folder: str
    version: str
    wanted: str

    @property
    def jars(self) -> list[str]:
        return sorted(map(str, Path(self.folder).glob("*.jar")))

    @property
    def note(self) -> str:
        """What to say beside every result that was got with it."""
        told = f"Kafka connector {self.version} on Spark {self.wanted}"
        if self.version == self.wanted:
            return told
        return f"{told}: a stand-in, because {CONNECTOR}:{self.wanted} could not be had from Maven Central"


def home() -> Path:
    cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cached, "rheos", "services")


def broker() -> Path:
    """The folder with the jars of a Kafka broker."""
    folder = home() / f"kafka-{KAFKA}"
    if not folder.is_dir():
        raise Missing(f"there is no Kafka {KAFKA} in {folder}: `make services` fetches it")
    return folder


@cache
def connector() -> Connector:
    """The connector that `make services` has fetched for this PySpark."""
    wanted = pyspark.__version__
    try:
        return Connector(**json.loads(_record(wanted).read_text()))
    except (OSError, ValueError, TypeError):
        raise Missing(f"there is no Kafka connector for Spark {wanted}: `make services` fetches it") from None


def fetch() -> list[str]:
    """Fetch what is not there yet; what was done, in words."""
    return [_fetch_broker(), _fetch_connector()]


def _fetch_broker() -> str:
    folder = home() / f"kafka-{KAFKA}"
    if not folder.is_dir():
        with _new(folder) as new:
            _ivy("org.apache.kafka", "kafka_2.13", KAFKA, new)
    return f"Kafka {KAFKA} (org.apache.kafka:kafka_2.13, a broker for tests): {_size(folder)}"


def _fetch_connector() -> str:
    wanted = pyspark.__version__
    # A stand-in is asked about again every time: the right one may have been published.
    if not (home() / f"connector-{wanted}").is_dir():
        try:
            with _new(home() / f"connector-{wanted}") as new:
                _ivy("org.apache.spark", CONNECTOR, wanted, new)
                _keep(new)
        except Missing:
            stand_in = home() / f"connector-{STAND_IN}-stand-in"
            if not stand_in.is_dir():
                with _new(stand_in) as new:
                    _ivy("org.apache.spark", _TOKENS, STAND_IN_TOKENS, new)
                    _ivy("org.apache.commons", "commons-pool2", STAND_IN_POOL, new, transitive=False)
                    _ivy("org.apache.spark", CONNECTOR, STAND_IN, new, transitive=False)
                    _keep(new)
            found = Connector(str(stand_in), STAND_IN, wanted)
        else:
            found = Connector(str(home() / f"connector-{wanted}"), wanted, wanted)
    else:
        found = Connector(str(home() / f"connector-{wanted}"), wanted, wanted)
    _record(wanted).write_text(json.dumps(asdict(found)))
    return f"{found.note}: {_size(Path(found.folder))}"


def _record(wanted: str) -> Path:
    return home() / f"connector-for-{wanted}.json"


class _new:
    """A folder that is there only once it is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.made = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder.parent))

    def __enter__(self) -> Path:
        return self.made

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and not self.folder.exists():
            self.made.rename(self.folder)
        shutil.rmtree(self.made, ignore_errors=True)


def _ivy(organisation: str, module: str, version: str, folder: Path, *, transitive: bool = True) -> None:
    [ivy] = (_SPARK / "jars").glob("ivy-*.jar")
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", str(ivy), "org.apache.ivy.Main", "-cache", str(home() / "ivy")]
    command += ["-dependency", organisation, module, version, "-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    command += [] if transitive else ["-notransitive"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{organisation}:{module}:{version}: {error}") from None
    if done.returncode or "UNRESOLVED" in done.stdout or not list(folder.glob(f"{module}-*.jar")):
        raise Missing(f"{organisation}:{module}:{version} is not on Maven Central, or that is out of reach")


def _keep(folder: Path) -> None:
    """Only what Spark does not have itself."""
    for jar in folder.glob("*.jar"):
        if not jar.name.startswith(_NEEDED):
            jar.unlink()


def _size(folder: Path) -> str:
    files = list(folder.glob("*.jar"))
    return f"{len(files)} jars, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB in {folder}"
