"""The applications of the EP-SPARQL paper, made up: sizes and seeds come in; files and queries go out.

Stock prices and ratings, a tree of classes of plants, deliveries in a city with closed roads, and the
pressure that a buoy measures. The same seed always gives the same files.
"""

from rheos.bench.applications.delivery import write_city, write_traffic
from rheos.bench.applications.plants import write_classes, write_sightings
from rheos.bench.applications.queries import DELIVERY, PLANTS, STOCKS, TSUNAMI
from rheos.bench.applications.stocks import write_prices, write_stocks, write_trades
from rheos.bench.applications.tsunami import write_places, write_pressure

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
    "write_trades",
    "write_traffic",
]
