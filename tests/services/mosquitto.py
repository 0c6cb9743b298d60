"""A real Mosquitto on 127.0.0.1, for tests. It keeps its sessions and messages when it is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.services.certificates import Certificate
from tests.services.processes import HOST, end, free_port, kill, start, wait_for_port

# autosave_interval with autosave_on_changes: every change is written at once.
_CONFIGURATION = """
listener {port} {host}
allow_anonymous {anonymous}
persistence true
persistence_location {folder}/
autosave_on_changes true
autosave_interval 1
max_queued_messages 0
log_dest stderr
"""


@dataclass
class Mosquitto:
    """A broker. It keeps its port and its data when it is killed and started again."""

    folder: Path
    program: str
    port: int
    more: str = ""  # of the configuration
    anonymous: bool = True
    _process: subprocess.Popen[bytes] | None = None

    def url(self, topic: str) -> str:
        return f"mqtt://{HOST}:{self.port}/{topic}"

    def listen_with_tls(self, certificate: Certificate) -> int:
        """Also listen on a port with TLS, from the next start on; the port."""
        port = free_port()
        files = f"cafile {certificate.path}\ncertfile {certificate.path}\nkeyfile {certificate.key}\n"
        self.more += f"listener {port} {HOST}\n{files}"
        return port

    def start(self) -> None:
        configuration = self.folder / "mosquitto.conf"
        told = {"port": self.port, "host": HOST, "folder": self.folder}
        told["anonymous"] = str(self.anonymous).lower()
        configuration.write_text(_CONFIGURATION.format(**told) + self.more)
        log = self.folder / "mosquitto.log"
        self._process = start([self.program, "-c", str(configuration)], log)
        wait_for_port(self.port, self._process, log)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        kill(self._process)

    def stop(self) -> None:
        """An end in order: what it holds is on the disk."""
        if self._process is not None:
            end(self._process)


def program() -> str | None:
    """Debian has it where only the administrator's path leads."""
    return shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def new_mosquitto(folder: Path) -> Mosquitto:
    found = program()
    if found is None:
        pytest.skip("there is no mosquitto here: `make services` installs it")
    if os.getuid() == 0:
        # It gives up the rights of root for those of its own user, which must write here.
        shutil.chown(folder, "mosquitto")
        for above in folder.parents:
            if above == Path("/tmp") or above.stat().st_uid != 0:
                break
            above.chmod(above.stat().st_mode | 0o011)
    return Mosquitto(folder, found, free_port())


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = new_mosquitto(folder)
    broker.start()
    yield broker
    broker.stop()
