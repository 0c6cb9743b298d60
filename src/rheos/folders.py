"""The folders of the user in which rheos keeps what it made."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder for what can be made again at any time. A user without a home has none: nothing can be made
    or read below the null device."""
    home = os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", os.devnull), ".cache")
    return Path(home, "rheos")
