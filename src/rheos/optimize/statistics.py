"""Statistics: counts of the loaded data, by which patterns are ordered: how many triples
each predicate has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PredicateCount:
    """How many triples a predicate has, and about how many different subjects and objects these have."""

    triples: int
    subjects: int
    objects: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over all graphs; predicates are terms in the form of `rheos.terms`."""

    triples: int = 0
    predicates: Mapping[str, PredicateCount] = field(default_factory=dict)

    def plus(self, more: Mapping[str, PredicateCount]) -> Statistics:
        """The statistics with further triples, whose subjects and objects are all counted as new."""
        counts = dict(self.predicates)
        for predicate, new in more.items():
            known = counts.get(predicate, PredicateCount(0, 0, 0))
            counts[predicate] = PredicateCount(
                known.triples + new.triples, known.subjects + new.subjects, known.objects + new.objects
            )
        return Statistics(sum(count.triples for count in counts.values()), counts)
