"""What is known of the loaded data when patterns are ordered: how many triples each predicate has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PredicateCount:
    """The triples of one predicate, and how many different subjects and objects they have (about)."""

    triples: int
    subjects: int
    objects: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over all graphs; predicates are terms in the form of `rheos.terms`."""

    triples: int = 0
    predicates: Mapping[str, PredicateCount] = field(default_factory=dict)

    def plus(self, more: Mapping[str, PredicateCount]) -> Statistics:
        """With further triples: subjects and objects are counted as if none were there before."""
        counts = dict(self.predicates)
        for predicate, new in more.items():
            known = counts.get(predicate, PredicateCount(0, 0, 0))
            counts[predicate] = PredicateCount(
                known.triples + new.triples, known.subjects + new.subjects, known.objects + new.objects
            )
        return Statistics(sum(count.triples for count in counts.values()), counts)
