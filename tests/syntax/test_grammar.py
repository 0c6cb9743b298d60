"""The parser as a thing: a dialect on top of it, its cache, threads."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lark import Token

from rheos.syntax import ast, parse
from rheos.syntax.build import Builder
from rheos.syntax.grammar import Parser, grammar
from rheos.syntax.lexer import SharedLexer
from rheos.syntax.terms import position

EXTENSION = """
%extend dataset_clause: FROM _STREAM iri window -> stream_clause
window: "[" _RANGE INTEGER UNIT "]"
%extend FUNCTION: "timestamp"i
%override VAR: /[?$][A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*/
UNIT: "ms" | "s" | "m"
_STREAM: "STREAM"i
_RANGE: "RANGE"i
"""


class StreamBuilder(Builder):
    ARITIES = {**Builder.ARITIES, "TIMESTAMP": (1, 2)}  # noqa: RUF012

    def stream_clause(self, keyword: Token, iri: ast.Name, window: str) -> ast.DatasetClause:
        return ast.DatasetClause(position(keyword), iri, named=window == "10 s")

    def window(self, number: Token, unit: Token) -> str:
        return f"{number} {unit}"


def test_a_dialect_extends_and_overrides() -> None:
    dialect = Parser(grammar("sparql") + EXTENSION, StreamBuilder())
    query = dialect.parse(
        """PREFIX stream: <s> SELECT ?stream ?a-b FROM STREAM stream:range [RANGE 10 s] FROM <g>
        WHERE { ?stream stream:s ?a-b FILTER(timestamp(?range) > 10) }"""
    )
    assert [clause.named for clause in query.dataset] == [True, False]
    assert isinstance(query.form, ast.SelectQuery)
    assert query.form.projection is not None
    assert [item.variable.name for item in query.form.projection if item.variable] == ["stream", "a-b"]


def test_every_rule_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rule without its method would leave a piece of Lark's own tree in ours."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parser = Parser(grammar("sparql"), Builder())
    rules = parser._lark.rules
    names = {rule.alias or rule.options.template_source or rule.origin.name for rule in rules}
    single = {rule.origin.name for rule in rules if rule.options.expand1}
    missing = {name for name in names if not name.startswith("_") and not hasattr(Builder, name)}
    assert {name.split("{")[0] for name in missing} <= {name.split("{")[0] for name in single}


def test_the_shared_scan_is_what_is_used() -> None:
    parser = Parser(grammar("sparql"), Builder())
    assert isinstance(parser._lark.parser.lexer, SharedLexer)


# --- the cache -------------------------------------------------------------------------------------


def cached(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.grammar"))


def test_tables_are_kept_for_the_next_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Parser(grammar("sparql"), Builder()).parse("ASK { ?s ?p [] }")
    (file,) = cached(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    before = file.stat().st_mtime_ns
    loaded = Parser(grammar("sparql"), Builder()).parse("ASK { ?s ?p [] }")
    assert loaded == made
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize("content", [b"", b"junk", b"\x80\x04}."])
def test_a_broken_cache_is_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Parser(grammar("sparql"), Builder())
    (file,) = cached(tmp_path)
    size = file.stat().st_size
    file.write_bytes(content)
    Parser(grammar("sparql"), Builder()).parse("ASK { }")
    assert abs(file.stat().st_size - size) < size / 10


@pytest.mark.parametrize("home", [os.devnull, None])
def test_no_place_for_a_cache(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", home)
    Parser(grammar("sparql"), Builder()).parse("ASK { }")


# --- threads ---------------------------------------------------------------------------------------


def test_threads_do_not_mix_their_texts() -> None:
    texts = [f"ASK {{ [] <p{number}> [] . [] ?q (1 2 3) }}" for number in range(40)]
    expected = [parse(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(parse, texts)) == expected
