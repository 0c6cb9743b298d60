"""A stream that nobody supplies: the error is at its name, and says which one may have been meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rheos import Engine, QuerySyntaxError
from rheos.iris import closest
from rheos.runtime.driver.hosting import Hosting

TOLLS = "http://streams.example/city/tolls"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """As a server has it, so that names are looked at when a query is registered; no Spark is started."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "tolls.nq").write_text("")
    engine = Engine(hosting=Hosting(lambda message: None, 10.0))
    engine.add_stream(TOLLS, folder / "tolls.nq")
    engine.add_stream("http://streams.example/city/parking", folder / "tolls.nq")
    yield engine
    engine.close()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT *\nFROM   STREAM {name} [RANGE 1s STEP 1s] {{ ?s ?p ?o }}",
        "SELECT *\nFROM   NAMED  STREAM {name} [RANGE 1s STEP 1s] {{ ?s ?p ?o }}",
        "REGISTER QUERY q AS PREFIX c: <http://streams.example/city/>\n"
        "SELECT * FROM STREAM {name} [RANGE TRIPLES 1] {{ ?s ?p ?o }}",
        "SELECT * {{ STREAM <"
        + TOLLS
        + "> [NOW] {{ ?s ?p ?o }}\nOPTIONAL {{ STREAM {name} [NOW] {{ ?s ?p ?o }} }} }}",
        "SELECT * FROM STREAM <" + TOLLS + ">\nFROM STREAM {name} {{ ?s ?p ?o }}",
    ],
)
@pytest.mark.parametrize("name", ["<http://streams.example/city/tols>", "c:tols"])
def test_the_name_is_underlined(engine: Engine, text: str, name: str) -> None:
    written = text.format(name=name)
    if name.startswith("c:") and "PREFIX" not in written:
        written = f"PREFIX c: <http://streams.example/city/>\n{written}"
    with pytest.raises(QuerySyntaxError) as caught:
        engine.register(written)
    error = caught.value
    assert error.message == (
        f"nobody supplies the stream <http://streams.example/city/tols>; did you mean <{TOLLS}>?"
    )
    assert written.split("\n")[error.line - 1][error.column - 1 :].startswith(name)


def test_none_is_like_it(engine: Engine) -> None:
    weather = "<http://streams.example/city/weather>"
    with pytest.raises(QuerySyntaxError) as caught:
        engine.register(f"SELECT * FROM STREAM {weather} [RANGE TRIPLES 1] {{ ?s ?p ?o }}")
    supplied = f"<http://streams.example/city/parking>, <{TOLLS}>"
    assert caught.value.message == f"nobody supplies the stream {weather}: there is {supplied}"


@pytest.mark.parametrize(
    ("iri", "meant"),
    [
        ("<http://ex/Tolls>", "<http://ex/tolls>"),
        ("<http://ex/toll>", "<http://ex/tolls>"),
        ("<https://ex/tolls>", "<http://ex/tolls>"),
        ("<http://ex/parkings>", "<http://ex/parking>"),
        ("<http://ex/weather>", None),
        ("<http://elsewhere.org/air>", None),
    ],
)
def test_the_closest(iri: str, meant: str | None) -> None:
    assert closest(iri, ["<http://ex/parking>", "<http://ex/tolls>"]) == meant
    assert closest(iri, []) is None
