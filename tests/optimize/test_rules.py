"""Each rule of the optimiser on small queries: what it is given, and what it makes of that.

A file of `rules/` has, for each case, the query, the algebra before the rule and the algebra after it.
`make golden` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rheos.algebra.printer import show
from rheos.algebra.translate import translate
from rheos.optimize import RULES
from rheos.syntax import parse
from tests.golden.test_golden import STATISTICS

FILES = Path(__file__).parent / "rules"
PREFIX = "PREFIX : <http://ex/>\n"


def cases(text: str) -> dict[str, str]:
    """The query of each case, by the case's name."""
    blocks = (block.partition("\n") for block in text.split("=== ")[1:])
    return {name: body.split("\n--- ")[0].strip() for name, _, body in blocks}


def shown(name: str, query: str, rule: int) -> str:
    algebra = translate(parse(PREFIX + query))
    before, after = show(algebra), show(RULES[rule](algebra, STATISTICS))
    if before == after:
        after = "(as before)"
    return f"=== {name}\n{query}\n--- before\n{before}\n--- after\n{after}\n"


@pytest.mark.parametrize("rule", range(len(RULES)), ids=lambda number: RULES[number].__name__)
def test_rule(rule: int) -> None:
    path = FILES / f"{RULES[rule].__name__}.txt"
    text = path.read_text()
    found = "\n".join(shown(name, query, rule) for name, query in cases(text).items())
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(found)
    assert found == path.read_text()
