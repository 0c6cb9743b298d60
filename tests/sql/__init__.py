"""Tests of the compiler of expressions: the same SPARQL expressions in DuckDB, in Spark, and by pyoxigraph."""
