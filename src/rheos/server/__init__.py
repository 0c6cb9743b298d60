"""The Streaming Linked Data server: streams, queries and their answers over HTTP.

    config ─▶ serve ─▶ app ─┬─ linked (s-graphs and i-graphs), pages ◀─ views ◀─┐
                            ├─ control (queries, streams), push ──────────────▶ host ─▶ Engine
                            ├─ events (answers as they come) ◀─ answers ◀───────┤
                            ├─ details (plans, last answers, dry runs), rates ◀─┘
                            └─ protocol (/sparql), reports (/metrics, /health), openapi

`host` is the only one that knows the engine, and the only one that changes anything; the others turn requests
into calls of it, and what it gives into responses.
"""
