"""The conference of the CQELS paper, made up: sizes and seeds come in; files and texts of queries go out.

People with badges walk through a building (a stream and a floor plan), and they have written papers (a
bibliography of any size). The same seed always gives the same files, and a small bibliography is the
beginning of a large one.
"""

from rheos.bench.conference.bibliography import write_bibliography
from rheos.bench.conference.building import PEOPLE, PER_SECOND, write_floor_plan, write_stream
from rheos.bench.conference.shapes import different
from rheos.bench.conference.templates import TEMPLATES, instance
from rheos.bench.conference.vocabulary import FLOOR_PLAN, RFID, author_name

__all__ = [
    "FLOOR_PLAN",
    "PEOPLE",
    "PER_SECOND",
    "RFID",
    "TEMPLATES",
    "author_name",
    "different",
    "instance",
    "write_bibliography",
    "write_floor_plan",
    "write_stream",
]
