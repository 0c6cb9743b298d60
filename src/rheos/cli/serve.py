"""`rheos serve`: settings come in, and the server that they describe runs until a signal comes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def serve(
    path: Path | None,
    host: str | None = None,
    port: int | None = None,
    token_file: Path | None = None,
    data_dir: Path | None = None,
    strict: bool | None = None,
) -> None:
    """Run a server. Without a file, `rheos.toml` is read if it exists. Options replace settings of the
    environment, and these replace settings of the file."""
    from rheos.server import check

    check()
    from rheos.server import config
    from rheos.server.environment import merged
    from rheos.server.serve import serve

    usual = Path(config.DEFAULT_FILE)
    chosen = path if path is not None else usual if usual.exists() else None
    files = {"token_file": token_file, "state": data_dir}
    options: dict[str, Any] = {"host": host, "port": port, "strict": strict}
    options |= {key: None if file is None else str(file.absolute()) for key, file in files.items()}
    given = {key: value for key, value in options.items() if value is not None}
    serve(config.read(chosen, merged(config.from_environment(os.environ), given)))
