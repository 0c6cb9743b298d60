"""Random queries on random data, compared with pyoxigraph (hypothesis)."""
