"""The benchmarks by name: settings come in, tables go to standard output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can choose about a benchmark."""

    triples: int = 1_000_000
    quick: bool = False

    @property
    def runs(self) -> int:
        """How often a measurement is repeated; its median counts."""
        return 1 if self.quick else 5


def _sparql(settings: Settings) -> None:
    from rheos.bench.sparql import run

    run(settings)


BENCHMARKS: dict[str, Callable[[Settings], None]] = {"sparql": _sparql}
