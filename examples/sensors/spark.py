"""The same as a program of PySpark: python examples/sensors/spark.py"""

from pathlib import Path

from pyspark.sql import SparkSession

from rheos import Engine

HERE, TEMPERATURE = Path(__file__).parent, "http://example.org/streams/temperature"

with Engine(SparkSession.builder.getOrCreate()) as engine:
    engine.load(HERE / "rooms.ttl")
    source = "mqtt://127.0.0.1:1883/city/+/temperature"
    engine.add_stream(TEMPERATURE, source, mapping=HERE / "sensors.rq", time="field:ts")
    average = engine.register((HERE / "average.rq").read_text()).to(
        "kafka://127.0.0.1:9092/averages", key="room"
    )
    average.for_each_batch(lambda frame, number: frame.orderBy("at", "room").show())
    engine.register((HERE / "alarm.rq").read_text(), name="alarm").to("http://127.0.0.1:8000/alarms")
    engine.run()  # until Ctrl-C
