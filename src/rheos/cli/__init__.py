"""The command line: arguments come in, results go to standard output, everything else to standard error.

Nothing here imports Spark, DuckDB or the engine before a command needs them: every command is a new process,
and for a small query most of its time would be imports.
"""

from __future__ import annotations

import sys

from rheos.cli import interrupt, startup
from rheos.cli.failures import INTERRUPTED


def main() -> None:
    """The entry point of `rheos`."""
    startup.own_process = True
    interrupt.note()
    try:
        from rheos.cli.app import app

        app(prog_name="rheos")
    except (KeyboardInterrupt, Exception, SystemExit) as ending:
        if interrupt.noted() or isinstance(ending, KeyboardInterrupt):
            sys.exit(INTERRUPTED)
        raise
