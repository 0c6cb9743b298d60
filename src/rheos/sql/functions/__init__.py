"""The functions of SPARQL by name: operators, built-ins, and casts by IRI, with a module for each family."""

from __future__ import annotations

from rheos.sql.functions import (
    casts,
    hashes,
    logic,
    numbers,
    occurrence,
    regex,
    shards,
    strings,
    sums,
    terms,
    times,
)
from rheos.sql.functions.table import Function

FUNCTIONS: dict[str, Function] = {
    name: function
    for family in (logic, numbers, sums, strings, regex, terms, times, occurrence, hashes, casts, shards)
    for name, function in family.FUNCTIONS.items()
}


__all__ = ["FUNCTIONS", "Function"]
