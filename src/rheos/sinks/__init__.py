"""Sinks: where the answers of queries go, with one small module for each kind of sink."""
