"""The rival of `rheos bench live`: PySpark's own windowed count, as somebody would write it without rheos.

    python -m rheos_bench.live.rival RANGE STEP

Lines of the stream come in through standard input. Spark cannot read that, so they go to a socket.
A count goes out as a line of JSON with the end of its window, when Spark's watermark has passed that.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f


def main(length: int, step: int) -> None:
    ended = threading.Event()
    port = passed_on(ended)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    lines = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    cells = f.split("value", " ")
    elements = lines.select(
        cells[2].alias("gate"), f.to_timestamp(f.regexp_extract(cells[3], '"(.*?)"', 1)).alias("time")
    )
    windows = f.window("time", f"{length} seconds", f"{step} seconds")
    counts = elements.withWatermark("time", "0 seconds").groupBy(windows, "gate").count()
    query = counts.writeStream.outputMode("append").foreachBatch(write).start()
    ended.wait()
    query.processAllAvailable()
    query.stop()
    spark.stop()


def passed_on(ended: threading.Event) -> int:
    """The port from which the lines of standard input can be read."""
    server = socket.create_server(("127.0.0.1", 0))

    def copy() -> None:
        connection, _ = server.accept()
        with connection:
            while data := os.read(sys.stdin.fileno(), 1 << 16):
                connection.sendall(data)
            ended.set()
            threading.Event().wait()  # Spark fails if the other side goes

    threading.Thread(target=copy, daemon=True).start()
    return int(server.getsockname()[1])


def write(counts: DataFrame, number: int) -> None:
    rows = counts.select(f.date_format("window.end", "yyyy-MM-dd'T'HH:mm:ss'Z'").alias("at"), "gate", "count")
    for at, gate, count in rows.collect():
        sys.stdout.write(json.dumps({"query": "rival", "at": at, "gate": gate, "n": count}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
