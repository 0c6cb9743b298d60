"""rheos answers continuous SPARQL queries over streams of RDF, on Spark."""
