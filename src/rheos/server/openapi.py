"""The description of the interface in OpenAPI: the base of the server comes in, the document goes out."""

from __future__ import annotations

from typing import Any

from rheos import __version__
from rheos.algebra.entailment import ENTAILMENTS
from rheos.engine import DIALECTS
from rheos.server import graphs, protocol, push
from rheos.server.problems import PROBLEM_JSON

Json = dict[str, Any]

_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._~-]{0,99}$"}
_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_RATES: Json = {"type": "array", "items": {"type": "number"}, "description": "of the last two minutes"}


def description(base: str) -> Json:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rheos",
            "version": __version__,
            "description": "Streams of RDF as Linked Data, and continuous queries over them.",
        },
        "servers": [{"url": "/", "description": base}],
        "paths": {**_LINKED, **_CONTROL, **_DETAILS, **_PROTOCOL, **_OPERATION},
        "components": {
            "schemas": {"Problem": _PROBLEM, "Query": _QUERY, "Stream": _STREAM, "Accepted": _ACCEPTED},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


# --- parts ------------------------------------------------------------------------------------------


def parameter(name: str, where: str, schema: Json, text: str = "") -> Json:
    return {"name": name, "in": where, "required": where == "path", "schema": schema, "description": text}


def body(*types: str, schema: Json | None = None) -> Json:
    return {"required": True, "content": {media: {"schema": schema or _TEXT} for media in types}}


def reply(text: str, *types: str, schema: Json | None = None) -> Json:
    content = {media: {"schema": schema or ({} if "json" in media else _TEXT)} for media in types}
    return {"description": text, **({"content": content} if content else {})}


def json_reply(text: str, schema: Json) -> Json:
    return reply(text, "application/json", schema=schema)


def refer(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def problems(**texts: str) -> Json:
    """Replies to what is wrong, by their status: `_404="There is no such stream"`."""
    return {status[1:]: reply(text, PROBLEM_JSON, schema=refer("Problem")) for status, text in texts.items()}


def operation(
    summary: str, replies: Json, *parameters: Json, content: Json | None = None, writes: bool = False
) -> Json:
    found: Json = {"summary": summary, "responses": replies, "parameters": list(parameters)}
    if content is not None:
        found["requestBody"] = content
    if writes:
        found["security"] = [{}, {"token": []}]
        found["responses"] = {**replies, **problems(_401="The token is missing", _403="It is not allowed")}
    return found


_PROBLEM: Json = {
    "type": "object",
    "required": ["title", "status"],
    "properties": {
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "line": {"type": "integer", "description": "of a text that is wrong, from 1"},
        "column": {"type": "integer"},
        "bad": {"type": "array", "items": {"type": "object"}},
    },
}
_QUERY: Json = {
    "type": "object",
    "required": ["name", "text", "running"],
    "properties": {
        "name": _TEXT,
        "text": _TEXT,
        "dialect": {"enum": list(DIALECTS)},
        "entailment": {"enum": list(ENTAILMENTS)},
        "kind": {"enum": ["select", "construct", "ask", "describe", None]},
        "variables": {"type": "array", "items": _TEXT},
        "stream": {"type": ["string", "null"]},
        "running": {"type": "boolean"},
        "error": {"type": ["string", "null"]},
        "instants": _COUNT,
        "rows": _COUNT,
        "milliseconds": {"type": ["number", "null"]},
        "execution": {"type": ["string", "null"]},
        "subscribers": _COUNT,
        "rates": _RATES,
    },
}
_STREAM: Json = {
    "type": "object",
    "required": ["name", "iri", "kind"],
    "properties": {
        "name": _TEXT,
        "iri": _TEXT,
        "kind": {"enum": ["push", "source", "derived"]},
        "window": _TEXT,
        "elements": _COUNT,
        "late": _COUNT,
        "bad": _COUNT,
        "ahead": _COUNT,
        "rate": {"type": "number"},
        "lag": {"type": ["number", "null"]},
        "held": _COUNT,
        "time": {"type": ["string", "null"]},
        "ended": {"type": "boolean"},
        "rates": _RATES,
    },
}
_ACCEPTED: Json = {
    "type": "object",
    "required": ["accepted", "late", "ahead", "bad"],
    "properties": {
        "accepted": _COUNT,
        "late": {**_COUNT, "description": "of those that were accepted, as far as it can be told by now"},
        "ahead": {**_COUNT, "description": "not accepted: too far ahead of the clock"},
        "bad": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"line": {"type": ["integer", "null"]}, "text": _TEXT, "reason": _TEXT},
            },
        },
    },
}
_DESCRIBED: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "iri": {"type": "string", "format": "uri"},
        "lateness": {"type": "string", "pattern": "^[0-9]{1,4}(ms|s|m|h|d)$"},
        "idle": {"type": "string", "pattern": "^[0-9]{1,4}(ms|s|m|h|d)$"},
        "ahead": {"type": "string", "pattern": "^([0-9]{1,4}(ms|s|m|h|d)|none)$"},
        "window": {"type": "string", "examples": ["physical/100", "logical/PT1H/PT10M"]},
    },
}

