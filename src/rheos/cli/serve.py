"""`rheos serve`: a configuration file comes in, and what it describes is served until a signal comes."""

from __future__ import annotations

from pathlib import Path


def serve(path: Path | None) -> None:
    """With no file named, the usual one counts if it is there."""
    from rheos.server import config
    from rheos.server.serve import serve

    usual = Path(config.DEFAULT_FILE)
    chosen = path if path is not None else usual if usual.exists() else None
    serve(config.Config() if chosen is None else config.read(chosen))
