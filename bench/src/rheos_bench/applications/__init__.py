"""The applications of the EP-SPARQL paper, with generated data: files of streams, and queries.

They are stock prices and ratings, a tree of classes of plants, deliveries in a city with closed roads, and
the pressure that a buoy measures. The same seed always gives the same files.
"""

from rheos_bench.applications.delivery import write_city, write_traffic
from rheos_bench.applications.plants import write_classes, write_sightings
from rheos_bench.applications.queries import DELIVERY, PLANTS, STOCKS, TSUNAMI
from rheos_bench.applications.stocks import write_prices, write_stocks, write_trades
from rheos_bench.applications.tsunami import write_places, write_pressure

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
