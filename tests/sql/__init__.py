"""Tests of the compiler of expressions: the same ones in DuckDB, in Spark, and by pyoxigraph."""
