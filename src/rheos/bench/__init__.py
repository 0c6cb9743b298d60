"""The benchmarks by name: settings come in, tables go to standard output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can choose about a benchmark."""

    triples: int = 1_000_000
    quick: bool = False
    only: tuple[str, ...] = ()
    full: bool = False

    @property
    def runs(self) -> int:
        """How often a measurement is repeated; its median counts."""
        return 1 if self.quick else 5

    def wants(self, section: str) -> bool:
        """Whether a section of a benchmark is asked for."""
        return not self.only or section in self.only


def _sparql(settings: Settings) -> None:
    from rheos.bench.sparql import run

    run(settings)


def _windows(settings: Settings) -> None:
    from rheos.bench.windows import run

    run(settings)


def _cqels(settings: Settings) -> None:
    from rheos.bench.cqels import run

    run(settings)


def _events(settings: Settings) -> None:
    from rheos.bench.events import run

    run(settings)


def _server(settings: Settings) -> None:
    from rheos.bench.server import run

    run(settings)


BENCHMARKS: dict[str, Callable[[Settings], None]] = {
    "sparql": _sparql,
    "windows": _windows,
    "cqels": _cqels,
    "events": _events,
    "server": _server,
}
SECTIONS: dict[str, tuple[str, ...]] = {
    "sparql": ("waiting", "volume"),
    "windows": ("windows", "queries", "live", "memory"),
    "cqels": ("queries", "sizes", "many", "shapes", "update"),
    "events": ("sequence", "average", "classes", "memory"),
    "server": ("load",),
}
