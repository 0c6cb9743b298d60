"""Processes of brokers: started in a group of their own, awaited by their port, ended or killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def start(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """As a machine that goes down does it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            kill(process)


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as tried:
            if tried.connect_ex((HOST, port)) == 0:
                return
        told = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode}:\n{told}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"it does not listen on {port} after {seconds:g} s:\n{told}")
        time.sleep(0.1)
