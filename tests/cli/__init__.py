"""The command line, seen from outside."""
