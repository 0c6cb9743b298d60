"""The Streaming Linked Data server: streams, queries and their answers over HTTP.

    config ─▶ serve ─▶ app ─┬─ linked (s-graphs and i-graphs), pages ◀─ views ◀─┐
                            ├─ control (queries, streams), push ──────────────▶ host ─▶ Engine
                            ├─ events (answers as they come) ◀─ answers ◀───────┤
                            ├─ details (plans, last answers, dry runs), rates ◀─┘
                            └─ protocol (/sparql), metrics, health, openapi

Only `host` knows the engine, and only `host` changes anything. The other modules turn requests into calls of
the host, and its results into responses. `models` has the types of all bodies.
"""
