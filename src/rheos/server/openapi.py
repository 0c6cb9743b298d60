"""The description of the HTTP interface in OpenAPI: the operations are written here, and the bodies are the
types of `models`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from rheos import __version__
from rheos.server import graphs, metrics, models, protocol, push
from rheos.server.problems import PROBLEM_JSON

Json = dict[str, Any]
# A type for each media type, or a tuple of types, one of which the body has.
Body = Mapping[str, Any]
_NOTHING: Body = {}


class Reply(NamedTuple):
    """A reply that is not JSON, or that has more than a body."""

    text: str
    body: Body = _NOTHING
    headers: tuple[str, ...] = ()


class Parameter(NamedTuple):
    """A part of a path, a part of a query string, or a header."""

    name: str
    where: str
    type: Any = str
    text: str = ""
    required: bool = False


class Operation(NamedTuple):
    """What a method does at an address. A reply is a model, a Reply, or a text. With a status of an error
    (400 and above) a text is the title of a problem."""

    summary: str
    replies: Mapping[int, Any]
    parameters: tuple[Parameter, ...] = ()
    body: Body = _NOTHING


def description(base: str) -> Json:
    """The whole document, for a server whose addresses begin with `base`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rheos",
            "version": __version__,
            "description": "Streams of RDF as Linked Data, and continuous queries over them.",
        },
        "servers": [{"url": "/", "description": base}],
        "paths": {
            path: {method: _operation(path, method, found) for method, found in methods.items()}
            for path, methods in PATHS.items()
        },
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


# --- from operations to the document ---------------------------------------------------------------------


def _operation(path: str, method: str, operation: Operation) -> Json:
    writes = method != "get"
    replies = {**operation.replies, **(_REFUSED if writes else {})}
    parameters = [*_path_parameters(path), *operation.parameters]
    found: Json = {
        "summary": operation.summary,
        "parameters": [_parameter(item) for item in parameters],
        "responses": {str(status): _reply(status, reply) for status, reply in replies.items()},
    }
    if operation.body:
        found["requestBody"] = {"required": True, "content": _content(operation.body)}
    if writes:
        found["security"] = [{}, {"token": []}]
    return found


def _path_parameters(path: str) -> Iterator[Parameter]:
    for name in re.findall(r"{(\w+)}", path):
        yield (_COUNTED if "/physical/" in path and name == "size" else _PARTS[name])


def _parameter(item: Parameter) -> Json:
    name, where, kind, text, required = item
    needed = required or where == "path"
    return {"name": name, "in": where, "required": needed, "schema": _schema(kind), "description": text}


def _reply(status: int, reply: Any) -> Json:
    match reply:
        case str():
            body: Body = {PROBLEM_JSON: models.Problem} if status >= 400 else {}
            reply = Reply(reply, body)
        case type():
            reply = Reply(inspect.getdoc(reply) or "", {"application/json": reply})
    found: Json = {"description": reply.text}
    if reply.body:
        found["content"] = _content(reply.body)
    if reply.headers:
        found["headers"] = {name: {"schema": _schema(str)} for name in reply.headers}
    return found


def _content(body: Body) -> Json:
    return {media: {"schema": _schema(kind)} for media, kind in body.items()}


def _schema(kind: Any) -> Json:
    if isinstance(kind, tuple):
        return {"oneOf": [_schema(one) for one in kind]}
    [schema], _ = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    return schema


_REFERENCE = "#/components/schemas/{name}"
_MODELS = [model for model in vars(models).values() if isinstance(model, type) and issubclass(model, Struct)]
_, _SCHEMAS = msgspec.json.schema_components(
    [model for model in _MODELS if model is not Struct], ref_template=_REFERENCE
)


# --- parts of operations -----------------------------------------------------------------------------


def _texts(media: Iterable[str]) -> Body:
    """Bodies that are text; JSON can be anything."""
    return {name: Any if "json" in name else str for name in media}


_HTML = {"text/html": str}
_SPARQL = {"application/sparql-query": str, "text/plain": str}
_EITHER = (models.Query, models.Stream)

_PARTS = {
    "name": Parameter("name", "path", models.Name, "of a stream or a query"),
    "moment": Parameter("moment", "path", str, "an xsd:dateTime"),
    "size": Parameter("size", "path", str, "an xsd:duration, as PT1H"),
    "step": Parameter("step", "path", str, "an xsd:duration, or tumbling"),
}
_COUNTED = Parameter("size", "path", models.Size, "how many triples")
_ACCEPT = Parameter("Accept", "header")
_DIALECT = Parameter("dialect", "query", models.Dialect)
_SINKS = (
    Parameter("sink", "query", list[str], "where its answers go beside the server: kafka://…, http://…, …"),
    Parameter("sink-limit", "query", models.Count, "how many bytes may wait for a sink"),
    Parameter("sink-full", "query", models.Full, "what to do when more would wait"),
)
_ENTAILMENT = Parameter("entailment", "query", models.Entailment)

