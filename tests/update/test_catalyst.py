"""The same through Spark: data that Spark keeps, patterns that it answers, and all or nothing there too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine, UpdateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_updates_of_what_spark_keeps(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "data.nq"
    path.write_text("".join(f"<a:s{n}> <a:p> <a:o{n % 2}> {'<a:g>' * (n % 2)} .\n" for n in range(100)))
    with Engine(spark, execution="catalyst", parallel_bytes=0) as engine:
        engine.load(path)
        graphs = engine.graphs
        named = graphs.named_version

        # The second operation sees what the first one did; a query from elsewhere does not, until the end.
        text = """
            DELETE { ?s <a:p> ?o } INSERT { ?s <a:q> ?o ; <a:node> [] } WHERE { ?s <a:p> ?o } ;
            INSERT { ?s <a:r> ?o } WHERE { ?s <a:q> ?o . FILTER NOT EXISTS { ?s <a:p> ?o } } ;
        """
        assert engine.update(text) == 200
        assert graphs.in_spark
        assert (graphs.size, graphs.named_version) == (200, named)
        assert len(engine.query("SELECT DISTINCT ?n { ?s <a:q> ?o ; <a:r> ?o ; <a:node> ?n }")) == 50

        before = graphs.version, graphs.size, graphs.graph_names
        with pytest.raises(UpdateError, match="there is no graph <a:none>"):
            engine.update(
                "DELETE WHERE { GRAPH ?g { ?s ?p ?o } } ; LOAD <" + path.as_uri() + "> ; DROP GRAPH <a:none>"
            )
        assert (graphs.version, graphs.size, graphs.graph_names) == before
        assert engine.query("ASK { GRAPH <a:g> { <a:s1> <a:p> ?o } }").boolean

        assert engine.update("DELETE WHERE { GRAPH <a:g> { ?s ?p ?o } } ; CREATE SILENT GRAPH <a:g>") == 50
        assert (graphs.graph_names, graphs.size) == (["<a:g>"], 150)
        assert graphs.version_of("a:g") == graphs.named_version == graphs.version
        assert engine.update("COPY DEFAULT TO <a:g>") == 150
        assert engine.update("DROP ALL") == 300
        assert (graphs.size, graphs.in_spark, graphs.graph_names) == (0, False, [])