# --- paths ------------------------------------------------------------------------------------------

_OF_NAME = parameter("name", "path", _NAME, "of a stream or a query")
_OF_MOMENT = parameter("moment", "path", _TEXT, "an xsd:dateTime")
_OF_COUNT = parameter("size", "path", {"type": "integer", "minimum": 1}, "how many triples")
_OF_SIZE = parameter("size", "path", _TEXT, "an xsd:duration, as PT1H")
_OF_STEP = parameter("step", "path", _TEXT, "an xsd:duration, or tumbling")
_ACCEPT = parameter("Accept", "header", _TEXT)

_SEE = {
    "303": {
        "description": "The form that is wanted is elsewhere",
        "headers": {"Location": {"schema": _TEXT}},
    },
    "308": {"description": "The window has another address", "headers": {"Location": {"schema": _TEXT}}},
    **problems(_400="There is no such window", _404="There is no such stream", _406="Nothing fits"),
}
_GRAPH = {
    "200": reply("A graph", *graphs.FORMATS),
    "304": {"description": "It has not changed"},
    **problems(
        _400="There is no such window", _404="It is not there", _406="Nothing fits", _503="Too many views"
    ),
}
_PAGE = {
    "200": reply("A page", "text/html"),
    **problems(_400="There is no such window", _404="It is not there", _503="Too many views"),
}


def _linked(path: str, what: str, *parameters: Json) -> Json:
    return {
        f"/trdf{path}": {"get": operation(f"{what} as RDF", _GRAPH, *parameters, _ACCEPT)},
        f"/page{path}": {"get": operation(f"{what} as a page", _PAGE, *parameters)},
    }


_LINKED: Json = {
    "/": {"get": operation("What there is, as a page", {"200": reply("A page", "text/html")})},
    "/new": {"get": operation("A page to write a query", {"200": reply("A page", "text/html")})},
    "/{name}/{moment}": {"get": operation("A moment of a stream", _SEE, _OF_NAME, _OF_MOMENT, _ACCEPT)},
    "/{name}/physical/{size}": {
        "get": operation("The last triples of a stream", _SEE, _OF_NAME, _OF_COUNT, _ACCEPT)
    },
    "/{name}/logical/{size}/{step}": {
        "get": operation("The last while of a stream", _SEE, _OF_NAME, _OF_SIZE, _OF_STEP, _ACCEPT)
    },
    **_linked("/{name}", "What is in the window of a stream", _OF_NAME),
    **_linked("/{name}/{moment}", "A moment of a stream", _OF_NAME, _OF_MOMENT),
    **_linked("/{name}/physical/{size}", "The last triples of a stream", _OF_NAME, _OF_COUNT),
    **_linked("/{name}/logical/{size}/{step}", "The last while of a stream", _OF_NAME, _OF_SIZE, _OF_STEP),
}

_EITHER = {"oneOf": [refer("Query"), refer("Stream")]}
_PUT = {
    "requestBody": {
        "required": True,
        "content": {
            "application/sparql-query": {"schema": _TEXT},
            "text/plain": {"schema": _TEXT},
            "application/json": {"schema": _DESCRIBED},
        },
    }
}

_CONTROL: Json = {
    "/queries": {
        "get": operation(
            "All registered queries",
            {
                "200": json_reply(
                    "A list",
                    {"type": "object", "properties": {"queries": {"type": "array", "items": refer("Query")}}},
                )
            },
        )
    },
    "/streams": {
        "get": operation(
            "All streams",
            {
                "200": json_reply(
                    "A list",
                    {
                        "type": "object",
                        "properties": {"streams": {"type": "array", "items": refer("Stream")}},
                    },
                )
            },
        )
    },
    "/{name}": {
        "get": operation("A stream", _SEE, _OF_NAME, _ACCEPT),
        "put": {
            **operation(
                "Register a query, or make a push stream of a description in JSON",
                {
                    "200": json_reply("It was there, or has replaced one", _EITHER),
                    "201": json_reply("It is new", _EITHER),
                    **problems(
                        _400="The text is wrong; line and column say where",
                        _409="The name is in use",
                        _413="The body is too long",
                        _507="It could not be stored, and is not done",
                    ),
                },
                _OF_NAME,
                parameter("dialect", "query", {"enum": list(DIALECTS)}),
                parameter("entailment", "query", {"enum": list(ENTAILMENTS)}),
                writes=True,
            ),
            **_PUT,
        },
        "post": operation(
            "Start or stop a query; reset a stream; add elements to a push stream",
            {
                "200": json_reply("The query, or the stream", _EITHER),
                "202": json_reply("The elements are on the disk", refer("Accepted")),
                **problems(
                    _400="There is no such command, or no element in the body",
                    _404="It is not there",
                    _405="The stream has a source of its own",
                    _409="The query could not be registered",
                    _413="The body is too long",
                    _415="Elements of this type are not understood",
                    _503="The server is behind",
                    _507="The elements, or the change, could not be stored",
                ),
            },
            _OF_NAME,
            content=body(*push.MEDIA_TYPES, "text/plain"),
            writes=True,
        ),
        "delete": operation(
            "Forget a query, or a push stream that a client has made",
            {
                "204": reply("It is gone"),
                **problems(
                    _404="It is not there",
                    _409="It is needed",
                    _507="It could not be stored, and is not done",
                ),
            },
            _OF_NAME,
            writes=True,
        ),
    },
    "/{name}/events": {
        "get": operation(
            "The answers of a query as they come",
            {
                "200": reply("Server-Sent Events; the data of each is a line of NDJSON", "text/event-stream"),
                **problems(
                    _400="There is no such event", _404="There is no such query", _503="Too many subscribers"
                ),
            },
            _OF_NAME,
            parameter("Last-Event-ID", "header", _TEXT, "the number of the last answer that the client has"),
            parameter("after", "query", _TEXT, "the same, for those who cannot send the header"),
        )
    },
}

