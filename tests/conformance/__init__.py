"""The W3C SPARQL tests: `python -m tests.conformance` prints a table, `test_w3c.py` runs them in pytest."""
