"""Random schemas: properties and nodes come in, triples about sub-properties, sub-classes, domains and ranges
go out, in circles as well, and now and then about rdf:type and the properties of schemas themselves."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.continuous.arrival_algebra import Triple
from tests.continuous.event_entailment import DOMAIN, RANGE, SUB_CLASS, SUB_PROPERTY, TYPE

SCHEMA = (SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE)


def schema(chance: random.Random, properties: Sequence[str], classes: Sequence[str]) -> list[Triple]:
    found = set[Triple]()
    odd = chance.random() < 0.25
    above = [*properties, TYPE, *SCHEMA] if odd else properties
    for _ in range(chance.randrange(2, 8)):
        rule = chance.choice(SCHEMA)
        below = classes if rule == SUB_CLASS else above
        found.add((chance.choice(below), rule, chance.choice(above if rule == SUB_PROPERTY else classes)))
    return sorted(found)
