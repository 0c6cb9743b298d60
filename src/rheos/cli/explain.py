"""`rheos explain`: writes to standard output how the engine would answer a query."""

from __future__ import annotations

from rheos.cli.options import Dialect
from rheos.cli.output import write
from rheos.cli.session import Session, Source


def show(source: Source, session: Session, dialect: Dialect) -> None:
    """Write the explanation. The data is loaded for it: the optimiser uses its statistics, and `auto` its
    size."""
    import rheos

    rheos.parse(source.text, dialect=dialect.value, base=session.base)
    with session.engine() as engine:
        write(engine.explain(source.text, base=session.base, dialect=dialect.value), None)
