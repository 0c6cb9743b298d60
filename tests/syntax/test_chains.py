"""Long chains are not deep: thousands of operands are answered, or an error at once; no RecursionError."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rheos
from rheos.errors import EvaluationError, QuerySyntaxError
from rheos.syntax import limits
from tests.cli.command import rheos as command

STREAM = "<http://ex/s>"
WINDOW = f"FROM STREAM {STREAM} [RANGE 1s STEP 1s]"
ARRIVING = f"STREAM {STREAM} [NOW]"


def chain(text: str, between: str, part: Callable[[int], str]) -> Callable[[int], str]:
    return lambda count: text.replace("…", between.join(map(part, range(count))))


def nest(text: str, before: str, after: str) -> Callable[[int], str]:
    return lambda count: text.replace("<…", before * count).replace("…>", after * count)


FILTER = "SELECT * { ?s ?p ?o FILTER(…) }"
BIND = "SELECT * { ?s ?p ?o BIND(… AS ?x) }"
GROUP = "SELECT * { ?s ?p ?o … }"

CHAINS = {
    "or": chain(FILTER, " || ", lambda i: f"?o = {i}"),
    "and": chain(FILTER, " && ", lambda i: f"?o != {i}"),
    "or of variables": chain(FILTER, " || ", lambda i: f"?x{i}"),
    "plus": chain(BIND, " + ", lambda i: "?o"),
    "constants": chain(BIND, " + ", str),
    "signed": chain("SELECT * { ?s ?p ?o BIND(1 … AS ?x) }", "", lambda i: f" -{i}"),
    "products after a sign": chain("SELECT * { ?s ?p ?o BIND(1 -1 … AS ?x) }", "", lambda i: f" * {i}"),
    "times": chain(BIND, " * ", str),
    "in": chain("SELECT * { ?s ?p ?o FILTER(?o IN (…)) }", ",", str),
    "coalesce": chain("SELECT * { ?s ?p ?o BIND(COALESCE(…) AS ?x) }", ",", str),
    "concat": chain("SELECT * { ?s ?p ?o BIND(CONCAT(…) AS ?x) }", ",", lambda i: f"'{i}'"),
    "objects": chain("SELECT * { ?s ?p … }", ",", str),
    "properties": chain("SELECT * { ?s … }", ";", lambda i: f"<a:{i}> {i}"),
    "triples": chain("SELECT * { … }", ".", lambda i: f"?s{i} ?p{i} ?s{i + 1} "),
    "collection": chain("SELECT * { ?s ?p (…) }", " ", str),
    "union": chain("SELECT * { … }", " UNION ", lambda i: "{ ?s ?p ?o }"),
    "groups": chain("SELECT * { … }", " ", lambda i: "{ ?s ?p ?o }"),
    "optional": chain(GROUP, " ", lambda i: f"OPTIONAL {{ ?s <a:{i}> ?o{i} }}"),
    "minus": chain(GROUP, " ", lambda i: f"MINUS {{ ?s <a:{i}> ?o{i} }}"),
    "filters": chain(GROUP, " ", lambda i: f"FILTER(?o != {i})"),
    "exists": chain(GROUP, " ", lambda i: f"FILTER EXISTS {{ ?s <a:{i}> ?o }}"),
    "binds": chain(GROUP, " ", lambda i: f"BIND({i} AS ?b{i})"),
    "values": chain(GROUP, " ", lambda i: f"VALUES ?v{i} {{ 1 }}"),
    "expressions": chain("SELECT … { ?s ?p ?o }", " ", lambda i: f"({i} AS ?x{i})"),
    "order": chain("SELECT * { ?s ?p ?o } ORDER BY …", " ", lambda i: f"(?o + {i})"),
    "having": chain("SELECT ?o { ?s ?p ?o } GROUP BY ?o HAVING …", " ", lambda i: f"(?o != {i})"),
    "keys": chain("SELECT (1 AS ?a) { ?s ?p ?o } GROUP BY …", " ", lambda i: f"(?o + {i} AS ?k{i})"),
    "aggregates": chain("SELECT … { ?s ?p ?o }", " ", lambda i: f"(COUNT(?o) AS ?x{i})"),
    "path sequence": chain("SELECT * { ?s … ?o }", "/", lambda i: f"<a:{i}>"),
    "path alternatives": chain("SELECT * { ?s … ?o }", "|", lambda i: f"<a:{i}>"),
    "path sequence repeated": chain("SELECT * { ?s (…)+ ?o }", "/", lambda i: f"<a:{i}>"),
    "path alternatives repeated": chain("SELECT * { ?s (…)* ?o }", "|", lambda i: f"<a:{i}>"),
    "not": nest("SELECT * { ?s ?p ?o FILTER(<… ?o = 1 …>) }", "!(", ")"),
    "nested groups": nest("SELECT * <… ?s ?p ?o …>", "{", "}"),
    "nested optional": nest("SELECT * { ?s ?p ?o <… …> }", "OPTIONAL { ?s ?p ?o ", "}"),
    "nested select": nest("SELECT * { <… { ?s ?p ?o } …> }", "{ SELECT * {", "} }"),
    "nested exists": nest("SELECT * { ?s ?p ?o <… …> }", "FILTER EXISTS { ?s ?p ?o ", "}"),
    "nested blank nodes": nest("SELECT * { ?s ?p <… 1 …> }", "[ ?q ", "]"),
    "nested collections": nest("SELECT * { ?s ?p <… 1 …> }", "( ", ")"),
    "nested paths": nest("SELECT * { ?s <… <a:a> …> ?o }", "(", ")*"),
    "nested calls": nest("SELECT * { ?s ?p ?o FILTER(<… ?o …>) }", "IF(?o = 1, 2, ", ")"),
    "windows": chain("SELECT * … { ?s ?p ?o }", " ", lambda i: f"FROM STREAM <a:{i}> [RANGE 1s STEP 1s]"),
    "or in a window": chain(f"SELECT * {WINDOW} {{ ?s ?p ?o FILTER(…) }}", " OR ", lambda i: f"?o = {i}"),
    "triples in a window": chain(f"SELECT * {WINDOW} {{ … }}", ".", lambda i: f"?s{i} ?p{i} ?s{i + 1} "),
    "optional in a window": chain(
        f"SELECT * {WINDOW} {{ ?s ?p ?o … }}", " ", lambda i: f"OPTIONAL {{ ?s <a:{i}> ?o{i} }}"
    ),
    "aggregations": chain(
        f"SELECT * {WINDOW} {{ ?s ?p ?o }} …", " ", lambda i: f"AGGREGATE {{ (?x{i}, COUNT, {{?s}}) }}"
    ),
    "triples that arrive": chain(
        f"SELECT * {{ {ARRIVING} {{ … }} }}", ".", lambda i: f"?s{i} ?p{i} ?s{i + 1} "
    ),
    "streams": chain("SELECT * { … }", " ", lambda i: f"{ARRIVING} {{ ?s ?p ?o }}"),
    "union of streams": chain("SELECT * { … }", " UNION ", lambda i: f"{{ {ARRIVING} {{ ?s ?p ?o }} }}"),
    "optional streams": chain(
        f"SELECT * {{ {ARRIVING} {{ ?s ?p ?o }} … }}",
        " ",
        lambda i: f"OPTIONAL {{ {ARRIVING} {{ ?s ?p ?o }} }}",
    ),
    "seq": chain("SELECT * { … }", " SEQ ", lambda i: f"{{ ?s ?p ?o{i} }}"),
    "equals": chain("SELECT * { … }", " EQUALS ", lambda i: f"{{ ?s ?p ?o{i} }}"),
    "optionalseq": chain("SELECT * { … }", " OPTIONALSEQ ", lambda i: f"{{ ?s ?p ?o{i} }}"),
    "equalsoptional": chain("SELECT * { … }", " EQUALSOPTIONAL ", lambda i: f"{{ ?s ?p ?o{i} }}"),
    "nested seq": nest("SELECT * { <… {?a ?b ?c} SEQ {?d ?e ?f} …> }", "{", "} SEQ {?x ?y ?z}"),
}

FEWEST = 3_100  # more than any kind may have
REFUSED = r"too (long|deeply)"
SOON = 5.0  # seconds on a slow and busy machine; without a bound it is minutes, or for ever

LONG = {"brackets": nest("SELECT * { ?s ?p ?o FILTER(<… ?o = 1 …>) }", "(", ")")}
LONG["names in a list"] = chain("SELECT * { ?s ?p ?o FILTER(?o IN (…)) }", ",", lambda i: f"<a:{i}>")
LONG["data"] = chain("SELECT * { VALUES ?x { … } }", " ", str)
LONG["prefixes"] = chain("… SELECT * { ?s ?p ?o }", " ", lambda i: f"PREFIX p{i}: <a:b>")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> rheos.Engine:
    engine = rheos.Engine(execution="local")
    engine.load(data="<a:a> <a:p> <a:b> ; <a:0> 5 , 7 .", format="turtle")
    return engine


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("count", [FEWEST, 10_000])
def test_thousands_are_refused_at_once(kind: str, count: int, engine: rheos.Engine) -> None:
    text = CHAINS[kind](count)
    rheos.parse("ASK {}")
    started = time.process_time()
    with pytest.raises(QuerySyntaxError, match=REFUSED):
        rheos.parse(text)
    assert time.process_time() - started < SOON
    if count == FEWEST:
        with pytest.raises(QuerySyntaxError, match=REFUSED):
            engine.explain(text)
        with pytest.raises(QuerySyntaxError, match=REFUSED):
            engine.query(text)


@pytest.mark.parametrize("kind", LONG)
def test_thousands_that_are_not_deep(kind: str, engine: rheos.Engine) -> None:
    rheos.parse(LONG[kind](10_000))
    assert engine.explain(LONG[kind](10_000))


def at_depth(frames: int, action: Callable[[], object]) -> object:
    """What the action gives when it is called from deep inside of other code."""
    return action() if frames == 0 else at_depth(frames - 1, action)


# These take long to plan, for other reasons.
SLOW = ("keys", "equals", "equalsoptional", "aggregations")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in CHAINS if kind not in SLOW])
def test_what_is_not_refused_is_planned(kind: str, engine: rheos.Engine) -> None:
    """The longest chain of a kind that is allowed, with little of Python's stack left."""
    low, high = 1, 350
    while high - low > 1:
        middle = (low + high) // 2
        try:
            rheos.parse(CHAINS[kind](middle))
            low = middle
        except QuerySyntaxError:
            high = middle
    assert low >= 20
    text = CHAINS[kind](low)
    assert at_depth(100, lambda: engine.explain(text))
    pickle.loads(pickle.dumps(rheos.parse(text)))


