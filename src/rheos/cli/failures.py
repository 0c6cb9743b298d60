"""Failures: an error becomes a short message on standard error and an exit status, never a traceback.

Status 1 means that the query or the input is wrong; 2 means wrong usage (typer's own errors, and
`typer.BadParameter`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from rheos.cli import interrupt
from rheos.errors import QuerySyntaxError, RheosError, around

FAULT = 1
INTERRUPTED = 130  # as a shell reports a process ended by SIGINT
PIPE_CLOSED = 141  # as for SIGPIPE: the reader, `head` for example, reads no more

TRACEBACK_VARIABLE = "RHEOS_TRACEBACK"


@contextmanager
def reported(query: str | None = None) -> Iterator[None]:
    """A block that runs a command. `query` is the name of the query in messages (`query.rq`)."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError:
        _silence_stdout()
        raise typer.Exit(PIPE_CLOSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if interrupt.noted():
            raise typer.Exit(INTERRUPTED) from None
        if os.environ.get(TRACEBACK_VARIABLE) and not isinstance(error, RheosError | OSError):
            raise
        complain(_explained(error, query))


def _explained(error: Exception, query: str | None) -> str:
    match error:
        case QuerySyntaxError():
            return located(error, query)
        case RheosError():
            return str(error)
        case OSError():
            return _of_system(error)
    lines = str(error).strip().splitlines() or ["no message"]
    return (
        f"internal error: {type(error).__name__}: {around(lines[0], 0)[0]}\n"
        f"This is a fault of rheos, not yours; {TRACEBACK_VARIABLE}=1 shows where it happened."
    )


def complain(message: str) -> None:
    """End the command with a message and status 1."""
    print(message, file=sys.stderr)
    raise typer.Exit(FAULT)


def located(error: QuerySyntaxError, query: str | None) -> str:
    """`query.rq: line 3, column 5: …`, then the line with a caret."""
    return f"{query}: {error}" if query else str(error)


def _of_system(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _silence_stdout() -> None:
    """Send the interpreter's last flush to the null device, so that the closed pipe is not reported again."""
    with suppress(OSError, ValueError):  # no real standard output, as under a test runner
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
