"""What is mutated: queries of the examples and of the golden tests, updates, RDF, elements of streams."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyoxigraph as ox

ROOT = Path(__file__).resolve().parents[2]
SMALL = 4_000  # characters

FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
_XSD = "http://www.w3.org/2001/XMLSchema#"

_QUERIES = (
    "SELECT * { ?s ?p ?o OPTIONAL { ?s <a:q> ?x FILTER(?x > ?o || ?o = 'a' && !BOUND(?x)) } }"
    " ORDER BY DESC(?o)",
    "SELECT ?s (COUNT(DISTINCT ?o) AS ?n) (GROUP_CONCAT(?o; SEPARATOR=',') AS ?all) { ?s ?p ?o } GROUP BY ?s"
    " HAVING (SUM(?o) > 1 || MIN(?o) IN (1, 'a', <a:b>)) LIMIT 5 OFFSET 1",
    "SELECT * { ?s (<a:p>|^<a:q>/!(<a:r>|^a))* ?o MINUS { ?s a <a:t> }"
    " VALUES (?o ?z) { (1 UNDEF) (<a:b> 2.5) } }",
    "SELECT * { { SELECT ?s { ?s ?p ?o } } UNION { GRAPH ?g { ?s ?p 'x'@en } }"
    " BIND(IF(?s = ?g, 1, 1/0) AS ?b) }",
    "DESCRIBE ?s <a:b> { ?s ?p [ <a:q> ( 1 2e0 'x'^^<http://ex/t> ) ; a <a:t> ] }",
    "CONSTRUCT { ?s <a:p> [ <a:q> ?o ] } WHERE { ?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s FILTER(?s != ?o) } }",
    "SELECT * { ?s ?p ?o FILTER(REGEX(STR(?o), '^[a-z]+$', 'i') && LANGMATCHES(LANG(?o), '*')) "
    f"BIND(REPLACE(STR(?o), '(a)(b)?', '$1-$2') AS ?r) FILTER(?o < 'P1D'^^<{_XSD}dayTimeDuration>) }}",
    f"SELECT (YEAR(?o) AS ?y) (<{_XSD}date>(?o) AS ?d) (SUBSTR(STR(?o), 2, 3) AS ?x) {{ ?s ?p ?o }}",
    "REGISTER QUERY q COMPUTED EVERY 5s AS SELECT ?s ?n FROM STREAM <http://ex/s> [RANGE 10s STEP 1s]"
    " WHERE { ?s ?p ?o GRAPH <http://ex/s> { ?s <a:q> ?z } } AGGREGATE { (?n, COUNT, {?s}) FILTER(?n > 1) }",
    "REGISTER STREAM d AS CONSTRUCT { ?s <a:d> ?o } FROM NAMED STREAM <http://ex/s> [RANGE TRIPLES 5 STEP 2]"
    " WHERE { GRAPH ?g { ?s ?p ?o } FILTER(timestamp(?o, ?g) > timestamp(?s)) }",
    "SELECT ?a ?b { STREAM <http://ex/s> [RANGE 10s SLIDE 1s] { ?a <a:p> ?b }"
    " STREAM ?w [TRIPLES 3] { ?b ?q ?c }"
    " OPTIONAL { STREAM <http://ex/s> [ALL] { ?c <a:p> ?a } } FILTER EXISTS { ?a a <a:t> } }",
    "SELECT ?x (COUNT(*) AS ?n) { { ?x <a:p> ?v } SEQ { ?x <a:q> ?w } OPTIONALSEQ { ?x <a:r> ?u }"
    " FILTER(getDURATION() < 'PT1H'^^<http://www.w3.org/2001/XMLSchema#duration> && ?v < ?w * 2) }"
    " GROUP BY ?x WITHIN 10m",
    "REGISTER STREAM r CONSUMPTION RECENT AS CONSTRUCT { ?x <a:rise> ?w } FROM STREAM <http://ex/s>"
    " { { ?x <a:p> ?v } SEQ { ?x <a:p> ?w } EQUALSOPTIONAL { { ?x <a:n> ?n } UNION { ?n <a:n> ?x } } }",
)  # fmt: skip

UPDATES = (
    "PREFIX : <a:> INSERT DATA { :s :p 1 , 'x'@en ; :q [ :r ( 1 2 ) ] . GRAPH :g { :s :p _:b } }",
    "WITH <a:g> DELETE { ?s ?p ?o } INSERT { ?s ?p ?n . GRAPH <a:h> { ?s <a:was> ?o } } USING NAMED <a:g>"
    " WHERE { ?s ?p ?o BIND(?o + 1 AS ?n) FILTER(?n < 5) }",
    "DELETE WHERE { ?s <a:p> ?o . GRAPH ?g { ?s ?p ?o } } ; CREATE SILENT GRAPH <a:g> ;"
    " COPY <a:g> TO DEFAULT",
    "DELETE DATA { <a:s> <a:p> 1 } ; CLEAR NAMED ; DROP SILENT GRAPH <a:g> ; MOVE SILENT <a:g> TO <a:h> ;"
    " ADD DEFAULT TO <a:h> ; LOAD SILENT <file:///nowhere/x.ttl> INTO GRAPH <a:g>",
)

_DATA = f"""
<http://ex/s> <http://ex/p> "a\\nb\\"c\\\\\\u00e9"@en-GB .
<http://ex/s> <http://ex/q> _:b .
_:b <http://ex/q> "1.5"^^<{_XSD}decimal> .
_:b <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/T> .
<http://ex/s> <http://ex/p> "2020-01-01T00:00:00Z"^^<{_XSD}dateTime> .
"""

_LINES = (
    f'<http://ex/a> <http://ex/p> <http://ex/b> "2026-01-01T00:00:01Z"^^<{_XSD}dateTime> .\n'
    f'_:x <http://ex/p> "v\\u00e9\\n"@en "2026-01-01T00:00:01.5+02:00"^^<{_XSD}dateTime> .\n'
    f'<http://ex/a> <http://ex/p> "5"^^<{_XSD}integer> "2026-01-01T00:00:02Z"^^<{_XSD}dateTime> '
    f'"2026-01-01T00:00:03Z"^^<{_XSD}dateTime> . # an interval\n'
    "<http://ex/a> <http://ex/p> 'none' .\n",
    f'<http://ex/a> <http://ex/p> <http://ex/b> "1999-12-31T24:00:00Z"^^<{_XSD}dateTime> .\n' * 3,
)

_DOCUMENT = f"""@prefix : <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g prov:generatedAtTime "2026-01-01T00:00:01Z"^^<{_XSD}dateTime> . :g {{ :a :p :b , _:c , "x"@en . }}
_:h prov:generatedAtTime "2026-01-01T00:00:02"^^<{_XSD}dateTime> . _:h {{ :a :q 5 . }}
"""


@cache
def queries() -> tuple[str, ...]:
    files = [*(ROOT / "examples").rglob("*.rq"), *(ROOT / "tests" / "golden" / "queries").glob("*.rq")]
    texts = (path.read_text(encoding="utf-8") for path in sorted(files))
    return (*_QUERIES, *(text for text in texts if len(text) < SMALL))


@cache
def documents() -> dict[str, tuple[str, ...]]:
    """The same data in every format, and some of the examples' own."""
    quads = list(ox.parse(_DATA, ox.RdfFormat.N_TRIPLES))
    triples = [quad.triple for quad in quads]
    graphs = [ox.Quad(*triple, ox.NamedNode("http://ex/g")) for triple in triples]
    found = {}
    for name, format in FORMATS.items():
        items = [*quads, *graphs] if format.supports_datasets else triples
        found[name] = ((ox.serialize(items, format=format) or b"").decode(),)
    found["turtle"] += ((ROOT / "examples" / "sparql" / "roadworks.ttl").read_text(encoding="utf-8")[:SMALL],)
    found["ntriples"] += (_DATA,)
    found["jsonld"] += (
        '{"@context": {"p": {"@id": "http://ex/p", "@container": "@list"}, "@base": "http://ex/"},'
        ' "@id": "x", "p": [1, 2.5, true, null, {"@value": "a", "@language": "en"}, {"@id": "_:b"}]}',
    )
    return found


@cache
def elements() -> tuple[str, ...]:
    files = sorted((ROOT / "examples").rglob("*.nq"))
    return (*_LINES, *(path.read_text(encoding="utf-8")[:1_000] for path in files))


@cache
def graphs() -> dict[str, tuple[str, ...]]:
    """Documents of graphs that have a time."""
    quads = list(ox.parse(_DOCUMENT, ox.RdfFormat.TRIG))
    kinds = {"trig": ox.RdfFormat.TRIG, "jsonld": ox.RdfFormat.JSON_LD, "nquads": ox.RdfFormat.N_QUADS}
    written = {name: (ox.serialize(quads, format=kind) or b"").decode() for name, kind in kinds.items()}
    return {name: (text, _DOCUMENT) if name == "trig" else (text,) for name, text in written.items()}
