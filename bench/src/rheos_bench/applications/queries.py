"""The queries of the applications, in EP-SPARQL, by name.

Those about stocks are queries (1) to (6) of section 4.1 of the paper. The first four are not preserved and
are written anew from their description. The last two are as printed; comments say what they lack.
"""

from __future__ import annotations

from rheos_bench.applications import delivery, plants, stocks, tsunami

_XSD = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"

# --- stocks -----------------------------------------------------------------------------------------------

_STOCKS = f"PREFIX : <{stocks.STOCKS}>\n{_XSD}\n"

CRASH_AND_RECOVERY = f"""{_STOCKS}
SELECT ?company
WHERE {{
  {{ ?company :hasStockPrice ?price1 }}
  SEQ {{ ?company :hasStockPrice ?price2 }}
  SEQ {{ ?company :hasStockPrice ?price3 }}
  FILTER (?price2 < ?price1 * 0.7 && ?price3 > ?price2 * 1.05 && getDURATION() < "P30D"^^xsd:duration)
}}
"""

CRASH_AND_DOWNRATING = f"""{_STOCKS}
SELECT ?company ?agency
WHERE {{
  {{ ?company :downratedBy ?agency FILTER (getDURATION() < "P20D"^^xsd:duration) }}
  OPTIONALSEQ
  {{ {{ ?company :hasStockPrice ?price1 }} SEQ {{ ?company :hasStockPrice ?price2 }}
    FILTER (?price2 < ?price1 * 0.5 && getDURATION() < "P10D"^^xsd:duration) }}
}}
"""

RISE_WITHOUT_ACQUISITION = f"""{_STOCKS}
SELECT ?company
WHERE {{
  {{ ?company :hasStockPrice ?price1 }} SEQ {{ ?company :hasStockPrice ?price2 }}
  EQUALSOPTIONAL
  {{ {{ ?company :hasStockPrice ?price1 }}
    SEQ {{ ?company :hasAcquired ?other }}
    SEQ {{ ?company :hasStockPrice ?price2 }} }}
  FILTER (?price2 > ?price1 * 1.5 && !BOUND(?other) && getDURATION() < "P15D"^^xsd:duration)
}}
"""

# Only the last earlier rating counts.
DOWNRATINGS = f"""REGISTER QUERY downratings CONSUMPTION RECENT AS
{_STOCKS}
CONSTRUCT {{ ?company :downratedBy ?agency }}
WHERE {{
  {{ ?rating1 :of ?company . ?rating1 :by ?agency . ?rating1 :grade ?before }}
  SEQ {{ ?rating2 :of ?company . ?rating2 :by ?agency . ?rating2 :grade ?after }}
  FILTER (?after < ?before && getDURATION() < "P90D"^^xsd:duration)
}}
"""

# The paper has no rule for the first price. Without one there is no count to go on from.
COUNTS_BEGIN = f"""{_STOCKS}
CONSTRUCT {{ _:point :hasCount 1 . _:point :hasSum ?price }}
FROM STREAM <{stocks.STREAM}>
WHERE {{ :ACME :hasStockPrice ?price }}
"""

COUNTS_GO_ON = f"""{_STOCKS}
CONSTRUCT {{ _:point :hasCount ?count . _:point :hasSum ?sum }}
WHERE {{
  {{ SELECT (?prevcount + 1 AS ?count) (?prevsum + ?price AS ?sum)
    WHERE {{
      {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum }}
      SEQ {{ :ACME :hasStockPrice ?price }}
      EQUALSOPTIONAL
      {{ {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum }}
        SEQ {{ :ACME :hasStockPrice ?inbetween }}
        SEQ {{ :ACME :hasStockPrice ?price }} }}
      FILTER (!BOUND(?inbetween) && getDURATION() < "P10D"^^xsd:duration)
    }} }}
}}
"""

