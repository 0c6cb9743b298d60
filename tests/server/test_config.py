"""Configurations: what a file says, what is refused and how, and that the documentation knows every key."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields

from rheos.algebra.streams import LogicalWindow, PhysicalWindow
from rheos.server.config import (
    Config,
    ConfigError,
    DataTable,
    LogTable,
    QueryTable,
    Settings,
    SinksTable,
    SinkTable,
    StreamTable,
    TlsTable,
    config_of,
    from_environment,
    read,
    stream_of,
)
from rheos.server.limits import Limits

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_all_that_there_is(tmp_path: Path) -> None:
    (tmp_path / "busy.rq").write_text("SELECT …")
    file = tmp_path / "rheos.toml"
    file.write_text(
        """
        host = "0.0.0.0"
        port = 9000
        base = "https://streams.example.org/city/"
        token = "correct-horse"
        state = "kept"
        execution = "task"
        entailment = "none"
        window = "physical/10"

        [data]
        default = ["city.ttl", "more/*.nt"]
        folder = "loadable"
        graphs = { "http://ex/news" = "news.ttl" }

        [streams.tolls]
        source = "in/"
        follow = true
        iri = "http://streams.org/milantollgates.trdf"
        lateness = "5s"
        idle = "250ms"
        window = "logical/PT1H/PT10M"

        [streams.posts]
        push = true

        [queries.busy]
        file = "busy.rq"
        dialect = "csparql"

        [queries.quiet]
        text = "ASK …"

        [limits]
        body = 1000
        evaluation = 2
        """
    )
    config = read(file)
    assert (config.host, config.port, config.base) == ("0.0.0.0", 9000, "https://streams.example.org/city/")
    assert (config.token, config.state, config.execution) == ("correct-horse", tmp_path / "kept", "task")
    assert (config.entailment, config.window) == ("none", PhysicalWindow(10, 1))
    assert config.data == (str(tmp_path / "city.ttl"), str(tmp_path / "more/*.nt"))
    assert config.graphs == {"http://ex/news": str(tmp_path / "news.ttl")}
    assert config.load_folder == tmp_path / "loadable"
    tolls, posts = config.streams
    assert (tolls.source, tolls.follow, tolls.lateness, tolls.idle) == (
        f"{tmp_path}/in",
        True,
        5_000_000,
        0.25,
    )
    assert tolls.window == LogicalWindow(3_600_000_000, 600_000_000)
    assert posts.is_push
    assert [(query.name, query.text, query.dialect) for query in config.queries] == [
        ("busy", "SELECT …", "csparql"),
        ("quiet", "ASK …", "auto"),
    ]
    assert (config.limits.body, config.limits.evaluation, config.limits.queries) == (1000, 2.0, 100)


def test_nothing_at_all() -> None:
    config = config_of({})
    assert (config.host, config.port, config.token) == ("127.0.0.1", 8080, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 8080", "rheos.toml: unknown key 'prot': did you mean port?"),
        ("xyz = 1", "rheos.toml: unknown key 'xyz': there is allow, base, data, "),
        (
            "[streams.tolls]\npush = true\nlatenes = '5s'",
            "[streams.tolls] unknown key 'latenes': did you mean lateness?",
        ),
        ("[limits]\nbodies = 1", "[limits] unknown key 'bodies': did you mean body?"),
        ("[data]\ngraph = {}", "[data] unknown key 'graph': did you mean graphs?"),
        ("[queries.q]\ntext = ''\nfile = 'q.rq'", "[queries.q] text: expected a text, not ''"),
        ("[queries.q]\ntext = 'x'\nfile = 'q.rq'", "[queries.q] a query has either a file"),
        ("[queries.q]\nfile = 'missing.rq'", "missing.rq: No such file or directory"),
        ("[queries.q]\ntext = 'x'\ndialect = 'sql'", "[queries.q] dialect: expected one of auto, "),
        ("[queries.q]\ntext = 'x'\ndialect = \"auto\\n\"", "[queries.q] dialect: expected one of auto, "),
        ("execution = 'both'", "execution: expected one of auto, task, catalyst, not 'both'"),
        ('[streams."s\\n"]\npush = true', "a name has at most 100 letters"),
        ("[data]\ndefault = 5", "[data] default: expected a text or a list of texts, not 5"),
        ("[data]\ngraphs = { 'news' = 'n.ttl' }", "[data.graphs] expected an absolute IRI, not 'news'"),
        ("b = 1\na = 2", "unknown key 'b'"),
        ("streams = 5", "streams is a table, [streams], not a value"),
        ("[streams]\ntolls = 'x'", "[streams] tolls is a table, [streams.tolls], not a value"),
        ("[streams.tolls]", "[streams.tolls] a stream has either a source"),
        ("[streams.tolls]\nsource = '-'", "standard input cannot be a stream of a server"),
        (
            "[streams.s]\nsource = 'mqtt://h/a'\ntime = 'message'",
            "[streams.s] time: mqtt://h/a: its messages have no time of their own",
        ),
        ("[streams.'a b']\npush = true", "[streams.a b] a name has at most 100 letters"),
        ("[streams.metrics]\npush = true", "metrics is an address of the server's own"),
        ("[streams.s]\npush = true\nidle = 'soon'", "[streams.s] idle: expected a length of time such as 5s"),
        ("[streams.s]\npush = true\niri = 'tolls'", "[streams.s] iri: expected an absolute IRI, not 'tolls'"),
        ("[streams.s]\npush = true\nwindow = 'PT1H'", "[streams.s] window: a window is physical/100"),
        ("[streams.s]\npush = 'yes'", "[streams.s] push: expected true or false, not 'yes'"),
        ("[streams.s]\npush = true\n[queries.s]\ntext = 'x'", "s is the name of a stream and of a query"),
        ("port = 70000", "port: expected a whole number up to 65535, not 70000"),
        ("port = '80'", "port: expected a whole number up to 65535, not '80'"),
        ("base = 'http://ex'", "base: expected an address that begins with http: or https:"),
        ("[tls]\nkey = 'a'", "[tls] a certificate and its key belong together"),
        ("token = 'long-enough'\ntoken_file = 't'", "token and token_file: only one of them"),
        ("token_file = 'nowhere'", "nowhere: No such file or directory"),
        ("[log]\nlevel = 'loud'", "[log] level: expected one of debug, info, warning, error, not 'loud'"),
        ("[streams.s]\npush = true\nread_token = 'a'", "[streams.s] read_token: a token has at least 8"),
        ("token = 'short'", "token: a token has at least 8 characters"),
        ("token = 'with a space'", "token: a token has at least 8 characters"),
        ("[limits]\nslow = 0", "[limits] slow: expected a number of seconds, not 0"),
        ("host = '0.0.0.0'", "host = '0.0.0.0' lets others than this machine in, so a token is needed"),
        ("host = '::'", "a token is needed"),
        ("host = 'example.org'", "a token is needed"),
        ("port = ", "rheos.toml: Invalid value"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "rheos.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        read(tmp_path / "rheos.toml")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ("", Settings),
        ("data", DataTable),
        ("streams.s", StreamTable),
        ("queries.q", QueryTable),
        ("sinks", SinksTable),
        ("limits", Limits),
        ("log", LogTable),
        ("tls", TlsTable),
    ],
)
def test_every_key_says_what_it_expects(table: str, model: type[Struct]) -> None:
    for key in model.__struct_fields__:
        content: dict[str, object] = {key: date(2026, 1, 1)}
        for name in reversed(table.split(".") if table else []):
            content = {name: content}
        place = rf"\[{table}\] " if table else ""
        with pytest.raises(ConfigError, match=f"^rheos.toml: {place}{key}(: expected .* not| is a table)"):
            config_of(content)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.5", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert config_of({"host": host}).token is None


def test_streams_that_clients_describe() -> None:
    assert stream_of("s", {"lateness": "1s"}).lateness == 1_000_000
    with pytest.raises(ConfigError, match="source: only the configuration can name that"):
        stream_of("s", {"source": "/etc/passwd"})
    with pytest.raises(ConfigError, match="source: only the configuration can name that"):
        stream_of("s", {"source": "s3://bucket/file"}, ["bucket"])
    with pytest.raises(ConfigError, match=r"source: .*169\.254\.169\.254:80 is not allowed"):
        stream_of("s", {"source": "poll+http://169.254.169.254/"}, ["good:80"])
    with pytest.raises(ConfigError, match="mqtt: only the configuration can say that"):
        stream_of("s", {"source": "mqtt://good/a", "mqtt": {"password": "x"}}, ["good"])
    assert stream_of("s", {"source": "mqtt://good/a/#"}, ["good"]).source == "mqtt://good/a/#"


def test_options_belong_to_a_source_of_their_kind() -> None:
    table = {"source": "poll+https://a/b", "http": {"token": "secret"}}
    [stream] = config_of({"streams": {"s": table}}).streams
    assert stream.options == {"token": "secret"}
    assert "secret" not in repr(stream)
    with pytest.raises(ConfigError, match=r"\[streams\.s\] kafka: the stream has no source of that kind"):
        config_of({"streams": {"s": {"source": "mqtt://a/b", "kafka": {"security.protocol": "SSL"}}}})


def test_clients_of_streams_are_told_of_unknown_keys() -> None:
    with pytest.raises(ConfigError, match="unknown key 'late'"):
        stream_of("s", {"late": "1s"})


def test_the_documentation_knows_every_key_and_its_default() -> None:
    text = DOCS.read_text()
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE))
    top = {field.name for field in fields(Settings)} - {"data", "streams", "queries", "limits", "log", "tls"}
    tables = (DataTable, StreamTable, QueryTable, SinksTable, SinkTable, Limits, LogTable, TlsTable)
    assert documented == top | {field.name for table in tables for field in fields(table)}
    defaults = dict(re.findall(r"^\| `([a-z_]+)` \| ([0-9.]+) \|", text, re.MULTILINE))
    limits = {field.name: float(field.default) for field in fields(Limits)}
    assert {name: float(defaults[name]) for name in limits} == limits
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert examples
    for example in examples:
        content = tomllib.loads(example)
        for query in content.get("queries", {}).values():
            if "file" in query:
                query["text"] = query.pop("file")
        assert isinstance(config_of(content), Config)


def test_how_far_ahead_elements_may_be() -> None:
    streams = {
        "plain": {"push": True},
        "near": {"push": True, "ahead": "10m"},
        "free": {"push": True, "ahead": "none"},
    }
    found = {stream.name: stream.ahead for stream in config_of({"streams": streams}).streams}
    assert found == {"plain": "auto", "near": 600_000_000, "free": None}
    with pytest.raises(ConfigError, match=r"\[streams\.s\] ahead: expected a length of time"):
        config_of({"streams": {"s": {"push": True, "ahead": "soon"}}})


def test_every_key_is_an_environment_variable(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("correct-horse\n")
    (tmp_path / "rheos.toml").write_text("port = 1\n[streams.Tolls]\npush = true\n[limits]\nqueries = 3")
    given = from_environment(
        {
            "RHEOS_PORT": "9000",
            "RHEOS_STRICT": "true",
            "RHEOS_TOKEN_FILE": "secret",
            "RHEOS_READ_TOKEN": "12345678",
            "RHEOS_ALLOW": '["broker:9092"]',
            "RHEOS_LIMITS__EVALUATION": "2.5",
            "RHEOS_LOG__FORMAT": "text",
            "RHEOS_STREAMS__TOLLS__LATENESS": "5s",
            "RHEOS_STREAMS__POSTS__PUSH": "true",
            "RHEOS_QUERIES__Q__TEXT": "SELECT …",
            "RHEOS_DATA__DEFAULT": "city.ttl",
            "RHEOS_TRACEBACK": "1",
            "OTHER": "x",
        }
    )
    config = read(tmp_path / "rheos.toml", given)
    assert (config.port, config.strict, config.token, config.read_token) == (
        9000,
        True,
        "correct-horse",
        "12345678",
    )
    assert (config.allow, config.log.format, config.data) == (
        ("broker:9092",),
        "text",
        (str(tmp_path / "city.ttl"),),
    )
    assert (config.limits.evaluation, config.limits.queries) == (2.5, 3)
    assert [(stream.name, stream.lateness) for stream in config.streams] == [
        ("Tolls", 5_000_000),
        ("posts", 0),
    ]
    assert [(query.name, query.text) for query in config.queries] == [("q", "SELECT …")]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RHEOS_PROT", "1", "RHEOS_PROT: there is no key prot"),
        ("RHEOS_LIMITS__BODIES", "1", "RHEOS_LIMITS__BODIES: there is no key limits.bodies"),
        ("RHEOS_PORT__X", "1", "RHEOS_PORT__X: there is no key port.x"),
        ("RHEOS_PORT", "many", "port: expected a whole number up to 65535, not 'many'"),
    ],
)
def test_a_variable_that_is_wrong(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config_of(from_environment({name: value}))
    assert message in str(error.value)
