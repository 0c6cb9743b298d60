"""Sharing out the rules of a circle: finds, for each pattern of the rules, the place of the term that decides
to which task an event goes.

Each rule must have a variable that stands in all its triple patterns and in all triples that it makes, that
every sub-select selects, and that is among the groups of every WITHIN. Then all events of a solution have the
same term for it, and so have the derived triples. Where a pattern of a rule could match a triple that a rule
makes, both must have their variable in the same place of the triple. Then events that are derived from one
term never meet events that are derived from another, and each task can compute the fixpoint of its own share.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import Node, Project, Recent, TriplePattern
from rheos.algebra.rewrite import below, has_streams
from rheos.algebra.variables import Names, names
from rheos.runtime.epsparql.operator import EPSparqlOperator
from rheos.runtime.epsparql.patterns import could_match

Places = tuple[
    int, ...
]  # of each pattern of a rule: 0 for the subject, 1 for the predicate, 2 for the object


def shared_places(rules: Sequence[EPSparqlOperator]) -> tuple[Places, ...] | None:
    """For the patterns of each rule, the place of the term that decides to which task an event
    goes. None if there is no such term; with entailment there is none, as an entailed triple may
    have it in another place."""
    if any(rule.derivations is not None for rule in rules):
        return None
    for chosen in itertools.product(*(sorted(variables(rule)) for rule in rules)):
        if all(
            fits(maker, made, reader, read)
            for maker, made in zip(rules, chosen, strict=True)
            for reader, read in zip(rules, chosen, strict=True)
        ):
            return tuple(
                tuple(min(places(pattern, name)) for pattern in rule.patterns)
                for rule, name in zip(rules, chosen, strict=True)
            )
    return None


def variables(rule: EPSparqlOperator) -> Names:
    """The variables that stand in all triple patterns of a rule and in all triples that it makes, without new
    blank nodes."""
    found = (names(triple.terms) for triple in (*rule.patterns, *rule.template))
    common = frozenset.intersection(*found)
    new = {name for name in common if Variable(name).is_blank}
    return common - new if rule.patterns else frozenset()


def fits(maker: EPSparqlOperator, made: str, reader: EPSparqlOperator, read: str) -> bool:
    """Whether the triples that one rule makes have its term in the place where another rule has its own."""
    return kept(reader.pattern, read) and all(
        places(triple, made) & places(pattern, read)
        for triple in maker.template
        for pattern in reader.patterns
        if could_match([triple], pattern)
    )


def kept(node: Node, name: str) -> bool:
    """Whether every sub-select about events, and every grouping, keeps a variable."""
    match node:
        case Project(pattern, selected) if has_streams(pattern) and name not in names(selected):
            return False
        case Recent(_, _, group) if name not in names(group):
            return False
    return all(kept(inner, name) for inner in below(node))


def places(triple: TriplePattern, name: str) -> set[int]:
    return {at for at, term in enumerate(triple.terms) if term == Variable(name)}