# The paper selects ?sum / ?count, but calls them ?prevsum and ?prevcount in the pattern.
AVERAGE = f"""{_STOCKS}
SELECT (?sum / ?count AS ?average)
WHERE {{
  {{ :ACME :hasStockPrice ?price }}
  SEQ {{ ?point :hasCount ?count . ?point :hasSum ?sum }}
  EQUALSOPTIONAL
  {{ {{ :ACME :hasStockPrice ?price }}
    SEQ {{ :ACME :hasStockPrice ?inbetween }}
    SEQ {{ ?point :hasCount ?count . ?point :hasSum ?sum }} }}
  FILTER (!BOUND(?inbetween) && getDURATION() > "P10D"^^xsd:duration)
}}
"""

# The purpose of (5) and (6) with the shorthand WITHIN: after every price, the average of the last ten days.
AVERAGES = f"""{_STOCKS}
SELECT ?company (AVG(?price) AS ?average)
FROM STREAM <{stocks.STREAM}>
WHERE {{ ?company :hasStockPrice ?price }}
GROUP BY ?company
WITHIN "P10D"^^xsd:duration
"""

# Not in the paper, but for `rheos bench events`: three prices in a row. Nearly all prices are part of one.
PEAKS = f"""{_STOCKS}
SELECT ?company ?price1 ?price2 ?price3
FROM STREAM <{stocks.STREAM}>
WHERE {{
  {{ ?company :hasStockPrice ?price1 }}
  SEQ {{ ?company :hasStockPrice ?price2 }}
  SEQ {{ ?company :hasStockPrice ?price3 }}
  FILTER (?price2 > ?price1 && ?price2 > ?price3 && getDURATION() < "PT4S"^^xsd:duration)
}}
"""

STOCKS = {
    "crash-and-recovery": CRASH_AND_RECOVERY,
    "crash-and-downrating": CRASH_AND_DOWNRATING,
    "rise-without-acquisition": RISE_WITHOUT_ACQUISITION,
    "downratings": DOWNRATINGS,
    "counts-begin": COUNTS_BEGIN,
    "counts-go-on": COUNTS_GO_ON,
    "average": AVERAGE,
    "averages": AVERAGES,
}

# --- plants -----------------------------------------------------------------------------------------------

_PLANTS = f"""\
PREFIX : <{plants.PLANTS}>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX plants: <http://spire.umbc.edu/ontologies/EthanPlants.owl#>
{_XSD}
"""

# With entailment: instances of every class below count.
VASCULAR_PLANTS = f"""{_PLANTS}
SELECT ?specimen ?place
FROM STREAM <{plants.STREAM}>
WHERE {{ ?specimen :seenAt ?place . ?specimen a plants:Tracheobionta }}
"""

# The same without entailment: a path finds the classes below.
VASCULAR_PLANTS_BY_PATH = f"""{_PLANTS}
SELECT ?specimen ?place
FROM STREAM <{plants.STREAM}>
WHERE {{ ?specimen :seenAt ?place . ?specimen a/rdfs:subClassOf* plants:Tracheobionta }}
"""

# With entailment, too.
SEEN_TOGETHER = f"""{_PLANTS}
SELECT ?specimen ?other ?place
WHERE {{
  {{ ?specimen :seenAt ?place . ?specimen a plants:Tracheobionta }}
  SEQ {{ ?other :seenAt ?place . ?other a plants:Tracheobionta }}
  FILTER (?specimen != ?other && getDURATION() < "PT1M"^^xsd:duration)
}}
"""

PLANTS = {
    "vascular-plants": VASCULAR_PLANTS,
    "vascular-plants-by-path": VASCULAR_PLANTS_BY_PATH,
    "seen-together": SEEN_TOGETHER,
}

# --- delivery ---------------------------------------------------------------------------------------------

_DELIVERY = f"PREFIX : <{delivery.CITY}>\n{_XSD}\n"

