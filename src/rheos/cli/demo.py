"""`rheos demo`: a port and a length of time come in, and the demo runs for that time."""

from __future__ import annotations

import signal


def demo(port: int | None, microseconds: int | None) -> None:
    from rheos.server import check

    check()
    from rheos.demo.run import run

    # SIGTERM ends the demo as Ctrl-C does: all of its files are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run(port, None if microseconds is None else microseconds / 1e6)
