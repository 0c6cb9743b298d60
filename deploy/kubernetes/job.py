"""A job for a Spark cluster: counts the posts of each author and writes the counts as Parquet.

spark-submit job.py kafka://broker:9092/posts s3a://bucket/checkpoint s3a://bucket/answers
"""

import sys

from pyspark.sql import SparkSession

from rheos import Engine

QUERY = """
REGISTER QUERY busy AS
SELECT ?who (COUNT(*) AS ?posts)
FROM STREAM <http://example.org/posts> [RANGE 1m STEP 10s]
WHERE { ?who ?does ?what }
GROUP BY ?who
"""


def main(source: str, checkpoint: str, answers: str) -> None:
    spark = SparkSession.builder.appName("rheos").getOrCreate()
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.add_stream("http://example.org/posts", source)
        engine.register(QUERY).to(f"parquet:{answers}")
        engine.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