# While an agent is with a customer, a road on which she could go on is closed.
CLOSING_AHEAD = f"""{_DELIVERY}
SELECT ?agent ?here ?next ?road
WHERE {{
  {{ ?agent :isAt ?here }} SEQ {{ ?road :turns :Blocked . ?road :start ?here }}
  EQUALSOPTIONAL
  {{ {{ ?agent :isAt ?here }}
    SEQ {{ ?agent :isAt ?elsewhere }}
    SEQ {{ ?road :turns :Blocked . ?road :start ?here }} }}
  ?stop :agent ?agent . ?stop :place ?here . ?stop :next ?next .
  ?road :end ?via . ?via :leadsTo* ?next .
  FILTER (!BOUND(?elsewhere) && getDURATION() < "PT30M"^^xsd:duration)
}}
"""

# A rule: the roads from where an agent asks that were closed before and have not been opened since.
CLOSED_ROADS = f"""{_DELIVERY}
CONSTRUCT {{ ?road :closedFor ?request }}
WHERE {{
  {{ ?road :turns :Blocked . ?road :start ?here }} SEQ {{ ?request :from ?here }}
  EQUALSOPTIONAL
  {{ {{ ?road :turns :Blocked . ?road :start ?here }}
    SEQ {{ ?road :turns ?state FILTER (?state = :Open) }}
    SEQ {{ ?request :from ?here }} }}
  FILTER (!BOUND(?state) && getDURATION() < "P1D"^^xsd:duration)
}}
"""

# The roads that an agent can take when she asks: those to the next customer that are not closed.
OPEN_ROADS = f"""{_DELIVERY}
SELECT ?agent ?here ?next ?road
WHERE {{
  ?request :by ?agent . ?request :from ?here . ?request :to ?next .
  ?road :start ?here . ?road :end ?via . ?via :leadsTo* ?next .
  OPTIONAL {{ ?closed :closedFor ?request FILTER (?closed = ?road) }}
  FILTER (!BOUND(?closed) && getDURATION() < "PT1S"^^xsd:duration)
}}
"""

DELIVERY = {"closing-ahead": CLOSING_AHEAD, "closed-roads": CLOSED_ROADS, "open-roads": OPEN_ROADS}

# --- tsunamis ---------------------------------------------------------------------------------------------

_SEA = f"PREFIX : <{tsunami.SEA}>\n{_XSD}\n"
_W0, _W1, _W2, _W3 = (f"{weight:.14f}" for weight in tsunami.WEIGHTS)

# A rule: from four values an hour apart, what the pressure should be five minutes and a quarter later.
PREDICTIONS = f"""{_SEA}
CONSTRUCT {{ ?buoy :predicted ?predicted }}
WHERE {{
  {{ {{ {{ ?buoy :pressure ?h3 }}
      SEQ {{ ?buoy :pressure ?h2 }} FILTER (getDURATION() = "PT1H"^^xsd:duration) }}
    SEQ {{ ?buoy :pressure ?h1 }} FILTER (getDURATION() = "PT2H"^^xsd:duration) }}
  SEQ {{ ?buoy :pressure ?h0 }} FILTER (getDURATION() = "PT3H"^^xsd:duration)
  BIND ({_W0} * ?h0 + {_W1} * ?h1 + {_W2} * ?h2 + {_W3} * ?h3 AS ?predicted)
}}
"""

PREDICTED_AND_OBSERVED = f"""{_SEA}
SELECT ?buoy ?predicted ?observed (?observed - ?predicted AS ?difference)
WHERE {{
  {{ ?buoy :predicted ?predicted }} SEQ {{ ?buoy :pressure ?observed }}
  FILTER (getDURATION() = "PT3H5M15S"^^xsd:duration)
}}
"""

# The static data says whom to warn.
DETECTIONS = f"""{_SEA}
SELECT ?buoy ?difference ?name
WHERE {{
  {{ ?buoy :predicted ?predicted }} SEQ {{ ?buoy :pressure ?observed }}
  ?buoy :warns ?place . ?place :name ?name .
  BIND (?observed - ?predicted AS ?difference)
  FILTER (ABS(?difference) > {tsunami.THRESHOLD} && getDURATION() = "PT3H5M15S"^^xsd:duration)
}}
"""

TSUNAMI = {
    "predictions": PREDICTIONS,
    "predicted-and-observed": PREDICTED_AND_OBSERVED,
    "detections": DETECTIONS,
}
