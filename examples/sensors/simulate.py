"""Four sensors that tell their temperature over MQTT, as JSON, every five seconds; one of them catches fire.

python examples/sensors/simulate.py                        as time goes by, until Ctrl-C
python examples/sensors/simulate.py --start 2026-01-01T00:00:00Z --seconds 180      as fast as it can
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

STEP = 5  # seconds
BASES = {"s1": 21.0, "s2": 19.5, "s3": 12.0, "s4": 16.0}
FIRE = ("s3", 60, 100)  # a sensor, and from when to when it is on fire, again every five minutes


def values(second: int) -> Iterator[tuple[str, float]]:
    """What each sensor measures so many seconds after the beginning."""
    sensor, begin, end = FIRE
    for number, (name, base) in enumerate(BASES.items()):
        burning = 15.0 if name == sensor and begin <= second % 300 < end else 0.0
        yield name, round(base + math.sin(second / 40 + number) + burning, 1)


def messages(start: datetime, seconds: int | None) -> Iterator[tuple[int, str, str]]:
    """Seconds after the beginning, topics and messages."""
    second = 0
    while seconds is None or second < seconds:
        at = (start + timedelta(seconds=second)).isoformat(timespec="seconds").replace("+00:00", "Z")
        for sensor, celsius in values(second):
            said = {"sensor": sensor, "celsius": celsius, "ts": at}
            yield second, f"city/{sensor}/temperature", json.dumps(said)
        second += STEP


def main() -> None:
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--start", type=datetime.fromisoformat, help="when it begins; without it, now")
    parser.add_argument("--seconds", type=int, help="how long it goes on; without it, until Ctrl-C")
    told = parser.parse_args()
    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.connect(told.host, told.port)
    client.loop_start()
    began, count = time.monotonic(), 0
    for second, topic, text in messages(told.start or datetime.now(UTC), told.seconds):
        if told.start is None:
            time.sleep(max(0.0, began + second - time.monotonic()))
        client.publish(topic, text, qos=1).wait_for_publish(30)
        count += 1
    client.disconnect()
    client.loop_stop()
    print(f"{count} messages")


if __name__ == "__main__":
    main()
