"""Sources: files, standard input, brokers, the Web and Spark deliver streams as chunks of timed triples."""
