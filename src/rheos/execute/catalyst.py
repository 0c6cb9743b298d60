"""Runs statements in Spark SQL, for static data of any size; Catalyst spreads joins over the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.errors import EvaluationError
from rheos.execute import archive
from rheos.execute.base import SparkGraphs, named
from rheos.execute.limits import limited_jobs
from rheos.spark import map_in_arrow
from rheos.sql.dialect import Dialect
from rheos.sql.paths import Closure
from rheos.sql.spark import SPARK
from rheos.sql.statement import Statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rheos.execute.plan import Plan


INTERPRETED_TRIPLES = 100_000


@dataclass(frozen=True, slots=True)
class Catalyst:
    """Runs statements in a session; `session` starts or adopts it when the first statement runs."""

    graphs: SparkGraphs
    session: Callable[[], SparkSession]
    name: str = "catalyst"
    where: str = "Spark SQL"
    dialect: Dialect = SPARK

    def dataframe(self, statement: Statement) -> DataFrame:
        """The rows of a statement as a DataFrame that nothing has computed yet."""
        spark = self.graphs.views(self.session())
        suit_to(spark, self.graphs.size)
        if statement.entailed is not None:
            texts = [statement.sql, *(f"{c.edges} {c.seeds or ''}" for c in statement.closures)]
            self.graphs.entailments.show(spark, statement.entailed, " ".join(texts))
        for closure in statement.closures:
            closure_view(closure, spark)
        frame = spark.sql(statement.sql)
        return frame.toDF(*statement.columns) if statement.columns else frame

    def answer(self, plan: Plan) -> pa.Table:
        return self.run(plan.statement(self.dialect))

    def run(self, statement: Statement) -> pa.Table:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        with limited_jobs(self.session()):
            try:
                found = named(self.dataframe(statement).toArrow(), statement)
            except (PySparkException, Py4JJavaError) as error:
                # Errors that Spark does not expect, such as a stack overflow, come as Java exceptions.
                text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
                first, *_ = text.strip().splitlines() or [type(error).__name__]
                raise EvaluationError(f"Spark could not run the query: {first}") from error
        archive.worth_keeping(archive.QUICK)
        return found


def suit_to(spark: SparkSession, triples: int) -> None:
    """Let Spark compile plans to bytecode, unless there is so little data that compiling takes longest."""
    compiled = triples > INTERPRETED_TRIPLES
    spark.conf.set("spark.sql.codegen.wholeStage", str(compiled).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if compiled else "NO_CODEGEN")


def closure_view(closure: Closure, spark: SparkSession) -> None:
    """Make the view of a closure. All edges with the same key values go to one task, which follows them."""
    columns = (*closure.keys, "a", "b")
    edges = spark.sql(closure.edges).select(*columns)
    if closure.seeds is not None:
        # A seed becomes an edge without an end.
        seeds = spark.sql(closure.seeds).selectExpr(*closure.keys, "a", "CAST(NULL AS STRING) AS b")
        edges = edges.union(seeds.select(*columns))
    edges = edges.repartition(*closure.keys) if closure.keys else edges.repartition(1)
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in edges.schema)
    follow = Follow(closure.keys, closure.seeds is not None)
    map_in_arrow(edges, follow, schema).createOrReplaceTempView(closure.view)


@dataclass(frozen=True, slots=True)
class Follow:
    """The function of a closure's task: batches of edges come in, batches of the closure go out."""

    keys: tuple[str, ...]
    seeded: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import duckdb

        from rheos.sql.duckdb import DUCKDB

        given = list(batches)
        if not given:
            return
        table = pa.Table.from_batches(given)
        with duckdb.connect() as connection:
            connection.register("given", table)
            edges = f"SELECT {', '.join((*self.keys, 'a', 'b'))} FROM given WHERE b IS NOT NULL"
            seeds = (
                f"SELECT {', '.join((*self.keys, 'a'))} FROM given WHERE b IS NULL" if self.seeded else None
            )
            sql = DUCKDB.closure(Closure("reached", edges, self.keys, seeds))
            yield from connection.sql(sql).to_arrow_table().cast(table.schema).to_batches()
