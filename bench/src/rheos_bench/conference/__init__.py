"""The conference of the CQELS paper, with generated data: files and queries.

People with badges walk through a building: a stream and a floor plan. They have written papers: a
bibliography of any size. The same seed always gives the same files, and a small bibliography is the beginning
of a large one.
"""

from rheos_bench.conference.bibliography import write_bibliography
from rheos_bench.conference.building import PEOPLE, PER_SECOND, write_floor_plan, write_stream
from rheos_bench.conference.shapes import different
from rheos_bench.conference.templates import TEMPLATES, instance
from rheos_bench.conference.vocabulary import FLOOR_PLAN, RFID, author_name

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