_PARTS: Json = {"type": "object", "additionalProperties": _TEXT}
_ANSWERS: Json = {"type": "array", "items": {"type": "object"}, "description": "in the form of NDJSON"}

_DETAILS: Json = {
    "/{name}/plan": {
        "get": operation(
            "How a query is answered",
            {
                "200": json_reply("Parts", {"type": "object", "properties": {"name": _TEXT, "plan": _PARTS}}),
                **problems(_400="Its text is wrong by now", _404="There is no such query"),
            },
            _OF_NAME,
        )
    },
    "/{name}/answers": {
        "get": operation(
            "The last answers of a query, and the number behind which others will come",
            {
                "200": json_reply(
                    "Answers", {"type": "object", "properties": {"last": _COUNT, "answers": _ANSWERS}}
                ),
                **problems(_400="There is no such number", _404="There is no such query"),
            },
            _OF_NAME,
            parameter("most", "query", _COUNT, "how many"),
        )
    },
    "/check": {
        "post": operation(
            "What a text would do if it were registered",
            {
                "200": json_reply(
                    "It could be",
                    {
                        "type": "object",
                        "properties": {
                            "kind": {"enum": ["select", "construct", "ask", "describe"]},
                            "variables": {"type": "array", "items": _TEXT},
                            "streams": {"type": "array", "items": _TEXT},
                            "plan": _PARTS,
                            "answers": _ANSWERS,
                            "error": {"type": ["string", "null"]},
                        },
                    },
                ),
                **problems(
                    _400="The text is wrong; line and column say where",
                    _409="The name is in use",
                    _413="The body is too long",
                ),
            },
            parameter("dialect", "query", {"enum": list(DIALECTS)}),
            parameter("entailment", "query", {"enum": list(ENTAILMENTS)}),
            parameter("name", "query", _TEXT, "the name that it is to have"),
            parameter("seconds", "query", _COUNT, "how long to wait for answers"),
            content=body("application/sparql-query", "text/plain"),
            writes=True,
        )
    },
}

_ANSWER = {
    "200": reply("The answer", *protocol.SOLUTIONS, *graphs.FORMATS),
    **problems(
        _400="The text is wrong; line and column say where", _406="Nothing fits", _414="The text is too long",
        _409="It cannot be done", _500="The evaluation failed", _503="The evaluation took too long",
    ),
}  # fmt: skip
_DEFAULT_GRAPHS, _NAMED_GRAPHS = (
    parameter(name, "query", {"type": "array", "items": _TEXT}) for name in protocol.GRAPHS["query"]
)

_PROTOCOL: Json = {
    "/sparql": {
        "get": operation(
            "Answer a query over the static data",
            _ANSWER,
            {**parameter("query", "query", _TEXT), "required": True},
            _DEFAULT_GRAPHS,
            _NAMED_GRAPHS,
            _ACCEPT,
        ),
        "post": operation(
            "Answer a query over the static data, or change it",
            {**_ANSWER, **problems(_413="The text is too long", _415="This is no operation of SPARQL")},
            _ACCEPT,
            content={
                "required": True,
                "content": {
                    **{media: {"schema": _TEXT} for media in protocol.DIRECT},
                    protocol.FORM: {
                        "schema": {"type": "object", "properties": {"query": _TEXT, "update": _TEXT}}
                    },
                },
            },
            writes=True,
        ),
    }
}

_TROUBLES: Json = {"type": "object", "additionalProperties": _TEXT, "description": "what is wrong, by name"}
_HEALTH: Json = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"enum": ["ok", "degraded", "starting", "failing"]},
        "detail": _TEXT,
        "streams": _TROUBLES,
        "queries": _TROUBLES,
    },
}

_OPERATION: Json = {
    "/metrics": {"get": operation("Metrics for Prometheus", {"200": reply("Metrics", "text/plain")})},
    "/health": {
        "get": operation(
            "Whether streams flow",
            {
                "200": json_reply("They do, be it with troubles", _HEALTH),
                "503": json_reply("They do not", _HEALTH),
            },
        )
    },
    "/openapi.json": {"get": operation("This", {"200": json_reply("The description", {"type": "object"})})},
}
