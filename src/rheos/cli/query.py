"""`rheos query`: answers one query over some files, and writes the result to standard output or to a file."""

from __future__ import annotations

from pathlib import Path

from rheos.cli.options import Execution, Format
from rheos.cli.output import check_target, chosen_format, present
from rheos.cli.progress import progress
from rheos.cli.session import Session, Source


def answer(source: Source, session: Session, format: Format | None, output: Path | None) -> None:
    """Parse the query before the files are loaded, so that a wrong query fails at once; then load, run and
    write."""
    import rheos

    parsed = rheos.parse(source.text, base=session.base)
    form = chosen_format(parsed, format, output)
    check_target(output)
    with session.engine() as engine:
        where = " on Spark" if session.execution is Execution.catalyst else ""
        with progress(f"answering{where}"):
            result = engine.query(source.text, base=session.base)
        present(result, form, output)
