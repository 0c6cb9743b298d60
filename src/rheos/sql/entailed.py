"""What triples entail, as SQL: joins a table of triples with one of derivations.

Derivations are those of `rheos.store.schema`: (p, o, s2, p2, o2, bare). In s2 and o2 the subject and the
object of a triple are marked; no term looks like a mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rheos.sql.conditions import all_of, negated
from rheos.sql.relation import select

SUBJECT, OBJECT = "?s", "?o"


def entailed_names(schema: Sequence[str]) -> tuple[str, str]:
    """The tables of the default graph and of the named graphs with all that is entailed by the schema of some
    graphs, or by that of the default graph, if none are named."""
    own = hashlib.blake2b(repr(tuple(schema)).encode(), digest_size=8).hexdigest()
    suffix = f"rdfs_{own}" if schema else "rdfs"
    return f"default_graph_{suffix}", f"named_graphs_{suffix}"


def derived_sql(
    triples: str, derivations: str, carried: Sequence[str] = (), *, distinct: bool = False
) -> str:
    """What each row of a table of triples entails beside itself, with the columns that are carried along. A
    row may be there more than once, unless they are to be `distinct`."""
    terms = {
        "s": f"CASE d.s2 WHEN '{SUBJECT}' THEN e.s WHEN '{OBJECT}' THEN e.o ELSE d.s2 END",
        "p": "d.p2",
        "o": f"CASE d.o2 WHEN '{OBJECT}' THEN e.o ELSE d.o2 END",
    }
    columns = [*(f"e.{name}" for name in carried), *(f"{term} AS {name}" for name, term in terms.items())]
    itself = all_of(f"{term} = e.{name}" for name, term in terms.items())
    # By the predicate alone, or by the class as well: two joins, each on what is equal.
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
    """The rows of a table of triples and what they entail, each different row once."""
    given = select([*carried, "s", "p", "o"], triples)
    return f"{given}\nUNION\n{derived_sql(triples, derivations, carried, distinct=True)}"
