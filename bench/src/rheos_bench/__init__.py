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
    minutes: float | None = None

    @property
    def runs(self) -> int:
        """How often a measurement is repeated; the median counts."""
        return 1 if self.quick else 5

    def wants(self, section: str) -> bool:
        """True if the user asked for this section, or for no section in particular."""
        return not self.only or section in self.only


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: what it measures, its sections and its usual sizes. Its code is the function `run` of the
    module `name`.

    One that is `long` runs only if the user names it, or with `--full`.
    """

    name: str
    what: str
    sections: tuple[str, ...]
    triples: int = 1_000_000
    live: int = 1_000_000
    long: bool = False

    def run(self, settings: Settings) -> None:
        import_module(f"rheos_bench.{self.name}").run(settings)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "sparql",
            "one-shot queries over files: how long one waits, how much fits; beside pyoxigraph",
            ("waiting", "volume", "rows"),
        ),
        Benchmark(
            "paths", "property paths over trees and chains, with and without an end that is given", ("given",)
        ),
        Benchmark(
            "windows",
            "C-SPARQL: windows of many sizes beside a loop of stores, many queries, memory",
            ("windows", "queries", "memory"),
        ),
        Benchmark(
            "cqels",
            "CQELS-QL: the queries of its paper, up to a thousand at once, over growing static data",
            ("queries", "sizes", "many", "shapes", "update"),
        ),
        Benchmark(
            "events",
            "EP-SPARQL: sequences, averages, classes, memory",
            ("sequence", "average", "classes", "memory"),
        ),
        Benchmark(
            "overload",
            "a stream that is faster than its evaluation, with and without STRETCHED and SAMPLE",
            ("curve", "clauses"),
        ),
        Benchmark(
            "server", "pushed elements and 200 subscribers: what is lost, and how late answers are", ("load",)
        ),
        Benchmark(
            "mapping",
            "JSON and CSV to RDF: CONSTRUCT, RML, a JSON-LD context; records a second",
            ("construct", "csv", "rml", "context"),
        ),
        Benchmark(
            "city", "CityBench at its own speed, ten times and a hundred times it", ("1x", "10x", "100x")
        ),
        Benchmark(
            "start",
            "how long one waits for the first answer of each command",
            ("query", "run", "serve", "demo"),
        ),
        Benchmark(
            "live",
            "how late answers are: long windows, many queries, all languages, beside PySpark",
            ("windows", "shapes", "queries", "languages", "rival"),
            long=True,
        ),
        Benchmark(
            "cluster",
            "one Spark worker beside two",
            ("count", "join", "sequence", "queries"),
            triples=5_000_000,
            long=True,
        ),
        Benchmark(
            "state",
            "what a batch writes with few and with many live elements",
            ("state",),
            live=3_600_000,
            long=True,
        ),
        Benchmark(
            "kafka", "a topic, beside the same elements in a file", ("topic",), triples=5_000_000, long=True
        ),
        Benchmark("memory", "how much memory a large window takes", ("peak",), live=10_000_000, long=True),
        Benchmark(
            "soak",
            "a server under load for minutes or hours: whether anything that it uses grows",
            ("load",),
            long=True,
        ),
    )
}
