"""Layers point one way: what each folder may not know of, read from the imports themselves."""

from __future__ import annotations

import re
from pathlib import Path

import grimp
import pytest

import rheos

ROOT = Path(rheos.__file__).parent

# A folder, and those of which nothing in it may import anything.
RULES = {
    "syntax": ("algebra", "optimize", "sql", "execute", "store", "sources", "runtime", "server", "cli"),
    "algebra": ("optimize", "sql", "execute", "store", "sources", "runtime", "server", "cli"),
    "optimize": ("sql", "execute", "store", "sources", "runtime", "server", "cli"),
    "sql": ("execute", "store", "sources", "runtime", "server", "cli"),
    "store": ("execute", "sources", "runtime", "server", "cli"),
    "execute": ("sources", "runtime", "server", "cli"),
    "sources": ("runtime", "sinks", "server", "cli"),
    "mapping": ("runtime", "sinks", "server", "cli"),
    "sinks": ("sources", "mapping", "runtime", "server", "cli"),
    "answers": ("execute", "store", "sources", "runtime", "server", "cli"),
    "runtime": ("server", "cli", "demo"),
    "runtime.state": (
        "runtime.worker",
        "runtime.driver",
        "runtime.csparql",
        "runtime.cqels",
        "runtime.epsparql",
        "runtime.rspql",
    ),
    "runtime.worker": (
        "runtime.driver",
        "runtime.csparql",
        "runtime.cqels",
        "runtime.epsparql",
        "runtime.rspql",
    ),
    # RSP-QL is evaluated by the code of C-SPARQL.
    "runtime.csparql": ("runtime.driver", "runtime.cqels", "runtime.epsparql", "runtime.rspql"),
    "runtime.cqels": ("runtime.driver", "runtime.csparql", "runtime.epsparql", "runtime.rspql"),
    "runtime.epsparql": ("runtime.driver", "runtime.csparql", "runtime.cqels", "runtime.rspql"),
    "runtime.rspql": ("runtime.driver", "runtime.cqels", "runtime.epsparql"),
    "server": ("cli", "demo"),
}

LANGUAGES = ("csparql", "cqels", "epsparql", "rspql")


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("rheos", include_external_packages=False)


@pytest.mark.parametrize(("folder", "others"), RULES.items(), ids=RULES.keys())
def test_a_layer_knows_nothing_of_those_above(
    folder: str, others: tuple[str, ...], imports: grimp.ImportGraph
) -> None:
    found = [
        f"{direct} imports {other}"
        for direct in sorted(modules(imports, folder))
        for other in sorted(imports.find_modules_directly_imported_by(direct))
        if any(other == f"rheos.{name}" or other.startswith(f"rheos.{name}.") for name in others)
    ]
    assert not found, "\n".join(found)


def modules(imports: grimp.ImportGraph, folder: str) -> set[str]:
    return {f"rheos.{folder}"} | imports.find_descendants(f"rheos.{folder}")


def test_only_one_place_knows_the_languages(imports: grimp.ImportGraph) -> None:
    """A language is a room of the runtime. Others see its operator through what all operators have."""
    rooms = {module for language in LANGUAGES for module in modules(imports, f"runtime.{language}")}
    outside = modules(imports, "runtime") - rooms - {"rheos.runtime.languages"}
    for module in sorted(outside):
        assert not imports.find_modules_directly_imported_by(module) & rooms, module


def test_nobody_asks_which_language_an_operator_is_of() -> None:
    asks = re.compile(r"isinstance\([^)]*(?:CSparql|Cqels|EPSparql|Rspql)(?:Operator|Query)")
    for path in ROOT.rglob("*.py"):
        if not any(language in path.parts for language in LANGUAGES):
            assert not asks.search(path.read_text()), path


def test_no_module_is_too_long() -> None:
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 600, path
