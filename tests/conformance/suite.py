"""The list of W3C tests as it lies beside the checkout: `tests.json` comes in, `Case` objects go out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urljoin

BASE = "http://w3c.test/"
CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("RHEOS_W3C", CHECKOUT.parent / "shared" / "w3c"))

TOKEN = re.compile(
    r"""(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
      | (?P<string>'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3} | \"{3}(?:\"{0,2}(?:[^"\\]|\\.))*\"{3}
                  | '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
      | (?P<comment>\#[^\n\r]*)
      | (?P<brace>[{}])
      | (?P<word>[A-Za-z]+)
      | (?P<other>[?$:@]?\w+|.)""",
    re.VERBOSE | re.DOTALL,
)


def outline(text: str) -> Iterator[str]:
    """The words and IRIs of a query that stand outside of all braces (words in capitals)."""
    depth = 0
    for token in TOKEN.finditer(text):
        match token.lastgroup:
            case "brace":
                depth += 1 if token[0] == "{" else -1
            case "word" if depth == 0:
                yield token[0].upper()
            case "iri" if depth == 0:
                yield token[0]


@dataclass(frozen=True)
class Case:
    """One test: the paths are relative to `FOLDER`."""

    id: str
    type: str
    name: str
    query: str
    data: tuple[str, ...] = ()
    graph_data: tuple[str, ...] = ()
    result: str | None = None

    @property
    def folder(self) -> str:
        return self.query.rpartition("/")[0]

    @property
    def base(self) -> str:
        return BASE + self.query

    @property
    def is_syntax(self) -> bool:
        return "SyntaxTest" in self.type

    @property
    def is_negative(self) -> bool:
        return self.type.startswith("Negative")

    @cached_property
    def text(self) -> str:
        return (FOLDER / self.query).read_bytes().decode()

    @cached_property
    def outline(self) -> list[str]:
        return list(outline(self.text))

    @property
    def is_ordered(self) -> bool:
        return any(pair == ("ORDER", "BY") for pair in zip(self.outline, self.outline[1:], strict=False))

    @property
    def is_reduced(self) -> bool:
        return "REDUCED" in self.outline

    def named_graphs(self) -> list[str]:
        """The files to load as named graphs: those of the manifest, and those the query names in FROM."""
        base = self.base
        found = dict.fromkeys(self.graph_data)
        before = ""
        for token in self.outline:
            if token.startswith("<"):
                target = urljoin(base, token[1:-1])
                if before == "BASE":
                    base = target
                path = target.removeprefix(BASE)
                if before in ("FROM", "NAMED") and path != target and (FOLDER / path).is_file():
                    found[path] = None
            before = token
        return list(found)


def read_cases() -> list[Case]:
    """All the tests, in the order of `tests.json`; none where the folder is absent."""
    listing = FOLDER / "tests.json"
    if not listing.is_file():
        return []
    return [
        Case(
            id=entry["id"],
            type=entry["type"],
            name=entry["name"],
            query=entry["query"],
            data=tuple(entry.get("data", ())),
            graph_data=tuple(entry.get("graphData", ())),
            result=entry.get("result"),
        )
        for entry in json.loads(listing.read_text(encoding="utf-8"))
    ]
