"""Streams come in, from files, standard input or Spark, as chunks of timed triples in order of arrival."""
