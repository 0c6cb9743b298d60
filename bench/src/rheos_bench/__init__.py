"""The benchmarks of rheos, by name. Each reads settings and prints tables to standard output."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can choose about a benchmark. A benchmark ignores what does not concern it."""

    triples: int = 1_000_000
    quick: bool = False
    only: tuple[str, ...] = ()
    full: bool = False
    live: int = 1_000_000
    rounds: int = 3
    store: str | None = None

    @property
    def runs(self) -> int:
        """How often a measurement is repeated; the median counts."""
        return 1 if self.quick else 5

    def wants(self, section: str) -> bool:
        """True if the user asked for this section, or for no section in particular."""
        return not self.only or section in self.only


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: its sections and its usual sizes. Its code is the function `run` of the module `name`.

    One that is `long` runs only if the user names it, or with `--full`.
    """

    name: str
    sections: tuple[str, ...]
    triples: int = 1_000_000
    live: int = 1_000_000
    long: bool = False

    def run(self, settings: Settings) -> None:
        import_module(f"rheos_bench.{self.name}").run(settings)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("sparql", ("waiting", "volume", "rows")),
        Benchmark("paths", ("given",)),
        Benchmark("windows", ("windows", "queries", "memory")),
        Benchmark("cqels", ("queries", "sizes", "many", "shapes", "update")),
        Benchmark("events", ("sequence", "average", "classes", "memory")),
        Benchmark("overload", ("curve", "clauses")),
        Benchmark("server", ("load",)),
        Benchmark("mapping", ("construct", "csv", "rml", "context")),
        Benchmark("city", ("1x", "10x", "100x")),
        Benchmark("start", ("query", "run", "serve", "demo")),
        Benchmark("live", ("windows", "queries", "languages", "rival"), long=True),
        Benchmark("cluster", ("count", "join", "sequence", "queries"), triples=5_000_000, long=True),
        Benchmark("state", ("state",), live=3_600_000, long=True),
        Benchmark("kafka", ("topic",), triples=5_000_000, long=True),
        Benchmark("memory", ("peak",), live=10_000_000, long=True),
    )
}
