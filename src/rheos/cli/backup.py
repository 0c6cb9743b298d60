"""`rheos backup`: copies the folder of a server, and says on standard error what was copied."""

from __future__ import annotations

import sys
from pathlib import Path

from rheos.server.backup import backup


def show(folder: Path, target: Path) -> None:
    """Make the copy, and say what it contains."""
    copied = backup(folder, target)
    batch = "no batch yet" if copied.batch is None else f"up to batch {copied.batch:,}"
    print(
        f"{target}: {batch}, {copied.files:,} files, {copied.bytes:,} bytes, in {copied.took:.1f} s",
        file=sys.stderr,
    )