_REFUSED = {401: "The token is missing", 403: "It is not allowed"}
_NO_WINDOW = {400: "There is no such window"}
_NOT_THERE = {404: "It is not there"}
_NO_QUERY = {404: "There is no such query"}
_NOTHING_FITS = {406: "Nothing fits"}
_WRONG_TEXT = {400: "The text is wrong; line and column say where"}
_NAME_IN_USE = {409: "The name is in use"}
_TOO_LONG = {413: "The body is too long"}
_NOT_STORED = {507: "It could not be stored, and is not done"}
_TOO_MANY_VIEWS = {503: "Too many views"}

_ELSEWHERE = {
    303: Reply("The form that is wanted is elsewhere", headers=("Location",)),
    308: Reply("The window has another address", headers=("Location",)),
    **_NO_WINDOW,
    404: "There is no such stream",
    **_NOTHING_FITS,
}
_GRAPH = {
    200: Reply("A graph", _texts(graphs.FORMATS)),
    304: "It has not changed",
    **_NO_WINDOW,
    **_NOT_THERE,
    **_NOTHING_FITS,
    **_TOO_MANY_VIEWS,
}
_PAGE = {200: Reply("A page", _HTML)}
_RESULTS = _texts((*protocol.SOLUTIONS, *graphs.FORMATS))
_ANSWER = {
    200: Reply("The answer", _RESULTS),
    **_WRONG_TEXT,
    **_NOTHING_FITS,
    409: "It cannot be done",
    414: "The text is too long",
    500: "The evaluation failed",
    503: "The evaluation took too long",
}


def _linked(path: str, what: str) -> dict[str, dict[str, Operation]]:
    """The three addresses of a thing: its own, that of its RDF, and that of its page."""
    page = {**_PAGE, **_NO_WINDOW, **_NOT_THERE, **_TOO_MANY_VIEWS}
    return {
        path: {"get": Operation(what, _ELSEWHERE, (_ACCEPT,))},
        f"/trdf{path}": {"get": Operation(f"{what}, as RDF", _GRAPH, (_ACCEPT,))},
        f"/page{path}": {"get": Operation(f"{what}, as a page", page)},
    }


def _get(summary: str, replies: Mapping[int, Any], *parameters: Parameter) -> dict[str, Operation]:
    return {"get": Operation(summary, replies, parameters)}


# --- addresses ---------------------------------------------------------------------------------------

_PUT = Operation(
    "Register a query, or make a push stream of a description in JSON",
    {
        200: Reply("It was there, or has replaced one", {"application/json": _EITHER}),
        201: Reply("It is new", {"application/json": _EITHER}),
        **_WRONG_TEXT,
        **_NAME_IN_USE,
        **_TOO_LONG,
        **_NOT_STORED,
    },
    (_DIALECT, _ENTAILMENT, *_SINKS),
    {**_SPARQL, "application/json": models.StreamDescription},
)
_POST = Operation(
    "Start or stop a query; reset a stream; add elements to a push stream",
    {
        200: Reply("The query, or the stream", {"application/json": _EITHER}),
        202: models.Accepted,
        400: "There is no such command, or no element in the body",
        **_NOT_THERE,
        405: "The stream has a source of its own",
        409: "The query could not be registered",
        **_TOO_LONG,
        415: "Elements of this type are not understood",
        503: "The server is behind",
        507: "The elements, or the change, could not be stored",
    },
    body={**_texts(push.ALL_TYPES), "text/plain": str},
)
_DELETE = Operation(
    "Forget a query, or a push stream that a client has made",
    {204: "It is gone", **_NOT_THERE, 409: "It is needed", **_NOT_STORED},
)
_CHECK = Operation(
    "What a text would do if it were registered",
    {200: models.Check, **_WRONG_TEXT, **_NAME_IN_USE, **_TOO_LONG},
    (
        _DIALECT,
        _ENTAILMENT,
        Parameter("name", "query", str, "the name that it is to have"),
        Parameter("seconds", "query", models.Count, "how long to wait for answers"),
    ),
    _SPARQL,
)

_PREVIEW = Operation(
    "What a mapping makes of some records",
    {200: models.Mapped, **_WRONG_TEXT, **_TOO_LONG},
    body={"application/json": models.Preview},
)

