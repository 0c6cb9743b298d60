"""`rheos translate`: a query of C-SPARQL comes in; the same query in RSP-QL goes to standard output."""

from __future__ import annotations

from rheos.cli.output import write
from rheos.cli.session import Source


def show(source: Source) -> None:
    """Write the translation; an error names what RSP-QL cannot express, and where it stands."""
    from rheos.syntax.parser import translated

    write(translated(source.text), None)
