"""Models: the types of everything that comes from outside or goes there as JSON.

Each model is used twice: to check or write a body, and to describe that body in /openapi.json. The first line
of a docstring is the description there. The `title` of a type ends the sentence "expected …" in an error.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field
from starlette.responses import Response

from rheos.algebra.entailment import ENTAILMENTS
from rheos.engine import DIALECTS

NAME = "^[A-Za-z0-9][A-Za-z0-9._~-]{0,99}$"
_DURATION = "[0-9]{1,4}(ms|s|m|h|d)"


if TYPE_CHECKING:  # type checkers do not accept a Literal that is made from a tuple
    Dialect: TypeAlias = str
    Entailment: TypeAlias = str
else:
    Dialect, Entailment = Literal[DIALECTS], Literal[ENTAILMENTS]

Execution = Literal["auto", "task", "catalyst"]
Kind = Literal["select", "construct", "ask", "describe"]
Text = Annotated[str, Meta(min_length=1, title="a text")]
Texts = Annotated[Text | tuple[Text, ...], Meta(title="a text or a list of texts")]
Places = Annotated[tuple[Text, ...], Meta(title="a list of places such as host:port")]
SinkList = Annotated[tuple[Any, ...], Meta(title="a list of sinks")]
Full = Literal["stop", "drop"]
Level = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["json", "text"]
Truth = Annotated[bool, Meta(title="true or false")]
Count = Annotated[int, Meta(ge=0, title="a whole number")]
Size = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(pattern=NAME)]
Port = Annotated[int, Meta(ge=0, le=65535, title="a whole number up to 65535")]
Seconds = Annotated[float, Meta(gt=0, title="a number of seconds")]
Iri = Annotated[str, Meta(min_length=1, title="an absolute IRI", extra_json_schema={"format": "uri"})]
Window = Annotated[
    str,
    Meta(
        min_length=1,
        title="a window such as physical/100",
        extra_json_schema={"examples": ["physical/100", "logical/PT1H/PT10M"]},
    ),
]
# The server understands more texts than these patterns allow. It understands every text that fits them.
Duration = Annotated[
    str,
    Meta(
        min_length=1,
        title="a length of time such as 5s",
        extra_json_schema={"pattern": f"^{_DURATION}$"},
    ),
]
Bound = Annotated[
    str,
    Meta(
        min_length=1,
        title='a length of time such as 5s, or "none"',
        extra_json_schema={"pattern": f"^({_DURATION}|none)$"},
    ),
]
Mapping = Annotated[
    str,
    Meta(
        min_length=1,
        title="a mapping",
        description="what makes RDF of records: the text of a CONSTRUCT query, of RML, or of a JSON-LD"
        " context; in the configuration, its file",
    ),
]
Time = Annotated[
    str,
    Meta(
        min_length=1,
        title="what stands for the time",
        description="field:NAME, property:IRI or arrival",
        extra_json_schema={"pattern": "^(field:[A-Za-z]+|property:http://[a-z.]+/[a-z]*|arrival)$"},
    ),
]
SourceUrl = Annotated[
    str,
    Meta(
        min_length=1,
        title="a source",
        description="the URL of a broker or of something on the Web; only of places that the configuration"
        " allows. In the configuration also a path",
    ),
]
Options = Annotated[dict[str, Text], Meta(title="a table of options")]
Records = Literal["json", "ndjson", "csv", "tsv"]
Rates = Annotated[
    list[float], Meta(description="of the last two minutes of event time, one for every two seconds")
]
Until = Annotated[str | None, Meta(description="the event time at which the last of the rates ends")]
Parts = Annotated[dict[str, str], Meta(description="texts by their titles")]
Reasons = Annotated[dict[str, str], Meta(description="what is wrong, by name")]
Rows = Annotated[list[dict[str, Any]], Meta(description="in the form of NDJSON")]


# --- requests ----------------------------------------------------------------------------------------


class StreamDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """A stream that a client wants: one to push to, or with a source. A table of the configuration has the
    same keys, and more."""

    iri: Iri | None = None
    lateness: Duration | None = None
    idle: Duration | None = None
    ahead: Bound | None = None
    window: Window | None = None
    mapping: Mapping | None = None
    time: Time | None = None
    source: SourceUrl | None = None


class Preview(Struct, frozen=True, forbid_unknown_fields=True):
    """Records, and a mapping to try on them."""

    mapping: Mapping
    records: Annotated[str, Meta(title="the text of some records")]
    format: Records = "json"
    time: Time | None = None


class Form(Struct):
    """An operation of SPARQL as a form."""

    query: str | UnsetType = UNSET
    update: str | UnsetType = UNSET


# --- replies -----------------------------------------------------------------------------------------


class Query(Struct, kw_only=True):
    """A registered query, and what it has done so far."""

    name: str
    text: str
    dialect: Dialect
    entailment: Entailment
    kind: Kind | None
    variables: list[str]
    stream: Annotated[str | None, Meta(description="the IRI of the stream that it makes")]
    running: bool
    error: str | None
    instants: Count
    skipped: Annotated[Count, Meta(description="instants that it gave up, because it may be stretched")]
    gives_up: Annotated[str | None, Meta(description="what its text lets it give up under load")]
    rows: Count
    milliseconds: Annotated[float | None, Meta(description="how long the last evaluation took")]
    execution: str | None
    sharding: Annotated[
        str | None,
        Meta(description="how its work was last shared out: `one` shard, by `time`, or by a `variable`"),
    ]
    shards: Annotated[Count, Meta(description="into how many shards; 0 before its first answer")]
    executors: Annotated[list[str], Meta(description="where these were evaluated: machine/process")]
    subscribers: Count
    reads: Annotated[list[str], Meta(description="the IRIs of the streams that it reads")]
    lag: Annotated[float | None, Meta(description="how far what it has evaluated is behind the clock")]
    sinks: list[Sink]
    rates: Rates
    rates_until: Until


class Sink(Struct):
    """A sink of a query, and what it has taken since the server was started."""

    to: str
    waiting: Annotated[Count, Meta(description="answers that it has not taken yet")]
    bytes: Count
    behind: Annotated[float, Meta(description="seconds that the first of them has waited")]
    taken: Count
    dropped: Annotated[Count, Meta(description="answers that it will never get, because too many waited")]
    trouble: Annotated[str | None, Meta(description="why it takes none now")]


class Stream(Struct, kw_only=True):
    """A stream, and what it has brought so far. Derived streams have only some of the numbers."""

    name: str
    iri: str
    kind: Literal["push", "source", "derived"]
    window: str
    elements: Count
    rates: Rates
    rates_until: Until
    late: Count | UnsetType = UNSET
    bad: Count | UnsetType = UNSET
    ahead: Count | UnsetType = UNSET
    rate: float | UnsetType = UNSET
    lag: float | UnsetType | None = UNSET
    held: Count | UnsetType = UNSET
    time: str | UnsetType | None = UNSET
    ended: bool | UnsetType = UNSET
    connected: Annotated[
        bool | UnsetType | None,
        Meta(description="whether its broker or server can be reached, if it has one"),
    ] = UNSET
    trouble: Annotated[str | UnsetType | None, Meta(description="why it cannot")] = UNSET


class Queries(Struct):
    """All registered queries."""

    queries: list[Query]


class Streams(Struct):
    """All streams."""

    streams: list[Stream]


class Bad(Struct):
    """A line that is no element. An error somewhere in a document has no line."""

    line: int | None
    text: str
    reason: str


class Accepted(Struct):
    """The elements are on the disk."""

    accepted: Count
    late: Annotated[Count, Meta(description="of those that were accepted, as far as it can be told by now")]
    ahead: Annotated[Count, Meta(description="not accepted: too far ahead of the clock")]
    bad: list[Bad]


class Plan(Struct):
    """How a query is answered."""

    name: str
    plan: Parts


class Answers(Struct):
    """The last answers of a query, and the number behind which others will come."""

    last: Count
    answers: Rows


class Check(Struct, kw_only=True):
    """What a text would do if it were registered."""

    kind: Kind
    variables: list[str]
    streams: list[str]
    plan: Parts
    answers: Rows
    error: str | None


class Mapped(Struct):
    """What a mapping makes of some records."""

    elements: Annotated[list[str], Meta(description="lines of a stream file, of which not all are shown")]
    count: Annotated[Count, Meta(description="of all elements")]
    bad: list[Bad]


class Changed(Struct):
    """How many triples an update has changed."""

    changed: int


class Health(Struct):
    """Whether streams flow, and what is wrong."""

    status: Literal["ok", "degraded", "starting", "failing"]
    detail: str | UnsetType = UNSET
    streams: Reasons | UnsetType = UNSET
    queries: Reasons | UnsetType = UNSET
    sinks: Reasons | UnsetType = UNSET
    behind: float | UnsetType = UNSET  # seconds that elements wait, if it is long


class Problem(Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457)."""

    title: str
    status: int
    detail: str | None = None
    line: Annotated[int, Meta(description="of a text that is wrong, from 1")] | None = None
    column: int | None = None
    bad: list[Bad] = field(default_factory=list)


def reply(
    body: Struct | dict[str, Any], status: int = 200, headers: Table[str, str] | None = None
) -> Response:
    """A response with a model as JSON."""
    return Response(msgspec.json.encode(body), status, headers, "application/json")