@pytest.mark.slow
def test_hundreds_work(engine: rheos.Engine, tmp_path: Path) -> None:
    for kind in ("or", "and", "filters", "union", "path alternatives", "concat", "in"):
        assert len(engine.query(CHAINS[kind](300)).rows or ()) > 0, kind
    data = tmp_path / "data.ttl"
    data.write_text("<a:a> <a:p> 5 , 299 , 300 .", encoding="utf-8")
    found = command("query", "-", "--data", data, "--format", "csv", stdin=CHAINS["or"](300).encode())
    assert (found.status, found.err) == (0, "")
    assert sorted(line.rsplit(",", 1)[1] for line in found.out.splitlines()[1:]) == ["299", "5"]


def test_the_place(engine: rheos.Engine) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        engine.query("SELECT *\n{\n" + "OPTIONAL { ?s ?p ?o }\n" * 400 + "}")
    assert caught.value.line > 2
    assert caught.value.message.endswith(f"more than {limits.DEEPEST} levels")


@pytest.mark.slow
def test_what_is_too_deep_for_spark(spark: SparkSession) -> None:
    """Its own parser goes down by recursion, on a smaller stack than ours.

    Where the stack ends decides whether the parser notices and says so, or Java does.
    """
    engine = rheos.Engine(spark, execution="catalyst")
    engine.load(data="<a:a> <a:p> 5 .", format="turtle")
    assert len(engine.query(CHAINS["union"](300)).rows or ()) == 300
    noticed = r"java\.lang\.StackOverflowError|\[FAILED_TO_PARSE_TOO_COMPLEX\]"
    with pytest.raises(EvaluationError, match=f"Spark could not run the query: ({noticed})"):
        engine.query(CHAINS["plus"](60))
