"""Templates: the five queries of the CQELS paper, each for any author.

They are as printed in section 4.1, with two corrections in Q5: `loc2` lacks its question mark there, and the
aggregate is written as in SPARQL 1.1. Q4 has no `FROM NAMED` in the paper either.
"""

from __future__ import annotations

from rheos_bench.conference.vocabulary import FLOOR_PLAN, PREFIXES, RFID, author_name

Q1 = f"""{PREFIXES}
SELECT ?locName ?locDesc
FROM NAMED <{FLOOR_PLAN}>
WHERE {{
  STREAM <{RFID}> [NOW] {{?person lv:detectedAt ?loc}}
  GRAPH <{FLOOR_PLAN}> {{?loc lv:name ?locName. ?loc lv:desc ?locDesc}}
  ?person foaf:name "$Name$".
}}
"""

Q2 = f"""{PREFIXES}
CONSTRUCT {{?person1 lv:reachable ?person2}}
FROM NAMED <{FLOOR_PLAN}>
WHERE {{
  STREAM <{RFID}> [NOW] {{?person1 lv:detectedAt ?loc1}}
  STREAM <{RFID}> [RANGE 3s] {{?person2 lv:detectedAt ?loc2}}
  GRAPH <{FLOOR_PLAN}> {{?loc1 lv:connected ?loc2}}
}}
"""

Q3 = f"""{PREFIXES}
SELECT ?coAuthName
FROM NAMED <{FLOOR_PLAN}>
WHERE {{
  STREAM <{RFID}> [TRIPLES 1] {{?auth lv:detectedAt ?loc}}
  STREAM <{RFID}> [RANGE 5s] {{?coAuth lv:detectedAt ?loc}}
  {{ ?paper dc:creator ?auth. ?paper dc:creator ?coAuth.
    ?auth foaf:name "$Name$". ?coAuth foaf:name ?coAuthName }}
  FILTER (?auth != ?coAuth)
}}
"""

Q4 = f"""{PREFIXES}
SELECT ?editorName
WHERE {{
  STREAM <{RFID}> [TRIPLES 1] {{?auth lv:detectedAt ?loc1}}
  STREAM <{RFID}> [RANGE 15s] {{?editor lv:detectedAt ?loc2}}
  GRAPH <{FLOOR_PLAN}> {{?loc1 lv:connected ?loc2}}
  ?paper dc:creator ?auth. ?paper dcterms:partOf ?proceeding.
  ?proceeding swrc:editor ?editor. ?editor foaf:name ?editorName.
  ?auth foaf:name "$Name$"
}}
"""

Q5 = f"""{PREFIXES}
SELECT ?loc2 ?locName (COUNT(DISTINCT ?coAuth) AS ?noCoAuths)
FROM NAMED <{FLOOR_PLAN}>
WHERE {{
  STREAM <{RFID}> [TRIPLES 1] {{?auth lv:detectedAt ?loc1}}
  STREAM <{RFID}> [RANGE 30s] {{?coAuth lv:detectedAt ?loc2}}
  GRAPH <{FLOOR_PLAN}> {{?loc2 lv:name ?locName. ?loc2 lv:connected ?loc1}}
  {{ ?paper dc:creator ?auth. ?paper dc:creator ?coAuth. ?auth foaf:name "$Name$" }}
  FILTER (?auth != ?coAuth)
}}
GROUP BY ?loc2 ?locName
"""

TEMPLATES: dict[int, str] = {1: Q1, 2: Q2, 3: Q3, 4: Q4, 5: Q5}


def instance(template: int, author: int) -> str:
    """A template with the name of an author in it. The second has no name and is the same for all."""
    return TEMPLATES[template].replace("$Name$", author_name(author))
