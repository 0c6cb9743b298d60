"""Published figures of the C-SPARQL engine and of CQELS on CityBench, as quotations.

They are in the repository of CityBench's authors, github.com/CityBench/Benchmark, commits e8e6b264 and
e0915405, in `result_log/samples/concurrency`: the files with r=1.0, f=1.0 and dup=1. That is one query at a
time, with one observation a second from every sensor, for 15 minutes. Each file has the mean delay of the
results of a minute, in milliseconds, and the memory of the JVM, in megabytes. Quoted here are the median and
the highest of these means, and the highest memory. There the delay runs from the making of an observation to
the result with it, so that for C-SPARQL the wait for the next step of the window is in it.

What is not here, the files do not have: a delay of Q11 and Q12 of C-SPARQL and of Q12 of CQELS (the authors
say in the queries why not), and results of CQELS for Q10. Of the paper itself only the beginning was at hand.
"""

from __future__ import annotations

from typing import NamedTuple

SOURCE = "github.com/CityBench/Benchmark, result_log/samples/concurrency (Ali, Gao and Mileo, ISWC 2015)"


class Quoted(NamedTuple):
    """Of the means of each minute, the median and the highest, in milliseconds; and the memory, in MB."""

    median: float
    highest: float
    memory: float


CSPARQL_ENGINE = {
    1: Quoted(1017.5, 1265.2, 83),
    2: Quoted(808.0, 903.5, 4001),
    3: Quoted(1078.0, 1473.8, 84),
    4: Quoted(599.6, 653.6, 65),
    5: Quoted(688.6, 1034.8, 162),
    6: Quoted(696.2, 770.2, 80),
    7: Quoted(669.2, 978.5, 81),
    8: Quoted(1045.8, 1271.0, 94),
    9: Quoted(1151.3, 1409.9, 81),
    10: Quoted(665.5, 1025.4, 82),
}
CQELS = {
    1: Quoted(1521.8, 2119.0, 119),
    2: Quoted(4750.8, 11399.5, 128),
    3: Quoted(3740.0, 6182.4, 121),
    4: Quoted(5.0, 7.5, 31),
    5: Quoted(6.4, 29.1, 139),
    6: Quoted(1.8, 11.4, 33),
    7: Quoted(485.9, 501.6, 27),
    8: Quoted(493.8, 503.7, 27),
    9: Quoted(488.8, 502.6, 27),
    11: Quoted(2.4, 13.2, 26),
}
