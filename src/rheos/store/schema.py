"""Closures of schemas: what a schema's triples entail of one another, and what other triples entail by them.

A schema has sub-classes, sub-properties, domains and ranges. Rules 2, 3, 7 and 9 of RDFS each take one triple
that is not part of the schema. So the triples that a triple entails depend on its predicate and, if that is
rdf:type, on its class. A table of *derivations* has them for all predicates and classes of the schema, and a
join with this table gives all entailed triples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import TriplePattern
from rheos.sql.entailed import OBJECT, SUBJECT, derived_sql
from rheos.terms import RDF, iri

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = iri(RDF + "type")
SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE = (
    iri(RDFS + name) for name in ("subClassOf", "subPropertyOf", "domain", "range")
)
SCHEMA = (SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE)

TRIPLES = pa.schema([(name, pa.string()) for name in "spo"])

# A function that returns the triples of a graph that have one of the given predicates.
Ask = Callable[[tuple[str, ...]], pa.Table]


@dataclass(frozen=True, slots=True)
class Closure:
    """The triples of a schema with all triples of a schema that they entail (s, p, o), and the derivations.

    A derivation (p, o, s2, p2, o2, bare) says: a triple with the predicate p and the object o (any object, if
    o is empty) entails the triple (s2, p2, o2). There, the marks SUBJECT and OBJECT stand for the subject and
    the object of the first triple. If `bare`, that holds only if this object is not a literal.
    """

    triples: pa.Table
    derivations: pa.Table


def closure_of(ask: Ask) -> Closure:
    """The closure of the schema of a graph."""
    schema = ask(SCHEMA).select(["s", "p", "o"]).cast(TRIPLES)
    with duckdb.connect() as connection:
        _add(connection, schema)
        while True:
            # The recursion follows only the edges from before this round: to follow the edges that it adds
            # would find every result many times.
            connection.execute("CREATE OR REPLACE TABLE steps AS FROM schema")
            connection.execute(_TRANSITIVE)
            connection.execute(f"CREATE OR REPLACE TABLE derivations AS {_DERIVATIONS}")
            # If some property is a sub-property of, say, rdfs:subClassOf, its triples are part of the schema.
            sources = connection.execute(
                "SELECT DISTINCT p FROM derivations WHERE list_contains($1, p2) ORDER BY p", [list(SCHEMA)]
            ).fetchall()
            if not sources:
                break
            before = _count(connection)
            _add(connection, ask(tuple(p for (p,) in sources)).select(["s", "p", "o"]).cast(TRIPLES), "seen")
            connection.execute("CREATE OR REPLACE TABLE seen_all AS FROM seen UNION FROM schema")
            derived = derived_sql("seen_all", "derivations")
            connection.execute(
                f"INSERT INTO schema SELECT s, p, o FROM ({derived}) WHERE list_contains($1, p)"
                " EXCEPT FROM schema",
                [list(SCHEMA)],
            )
            if _count(connection) == before:
                break
        triples = connection.execute("FROM schema").to_arrow_table()
        derivations = connection.execute("FROM derivations").to_arrow_table()
    return Closure(triples, derivations)


def restricted(derivations: pa.Table, patterns: Sequence[TriplePattern]) -> pa.Table:
    """The derivations whose triples can match one of the patterns."""
    kept = pa.array(np.zeros(len(derivations), bool))
    for pattern in patterns:
        fits = pa.array(np.ones(len(derivations), bool))
        for name, term in zip(("s2", "p2", "o2"), pattern.terms, strict=True):
            if isinstance(term, Constant):
                # A mark can stand for any term.
                values = pa.array([term.term, SUBJECT, OBJECT])
                fits = pc.and_(fits, pc.is_in(derivations[name], value_set=values))
        kept = pc.or_(kept, fits)
    return derivations.filter(kept)


def could_entail(
    template: Sequence[TriplePattern], derivations: pa.Table, patterns: Sequence[TriplePattern]
) -> bool:
    """Whether a triple of a template can entail a triple that a pattern matches."""
    found = restricted(derivations, patterns)
    for triple in template:
        fits = pa.array(np.ones(len(found), bool))
        for name, term in (("p", triple.predicate), ("o", triple.object)):
            if isinstance(term, Constant):
                fits = pc.and_(fits, pc.is_in(found[name], value_set=pa.array([term.term, ""])))
        if pc.any(fits).as_py():
            return True
    return False


def _add(connection: duckdb.DuckDBPyConnection, triples: pa.Table, name: str = "schema") -> None:
    connection.register("incoming", triples)
    connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT DISTINCT s, p, o FROM incoming")
    connection.unregister("incoming")


def _count(connection: duckdb.DuckDBPyConnection) -> int:
    ((found,),) = connection.execute("SELECT count(*) FROM schema").fetchall()
    return int(found)


def _quoted(term: str) -> str:
    return "'" + term.replace("'", "''") + "'"


_BOTH = f"({_quoted(SUB_CLASS)}, {_quoted(SUB_PROPERTY)})"

# Rules 5 and 11.
_TRANSITIVE = f"""
INSERT INTO schema
WITH RECURSIVE reached(s, p, o) AS (
  SELECT s, p, o FROM schema WHERE p IN {_BOTH}
  UNION
  SELECT r.s, r.p, e.o FROM reached AS r JOIN steps AS e ON e.p = r.p AND e.s = r.o
)
FROM reached EXCEPT FROM schema
"""

# Rules 7, 2 and 3 for each property, 9 for each class.
_DERIVATIONS = f"""
WITH RECURSIVE
predicates AS (
  SELECT DISTINCT s AS p FROM schema
  WHERE p IN ({_quoted(SUB_PROPERTY)}, {_quoted(DOMAIN)}, {_quoted(RANGE)})
),
types AS (
  SELECT {_quoted(TYPE)} AS p
  UNION SELECT s FROM schema WHERE p = {_quoted(SUB_PROPERTY)} AND o = {_quoted(TYPE)}
),
classes AS (SELECT DISTINCT s AS c FROM schema WHERE p = {_quoted(SUB_CLASS)}),
reached(p, o, s2, p2, o2, bare) AS (
  SELECT p, '', '{SUBJECT}', p, '{OBJECT}', FALSE FROM predicates
  UNION SELECT types.p, classes.c, '{SUBJECT}', types.p, classes.c, FALSE FROM types, classes
  UNION (
    SELECT r.p, r.o, r.s2, e.o, r.o2, r.bare
    FROM reached AS r JOIN steps AS e ON e.s = r.p2 AND e.p = {_quoted(SUB_PROPERTY)}
    UNION ALL
    SELECT r.p, r.o, r.s2, {_quoted(TYPE)}, e.o, r.bare
    FROM reached AS r JOIN steps AS e ON e.s = r.p2 AND e.p = {_quoted(DOMAIN)}
    UNION ALL
    SELECT r.p, r.o, r.o2, {_quoted(TYPE)}, e.o, r.bare OR r.o2 = '{OBJECT}'
    FROM reached AS r JOIN steps AS e ON e.s = r.p2 AND e.p = {_quoted(RANGE)} AND r.o2 NOT LIKE '"%'
    UNION ALL
    SELECT r.p, r.o, r.s2, r.p2, e.o, r.bare
    FROM reached AS r JOIN steps AS e ON e.s = r.o2 AND e.p = {_quoted(SUB_CLASS)}
    WHERE r.p2 = {_quoted(TYPE)}
  )
),
different AS (
  SELECT p, o, s2, p2, o2, bool_and(bare) AS bare FROM reached GROUP BY p, o, s2, p2, o2
)
-- Neither the triple itself, nor for a class what holds for whatever object.
SELECT d.* FROM different AS d
WHERE NOT (d.s2 = '{SUBJECT}' AND d.p2 = d.p AND d.o2 IN ('{OBJECT}', d.o))
AND NOT (d.o <> '' AND EXISTS (
  SELECT 1 FROM different AS g
  WHERE g.o = '' AND g.p = d.p AND g.p2 = d.p2
  AND CASE g.s2 WHEN '{OBJECT}' THEN d.o ELSE g.s2 END = d.s2
  AND CASE g.o2 WHEN '{OBJECT}' THEN d.o ELSE g.o2 END = d.o2
))
"""