_WHICH = (
    Parameter("default", "query", str, "the default graph is meant"),
    Parameter("graph", "query", models.Iri, "the IRI of the named graph that is meant"),
)
_WRONG_GRAPH = {400: "Which graph is meant, or the body is wrong"}
_NO_GRAPH = {404: "There is no such graph"}
_CHANGE = {
    200: models.Changed,
    **_WRONG_GRAPH,
    **_TOO_LONG,
    415: "The body is no RDF",
    **_NOT_STORED,
}

PATHS: dict[str, dict[str, Operation]] = {
    "/": _get("What there is, as a page", _PAGE),
    "/new": _get("A page to write a query", _PAGE),
    "/new-stream": _get("A page to make a stream and try its mapping", _PAGE),
    "/new-data": _get("A page to add static data", _PAGE),
    "/flow": _get("A page with what flows where", _PAGE),
    **_linked("/{name}", "What is in the window of a stream"),
    **_linked("/{name}/{moment}", "A moment of a stream"),
    **_linked("/{name}/physical/{size}", "The last triples of a stream"),
    **_linked("/{name}/logical/{size}/{step}", "The last while of a stream"),
    "/queries": _get("All registered queries", {200: models.Queries}),
    "/streams": _get("All streams", {200: models.Streams}),
    "/{name}/events": _get(
        "The answers of a query as they come",
        {
            200: Reply(
                "Server-Sent Events; the data of each is a line of NDJSON", {"text/event-stream": str}
            ),
            400: "There is no such event",
            **_NO_QUERY,
            503: "Too many subscribers",
        },
        Parameter("Last-Event-ID", "header", str, "the number of the last answer that the client has"),
        Parameter("after", "query", str, "the same, for those who cannot send the header"),
    ),
    "/{name}/ws": _get(
        "The answers of a query as they come, over a WebSocket",
        {
            101: "A WebSocket; each message is an answer as JSON, with its number as `id`",
            400: "There is no such event",
            **_NO_QUERY,
            426: "This is no request for a WebSocket",
            503: "Too many subscribers",
        },
        Parameter("after", "query", str, "the number of the last answer that the client has"),
    ),
    "/{name}/plan": _get(
        "How a query is answered", {200: models.Plan, 400: "Its text is wrong by now", **_NO_QUERY}
    ),
    "/{name}/answers": _get(
        "The last answers of a query, and the number behind which others will come",
        {200: models.Answers, 400: "There is no such number", **_NO_QUERY},
        Parameter("most", "query", models.Count, "how many"),
    ),
    "/check": {"post": _CHECK},
    "/preview": {"post": _PREVIEW},
    "/sparql": {
        "get": Operation(
            "Answer a query over the static data, and over what windows hold now; without one, a page for it",
            {**_ANSWER, 200: Reply("The answer, or a page", {**_RESULTS, **_HTML})},
            (
                Parameter("query", "query"),
                *(Parameter(name, "query", list[str]) for name in protocol.GRAPHS["query"]),
                _ACCEPT,
            ),
        ),
        "post": Operation(
            "Answer a query over the static data, or change it",
            {**_ANSWER, 413: "The text is too long", 415: "This is no operation of SPARQL"},
            (_ACCEPT,),
            {**_texts(protocol.DIRECT), protocol.FORM: models.Form},
        ),
    },
    "/rdf-graph-store": {
        "get": Operation(
            "A graph of the static data",
            {200: Reply("The graph", _texts(graphs.FORMATS)), **_WRONG_GRAPH, **_NO_GRAPH, **_NOTHING_FITS},
            (*_WHICH, _ACCEPT),
        ),
        "put": Operation("Replace a graph", _CHANGE, _WHICH, _texts(graphs.FORMATS)),
        "post": Operation("Add to a graph", _CHANGE, _WHICH, _texts(graphs.FORMATS)),
        "delete": Operation(
            "Drop a graph", {200: models.Changed, **_WRONG_GRAPH, **_NO_GRAPH, **_NOT_STORED}, _WHICH
        ),
    },
    "/metrics": _get(
        "Metrics for Prometheus",
        {200: Reply("Metrics", _texts(metrics.FORMATS))},
        _ACCEPT,
    ),
    "/health": _get("Whether streams flow", {200: models.Health, 503: models.Health}),
    "/openapi.json": _get("This", {200: Reply("The description", {"application/json": dict[str, Any]})}),
}
PATHS["/{name}"] |= {"put": _PUT, "post": _POST, "delete": _DELETE}
