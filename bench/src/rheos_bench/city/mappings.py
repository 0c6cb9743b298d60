"""The mappings of CityBench's streams: the name of a stream comes in, a CONSTRUCT query goes out.

A record gives an observation for each property that the repository says its sensor observes. The names of
observations are made of the sensor, the time and the kind of the property, so that the same record always
gives the same observations.
"""

from __future__ import annotations

from rheos.mapping import Mapping
from rheos_bench.city.material import CT, SAO, SERVICES, SSN, observed

USER = "UserLocationService"

# The field with the time of a record, by what the name of the stream begins with.
TIME_FIELDS = {
    "AarhusTrafficData": "TIMESTAMP",
    "AarhusPollutionData": "timestamp",
    "AarhusWeatherData": "TIMESTAMP",
    "AarhusParkingData": "updatetime",
    USER: "time",
}

# The value of an observation, by the kind of the property. The repository does not know how long a road is,
# so that vehicles stand for congestion.
_VALUES = {
    "CongestionLevel": "BIND(xsd:decimal(?vehicleCount) AS ?value)",
    "VehicleCount": "BIND(xsd:decimal(?vehicleCount) AS ?value)",
    "AvgSpeed": "BIND(xsd:decimal(?avgSpeed) AS ?value)",
    "MeasureTime": "BIND(xsd:decimal(?medianMeasuredTime) AS ?value)",
    "EstimatedTime": "BIND(xsd:decimal(?avgMeasuredTime) AS ?value)",
    "Temperature": "BIND(xsd:decimal(?tempm) AS ?value)",
    "Humidity": "BIND(xsd:decimal(?hum) AS ?value)",
    "WindSpeed": "BIND(xsd:decimal(?wspdm) AS ?value)",
    "ParkingVacancy": "BIND(xsd:decimal(?totalspaces) - xsd:decimal(?vehiclecount) AS ?value)",
    # The index of air pollution is the worst of five.
    "API": """
    BIND(xsd:decimal(?ozone) AS ?one)
    BIND(xsd:decimal(?particullate_matter) AS ?two)
    BIND(xsd:decimal(?carbon_monoxide) AS ?three)
    BIND(xsd:decimal(?sulfure_dioxide) AS ?four)
    BIND(xsd:decimal(?nitrogen_dioxide) AS ?five)
    BIND(IF(?one > ?two, ?one, ?two) AS ?worse)
    BIND(IF(?three > ?four, ?three, ?four) AS ?bad)
    BIND(IF(?worse > ?bad, ?worse, ?bad) AS ?worst)
    BIND(IF(?worst > ?five, ?worst, ?five) AS ?value)""",
    # A place is a thing with two numbers.
    "Location": """
    BIND(IRI(CONCAT(STR(?observation), "-place")) AS ?value)
    BIND(xsd:double(?user_latitude) AS ?latitude)
    BIND(xsd:double(?user_longitude) AS ?longitude)""",
}


def time_field(stream: str) -> str:
    """The field that has the time of a record."""
    return next(field for begin, field in TIME_FIELDS.items() if stream.startswith(begin))


def mapping_of(stream: str) -> Mapping:
    """The mapping of a stream."""
    field = time_field(stream)
    kinds = "\n  UNION\n".join(
        f"""  {{
    BIND(<{property}> AS ?property)
    BIND(IRI(CONCAT("{SERVICES}{stream}-{kind}-", ENCODE_FOR_URI(?{field}))) AS ?observation)
    {_VALUES[kind].strip()}
  }}"""
        for kind, property in sorted(observed()[stream].items())
    )
    place = f"?value <{CT}hasLatitude> ?latitude ; <{CT}hasLongitude> ?longitude ." if stream == USER else ""
    text = f"""\
PREFIX ssn: <{SSN}>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
CONSTRUCT {{
  ?observation a ssn:Observation ;
    ssn:observedProperty ?property ;
    ssn:observedBy <{SERVICES}{stream}> ;
    <{SAO}hasValue> ?value .
  {place}
}} WHERE {{
{kinds}
}}"""
    return Mapping(text, name=f"the mapping of {stream}")
