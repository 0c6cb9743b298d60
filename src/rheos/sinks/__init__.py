"""Sinks: the places that the answers of queries go to, one small module for each kind."""
