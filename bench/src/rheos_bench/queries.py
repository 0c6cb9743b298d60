"""The queries of `rheos bench sparql` over the generated city, by the feature that each one uses."""

from __future__ import annotations

from rheos_bench.data import CITY, VOCABULARY

PREFIXES = f"""\
PREFIX v: <{VOCABULARY}>
PREFIX person: <{CITY}person/>
PREFIX district: <{CITY}district/>
"""

_VARIED = {
    "selective lookup": "SELECT ?property ?value { person:17 ?property ?value }",
    "star join": """SELECT ?person ?name ?email ?income {
        ?person a v:Person ; v:livesIn district:7 ; v:name ?name ; v:email ?email ; v:income ?income }""",
    "chain join": """SELECT ?person ?friend ?shop {
        ?person v:knows ?friend . ?friend v:worksAt ?shop .
        ?shop v:locatedIn district:7 }""",
    "OPTIONAL": """SELECT ?person ?name ?email ?shop {
        ?person v:livesIn district:3 ; v:name ?name
        OPTIONAL { ?person v:email ?email }
        OPTIONAL { ?person v:worksAt ?shop } }""",
    "GROUP BY": """SELECT ?district (COUNT(*) AS ?people) (AVG(?income) AS ?mean) {
        ?person v:livesIn ?district ; v:income ?income } GROUP BY ?district""",
    "FILTER on numbers": "SELECT ?reading ?value { ?reading v:value ?value FILTER(?value > 99) }",
    "string search": """SELECT ?person ?name {
        ?person a v:Person ; v:name ?name FILTER(CONTAINS(LCASE(?name), "marnov")) }""",
    "property path +": "SELECT ?person { ?person v:mentor+ person:5 }",
    "NOT EXISTS": """SELECT ?person {
        ?person v:livesIn district:9 FILTER NOT EXISTS { ?other v:knows ?person } }""",
    "ORDER BY LIMIT": "SELECT ?person ?income { ?person v:income ?income } ORDER BY DESC(?income) LIMIT 10",
    "DISTINCT": """SELECT DISTINCT ?age ?category {
        ?person v:age ?age ; v:worksAt/v:category ?category }""",
}

VARIED = {name: PREFIXES + text for name, text in _VARIED.items()}

SMALL = (
    PREFIXES
    + """\
SELECT ?name ?income {
  ?person v:name ?name ; v:income ?income ; v:livesIn ?district .
  FILTER(?income > 50000)
} ORDER BY ?name LIMIT 20
"""
)

TWENTY_LINES = (
    PREFIXES
    + """\
SELECT ?district ?category (COUNT(DISTINCT ?person) AS ?people) (AVG(?income) AS ?mean)
WHERE {
  ?person a v:Person ;
          v:name ?name ;
          v:age ?age ;
          v:income ?income ;
          v:livesIn ?district .
  OPTIONAL {
    ?person v:worksAt ?shop .
    ?shop v:category ?category
    FILTER(?category != "tailor")
  }
  FILTER(?age >= 18 && CONTAINS(LCASE(?name), "a"))
  FILTER NOT EXISTS { ?person v:mentor/v:mentor ?person }
}
GROUP BY ?district ?category HAVING(COUNT(*) > 1)
ORDER BY DESC(?people) ?district
"""
)
