"""The grammar and the parser of each dialect, made once per process."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

import lark
from lark import Lark

from rheos.folders import cache_folder
from rheos.syntax.build import Builder
from rheos.syntax.lexer import SharedLexer

# A dialect has the files of its grammar, the base first, and the class that builds its tree, by module and
# name: the class is imported only when a query needs it.
DIALECTS: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {
    "sparql": (("sparql.lark",), ("rheos.syntax.build", "Builder")),
    "csparql": (
        ("sparql.lark", "registration.lark", "reporting.lark", "csparql.lark"),
        ("rheos.syntax.csparql", "CSparqlBuilder"),
    ),
    "cqels": (("sparql.lark", "registration.lark", "cqels.lark"), ("rheos.syntax.cqels", "CqelsBuilder")),
    "epsparql": (
        ("sparql.lark", "registration.lark", "events.lark", "epsparql.lark"),
        ("rheos.syntax.epsparql", "EpSparqlBuilder"),
    ),
    "rspql": (
        ("sparql.lark", "registration.lark", "reporting.lark", "events.lark", "rspql.lark"),
        ("rheos.syntax.rspql", "RspqlBuilder"),
    ),
    "update": (("sparql.lark", "update.lark"), ("rheos.syntax.update", "UpdateBuilder")),
}


def grammar(dialect: str) -> str:
    """The text of a dialect's grammar: the base and, after it, the rules that extend and override it."""
    names, _ = DIALECTS[dialect]
    folder = files("rheos.syntax")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


@cache
def parser(dialect: str) -> Parser:
    _, (module, name) = DIALECTS[dialect]
    builder: type[Builder] = getattr(import_module(module), name)
    return Parser(grammar(dialect), builder())


class Parser:
    """The tables of a grammar and the builder that they call. It parses one text at a time."""

    def __init__(self, text: str, builder: Builder) -> None:
        self._builder = builder
        self._lock = Lock()
        self._lark = _tables(text, {"transformer": _Reductions(builder), "_plugins": _PLUGINS})

    def parse(self, text: str) -> Any:
        """The tree that the builder makes of the text: an `ast.Query`, or the tree of an update."""
        with self._lock:
            self._builder.start(text)
            return self._lark.parse(text)


_PLUGINS = {"ContextualLexer": SharedLexer}


class _Reductions:
    """The object that Lark calls for each rule. It passes the children of the rule to the builder's method of
    that name."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[[list[Any]], Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._builder, name)
        return lambda children: method(*children)


def _tables(text: str, options: dict[str, Any]) -> Lark:
    """The parser of a grammar. Its tables come from the user's cache; if they are not there, they are made
    and written to the cache.

    Lark's own cache is not used. It is a pickle in the folder for temporary files, where another user could
    have put one. It is also written in place, so another process could read half of it.
    """
    file = _cache_file(text)
    # If the file is absent, cut off or from another version, the tables are made anew, whatever the error is.
    with suppress(Exception):
        kept = pickle.loads(file.read_bytes())
        loaded: Lark = Lark._load_from_dict(kept["data"], kept["memo"], **options)  # type: ignore[no-untyped-call]
        return loaded
    made = Lark(
        text, parser="lalr", lexer="contextual", start="query_unit", maybe_placeholders=False, **options
    )
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, delete=False) as new:
            made.save(new, exclude_options=options)
        os.replace(new.name, file)
    return made


def _cache_file(text: str) -> Path:
    make = f"{text}{lark.__version__}{sys.version_info[:2]}"
    return cache_folder() / (hashlib.sha256(make.encode()).hexdigest()[:20] + ".grammar")
