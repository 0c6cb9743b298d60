"""SPARQL Update on the static graphs: its texts, its operations, and all or nothing."""
