"""The name of a dialect comes in, its grammar text or its parser goes out, made once per process."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from lark import Lark

from rheos.syntax import ast
from rheos.syntax.build import Builder
from rheos.syntax.lexer import SharedLexer

# A dialect is the texts of its grammar, the base first, and the class that builds its tree.
DIALECTS: dict[str, tuple[tuple[str, ...], type[Builder]]] = {
    "sparql": (("sparql.lark",), Builder),
}


class Parser:
    """One dialect's tables and the builder that they call; it takes one text at a time."""

    def __init__(self, text: str, builder: Builder, name: str) -> None:
        self._builder = builder
        self._lock = Lock()
        self.lark = Lark(
            text,
            parser="lalr",
            lexer="contextual",
            start="query_unit",
            maybe_placeholders=False,
            transformer=_Reductions(builder),
            cache=_cache_file(name),
            _plugins={"ContextualLexer": SharedLexer},
        )

    def parse(self, text: str) -> ast.Query:
        with self._lock:
            self._builder.start(text)
            tree: Any = self.lark.parse(text)
            assert isinstance(tree, ast.Query)
            return tree


class _Reductions:
    """What Lark calls for each rule: the builder's method of that name, with the children as arguments."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[[list[Any]], Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._builder, name)
        return lambda children: method(*children)


def grammar(dialect: str) -> str:
    """The grammar of a dialect: the base and, after it, what the dialect extends and overrides."""
    names, _ = DIALECTS[dialect]
    folder = files("rheos.syntax")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


@cache
def parser(dialect: str) -> Parser:
    _, builder = DIALECTS[dialect]
    return Parser(grammar(dialect), builder(), dialect)


def _cache_file(name: str) -> str | bool:
    """Where Lark may keep its tables, or False.

    The file is a pickle, so it must not lie where another user could have put it: the folder is the
    user's own, not the shared one for temporary files. Lark checks that the file fits the grammar, and builds
    the tables anew when it does not or cannot be read.
    """
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home, "rheos")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return False
    except (OSError, RuntimeError):
        return False
    return str(folder / f"{name}.grammar")
