"""A certificate for 127.0.0.1 that nobody else has signed, for servers of tests."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.services.processes import HOST


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key, which any user can read: Mosquitto runs as one of its own."""

    path: Path
    key: Path

    @property
    def server(self) -> ssl.SSLContext:
        """What a server in the test process needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context

    @property
    def ca(self) -> dict[str, str]:
        """The option by which a client trusts it."""
        return {"ca": str(self.path)}


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    folder.chmod(0o755)
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", f"subjectAltName=IP:{HOST}", "-keyout", str(made.key), "-out", str(made.path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    made.key.chmod(0o644)
    return made
