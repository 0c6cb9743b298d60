"""What the tests of the cluster run as a program of its own: queries in all languages over two streams.

    python -m tests.cluster.program MASTER CHECKPOINT STREAMS OUTPUT [incremental]

STREAMS is the folder or URI of the streams. All answers go to OUTPUT; a run that was interrupted goes on.
With `incremental`, workers use what they kept of earlier batches wherever they can, although little is live.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from rheos import Engine
from rheos.answers.formatter import Formatter
from rheos.filesystems import uri_of
from rheos.runtime.state.journal import OutputFile
from rheos.runtime.state.store import Store

EX = "http://ex/"
STATIC = """
@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:enters rdfs:subPropertyOf :visits . :leaves rdfs:subPropertyOf :visits .
"""
ROOMS = "".join(f":r{n} :floor :f{n % 3} . " for n in range(12))

QUERIES = [
    # C-SPARQL: a count per group, a join of two streams with static data, and a derived stream.
    "REGISTER QUERY counted AS SELECT ?r (COUNT(?p) AS ?n) FROM STREAM <in> [RANGE 20s STEP 5s]"
    " WHERE { ?p :enters ?r } GROUP BY ?r",
    "REGISTER QUERY met AS SELECT DISTINCT ?p ?f FROM STREAM <in> [RANGE 10s STEP 10s]"
    " FROM STREAM <out> [RANGE 10s STEP 10s] WHERE { ?p :enters ?r . ?p :leaves ?r . ?r :floor ?f }",
    "REGISTER STREAM busy AS CONSTRUCT { ?f :busy ?n } FROM STREAM <in> [RANGE 10s TUMBLING]"
    " WHERE { SELECT ?f (COUNT(*) AS ?n) { ?p :enters ?r . ?r :floor ?f } GROUP BY ?f }",
    "REGISTER QUERY busiest AS SELECT ?f (MAX(?n) AS ?most) FROM STREAM <busy> [RANGE 30s STEP 30s]"
    " WHERE { ?f :busy ?n } GROUP BY ?f",
    "REGISTER QUERY visits AS SELECT ?r (COUNT(*) AS ?n) FROM STREAM <in> [RANGE 10s STEP 10s]"
    " WHERE { ?p :visits ?r } GROUP BY ?r",
    # CQELS-QL: what is new, with static data.
    "REGISTER QUERY seen AS SELECT ?p ?f WHERE { STREAM <in> [NOW] { ?p :enters ?r } ?r :floor ?f }",
    # EP-SPARQL: a sequence, and a rule.
    "REGISTER QUERY stays AS SELECT ?p ?r WHERE { { ?p :enters ?r } SEQ { ?p :leaves ?r }"
    ' FILTER(getDURATION() < "PT6S"^^xsd:duration) }',
    "REGISTER STREAM rushes AS CONSTRUCT { ?p :rushes ?r } WHERE { { ?p :enters ?r } SEQ { ?p :leaves ?r }"
    ' FILTER(getDURATION() < "PT1S"^^xsd:duration) }',
    "REGISTER QUERY restless AS SELECT ?p ?r ?s WHERE { { ?p :rushes ?r } SEQ { ?p :rushes ?s }"
    ' FILTER(getDURATION() < "PT30S"^^xsd:duration) }',
]


def main(master: str, checkpoint: str, streams: str, output: str, way: str = "") -> None:
    builder = SparkSession.builder.master(master).appName("rheos cluster test")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "700m",
        "spark.cores.max": "2",
        "spark.python.worker.reuse": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    goes_on = bool(Store(uri_of(checkpoint)).names("batches"))
    prefixes = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    work = {"incremental": True} if way == "incremental" else {"shards": 2}
    with Engine(spark, checkpoint=checkpoint, batch_bytes=600_000, base=EX, **work) as engine:
        engine.load(data=STATIC + ROOMS, format="turtle")
        for name in ("in", "out"):
            engine.add_stream(f"{EX}{name}", f"{streams}/{name}.nq")
        handles = []
        for text in QUERIES:
            words = text.split(" ", 3)
            entailment = "rdfs" if words[2] == "visits" else "none"
            handles.append(engine.register(prefixes + text, keep=0, entailment=entailment))
        file = OutputFile(Path(output), go_on=goes_on)
        engine.stream_to(file, Formatter("ndjson", [handle.info for handle in handles]))
        engine.run()
        file.close()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
