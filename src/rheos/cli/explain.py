"""`rheos explain`: what the engine makes of a query, to standard output."""

from __future__ import annotations

from rheos.cli.options import Dialect
from rheos.cli.output import write
from rheos.cli.session import Session, Source


def show(source: Source, session: Session, dialect: Dialect) -> None:
    """The data counts: the optimiser orders by its statistics, and `auto` chooses by its size."""
    import rheos

    rheos.parse(source.text, dialect=dialect.value, base=session.base)
    with session.engine() as engine:
        write(engine.explain(source.text, base=session.base, dialect=dialect.value), None)
