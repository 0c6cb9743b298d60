"""Pages for people: HTML from templates, and scripts that keep the numbers on it up to date.

The rest of the server uses only `handlers.py`. Its `Pages` has the handlers of these addresses:

    /                                   Pages.overview
    /flow                               Pages.flow       (what flows where)
    /sparql                             Pages.sparql     (where a query is asked once; only for browsers)
    /new                                Pages.new        (where a query is written)
    /new-stream                         Pages.new_stream (where a stream is made, and its mapping tried)
    /new-data                           Pages.new_data   (where static data is added)
    /page/{name}                        Pages.named      (a stream, or a query)
    /page/{name}/{moment}               Pages.moment
    /page/{name}/physical/{size}        Pages.window
    /page/{name}/logical/{size}/{step}  Pages.window
    /static/{file}                      the files of `static/`: all that the pages need

`overview.py`, `queries.py` and `streams.py` give the templates of `templates/` (Jinja2) their values. Every
value is escaped. Every page has the headers `SECURITY` of `rendering.py`: a browser runs no script but those
of `/static`.

The scripts read what any client may read (docs/server.md, /openapi.json): /streams and /queries every
second, /{name}/plan, /{name}/answers and then /{name}/events. The editor sends texts to POST /check.
Scripts put data into `textContent` and attributes, never into HTML. They are modules without a build step:
`common.js` for all pages, one for each page (`overview.js`, `flow.js`, `stream.js`, `moment.js`, `query.js`,
`sparql.js`, `editor.js`, `new-stream.js`, `new-data.js`), and the parts that these share: `answers.js` (a
live table), `chart.js` with `axes.js` and `gaps.js`, `timeline.js`, `map.js`, `graph.js`, `svg.js`,
`colours.js` (one colour for one thing), `editing.js` (a field for a query), `files.js`, `plan.js`,
`highlight.js`.
`uplot/` is uPlot as npm has it, with its licence.

Writing, also POST /check, needs `Authorization: Bearer TOKEN` where the configuration has a token. The page
asks the user for the token and keeps it in the browser; no page contains it. The server also refuses requests
of other sites' pages that write: their Origin is not the server's own.
"""

from rheos.server.pages.handlers import Pages

__all__ = ["Pages"]
