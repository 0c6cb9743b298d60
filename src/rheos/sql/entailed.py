"""Entailment as SQL: joins a table of triples with a table of derivations.

Derivations (p, o, s2, p2, o2, bare) come from `rheos.store.schema`. The marks SUBJECT and OBJECT in s2 and o2
stand for the subject and the object of the triple; no RDF term looks like a mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rheos.sql.conditions import all_of, negated
from rheos.sql.relation import select

SUBJECT, OBJECT = "?s", "?o"


def entailed_names(schema: Sequence[str]) -> tuple[str, str]:
    """The names of the tables of the default graph and of the named graphs with all entailed triples.

    `schema` names the graphs whose schema counts; if it is empty, that is the default graph.
    """
    own = hashlib.blake2b(repr(tuple(schema)).encode(), digest_size=8).hexdigest()
    suffix = f"rdfs_{own}" if schema else "rdfs"
    return f"default_graph_{suffix}", f"named_graphs_{suffix}"


def derived_sql(
    triples: str, derivations: str, carried: Sequence[str] = (), *, distinct: bool = False
) -> str:
    """The triples that each row of a table entails beside itself, with the columns `carried` of the row.

    A row may come more than once, unless rows are to be `distinct`.
    """
    terms = {
        "s": f"CASE d.s2 WHEN '{SUBJECT}' THEN e.s WHEN '{OBJECT}' THEN e.o ELSE d.s2 END",
        "p": "d.p2",
        "o": f"CASE d.o2 WHEN '{OBJECT}' THEN e.o ELSE d.o2 END",
    }
    columns = [*(f"e.{name}" for name in carried), *(f"{term} AS {name}" for name, term in terms.items())]
    itself = all_of(f"{term} = e.{name}" for name, term in terms.items())
    # A derivation applies to a predicate, or to a predicate and a class. Two joins, so that each has only
    # equalities.
    parts = [
        select(
            columns,
            f"{triples} AS e JOIN {derivations} AS d ON {all_of(['d.p = e.p', of_class])}",
            ["NOT (d.bare AND e.o LIKE '\"%')", negated(itself)],
        )
        for of_class in ("d.o = ''", "d.o = e.o")
    ]
    return ("\nUNION\n" if distinct else "\nUNION ALL\n").join(parts)


def entailed_sql(triples: str, derivations: str, carried: Sequence[str] = ()) -> str:
    """The rows of a table of triples and the rows that they entail, without duplicates."""
    given = select([*carried, "s", "p", "o"], triples)
    return f"{given}\nUNION\n{derived_sql(triples, derivations, carried, distinct=True)}"
