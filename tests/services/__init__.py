"""Real brokers for tests, on free ports of 127.0.0.1, and where their programs come from."""
