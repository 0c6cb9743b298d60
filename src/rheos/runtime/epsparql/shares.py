"""How the rules of a circle can be shared out: the rules come in, where their patterns have the term by which
events go to one task or another goes out.

Each rule must have a variable that stands in all its triple patterns and in all triples that it makes, is
selected by every sub-select and among the groups of every WITHIN. All the events of a solution then have the
same term for it, and so has what follows. Where a pattern of a rule could match what a rule makes, both must
have their variable in the same place of the triple. Then what is derived from events with one term never
meets what is derived from those with another, and each task can go to the fixpoint with its share of them.
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
    """Of the patterns of each rule, the place of the term that decides to which task an event goes; None if
    there is no such term. What events entail may have it in another place."""
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
    """The variables that stand in all the triples of a rule, and are never left behind."""
    found = (names(triple.terms) for triple in (*rule.patterns, *rule.template))
    common = frozenset.intersection(*found)
    new = {name for name in common if Variable(name).is_blank}
    return common - new if rule.patterns else frozenset()


def fits(maker: EPSparqlOperator, made: str, reader: EPSparqlOperator, read: str) -> bool:
    """Whether what one rule makes has its term where another one looks for it."""
    return kept(reader.pattern, read) and all(
        places(triple, made) & places(pattern, read)
        for triple in maker.template
        for pattern in reader.patterns
        if could_match([triple], pattern)
    )


def kept(node: Node, name: str) -> bool:
    """Whether no part of a pattern that looks at events leaves a variable behind."""
    match node:
        case Project(pattern, selected) if has_streams(pattern) and name not in names(selected):
            return False
        case Recent(_, _, group) if name not in names(group):
            return False
    return all(kept(inner, name) for inner in below(node))


def places(triple: TriplePattern, name: str) -> set[int]:
    return {at for at, term in enumerate(triple.terms) if term == Variable(name)}
