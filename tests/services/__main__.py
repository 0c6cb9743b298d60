"""`make services`: fetches the real brokers that tests start, once, and says what it downloads."""

from __future__ import annotations

import sys

from tests.services.artifacts import Missing, fetch
from tests.services.mosquitto import program

if __name__ == "__main__":
    print(
        "fetching from Maven Central, once: a Kafka broker and Spark's connector for Kafka", file=sys.stderr
    )
    try:
        for line in fetch():
            print(f"  {line}", file=sys.stderr)
    except Missing as missing:
        print(f"THE TESTS WITH KAFKA ARE SKIPPED: {missing}", file=sys.stderr)
    if program() is None:
        print("THE TESTS WITH MQTT ARE SKIPPED: there is no mosquitto", file=sys.stderr)
