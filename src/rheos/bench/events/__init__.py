"""The applications of the EP-SPARQL paper, made up: sizes and seeds come in; files and queries go out.

Stock prices and ratings, a tree of classes of plants, deliveries in a city with closed roads, and the
pressure that a buoy measures. The same seed always gives the same files.
"""

from rheos.bench.events.delivery import write_city, write_traffic
from rheos.bench.events.plants import write_classes, write_sightings
from rheos.bench.events.queries import DELIVERY, PLANTS, STOCKS, TSUNAMI
from rheos.bench.events.stocks import write_prices, write_stocks
from rheos.bench.events.tsunami import write_places, write_pressure

__all__ = [
    "DELIVERY",
    "PLANTS",
    "STOCKS",
    "TSUNAMI",
    "write_city",
    "write_classes",
    "write_places",
    "write_pressure",
    "write_prices",
    "write_sightings",
    "write_stocks",
    "write_traffic",
]
