"""Pages for people: requests come in, HTML goes out; what moves on them comes from the server's own
addresses.

The rest of the server knows of this package only `pages/handlers.py`, whose `Pages` has the handlers of

    /                                   Pages.overview
    /new                                Pages.new        (a query that is not there yet)
    /page/{name}                        Pages.named      (a stream, or a query)
    /page/{name}/{moment}               Pages.moment
    /page/{name}/physical/{size}        Pages.window
    /page/{name}/logical/{size}/{step}  Pages.window
    /static/{file}                      the files of `pages/static`, all that the pages need

and which gets the `Host` (`host.streams`, `host.queries`, `host.config`) and `Linked`: `linked.known(name)`
is 404 for what is no stream, `await linked.view(name, window)` gives the `View` of a window (None is the
stream's own) and its `Content` or None: `content.at`, `content.moments` (microseconds → triples, terms as
`rheos.answers.continuous.ntriples_term` shows them), `windows.path_of(view.window)`;
`linked.moment_of(name, moment)` gives the triples of a moment, or is 404. A page that the browser fills by
itself reads, as any client may (docs/server.md, /openapi.json):

    GET  /streams            {"streams": [{name, iri, kind, window, elements, late, bad, rate, lag, held,
                             time, ended, rates}]}: `rates` are elements a second of the last two minutes,
                             one number for every two seconds; derived ones have name, iri, kind, window,
                             elements, rates
    GET  /queries            {"queries": [{name, text, dialect, kind, variables, stream, running, error,
                             instants, rows, milliseconds, execution, subscribers, rates}]}: `rates` are
                             rows a second
    GET  /{name}/plan        {"name", "plan": {title: text}}, the parts of `rheos explain`
    GET  /{name}/answers     {"last": number, "answers": [{"id", …}]}: the last answers (`?most=100`), in the
                             form of NDJSON; then GET /{name}/events?after=<last> goes on, with EventSource
    POST /check              the dry run: a text in the body (`?dialect=auto&name=query&seconds=3`) gives
                             {kind, variables, streams, plan, answers, error}, or problem+json with title,
                             detail, and line and column (from 1) of the mistake; `seconds` is how long to
                             wait for answers, 0 only checks
    PUT, POST, DELETE /{name}  register, start and stop, forget

Writing (POST /check too) needs `Authorization: Bearer TOKEN` where `host.config.token` is set: a page
has to ask for it (401), and keeps it in the browser; it is never written into a page. A request of a page has
the Origin of the server, which is what is checked when there is no token.

The HTML is made in `html.py`, in which every text is escaped, and there is no way around it; scripts put
what comes from data into `textContent` and attributes, never into HTML. `SECURITY` there are the headers of
every page: nothing runs but files of `/static`. These are modules without a build step: `common.js` for all
pages, one for each page (`overview.js`, `stream.js`, `query.js`, `editor.js`), and what these share:
`answers.js` (a live table), `chart.js`, `timeline.js`, `plan.js`, `highlight.js`. `uplot/` is uPlot as npm
has it, with its licence.
"""

from rheos.server.pages.handlers import Pages

__all__ = ["Pages"]
