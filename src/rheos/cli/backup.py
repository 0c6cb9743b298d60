"""`rheos backup`: a copy of a server's folder is made, and what it is goes to standard error."""

from __future__ import annotations

import sys
from pathlib import Path

from rheos.server.backup import backup


def show(folder: Path, target: Path) -> None:
    """Make the copy, and say what it has."""
    copied = backup(folder, target)
    batch = "no batch yet" if copied.batch is None else f"up to batch {copied.batch:,}"
    print(
        f"{target}: {batch}, {copied.files:,} files, {copied.bytes:,} bytes, in {copied.took:.1f} s",
        file=sys.stderr,
    )
