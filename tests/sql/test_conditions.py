"""Conditions: every text is read as a whole, and nowhere else are texts joined by AND, OR and NOT."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import duckdb
import pytest

import rheos
from rheos.sql.conditions import AND, OR, TIGHTER, all_of, any_of, loosest, negated

SOURCES = Path(rheos.__file__).parent
#: The parts that print SQL.
FOLDERS = ("sql", "runtime", "store", "execute")

HOLE = "\0"  # where an f-string puts a text
#: What ends the operand of a condition, so that a hole between two of these is a condition itself.
BEFORE = r"(?:^|\(|\b(?:AND|OR|NOT|ON|WHEN|WHERE|HAVING)\b)"
AFTER = r"(?:$|\)|\b(?:AND|OR|THEN)\b)"
JOINED = [
    re.compile(rf"\b(?:AND|OR|NOT)\s+{HOLE}\s*{AFTER}"),  # a condition of unknown form after an operator
    re.compile(rf"{BEFORE}\s*{HOLE}\s+(?:AND|OR)\b"),  # and before one
    re.compile(r"^\s*(?:AND|OR)\b|\b(?:AND|OR|NOT)\s*$"),  # an operator to be put between texts
]
RANGE = re.compile(r"BETWEEN (?:(?!BETWEEN).)+? AND")


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a module and their lines, with holes for what f-strings put in; not docstrings."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inside.add(node.value)
        if isinstance(node, ast.JoinedStr):
            inside |= set(node.values)
            parts = (part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


def joined_by_hand(source: str) -> list[tuple[int, str]]:
    found = [(line, RANGE.sub("RANGE", text)) for line, text in texts(ast.parse(source))]
    return [(line, text) for line, text in found if any(rule.search(text) for rule in JOINED)]


def test_nobody_else_joins_conditions() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {text.replace(HOLE, '{…}')}"
        for folder in FOLDERS
        for path in sorted((SOURCES / folder).rglob("*.py"))
        if path.name != "conditions.py"
        for line, text in joined_by_hand(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        '" AND ".join(conditions)',
        "f\"ON {' OR '.join(tests)}\"",
        'f"{left} AND {right}"',
        'f"({test} OR {alias}.x IS NULL)"',
        'f"l.x = r.x AND {condition}"',
        'f"WHEN NOT {test} THEN 1"',
        'sql + f" AND x = {value}"',
        '"NOT " + test',
    ],
)
def test_what_joins_texts_is_seen(source: str) -> None:
    assert joined_by_hand(source)


@pytest.mark.parametrize(
    "source",
    [
        '"a AND b"',
        'f"{alias}.s = 1 AND {alias}.o IS NOT NULL"',
        'f"{x} BETWEEN {low} AND {high}"',
        'f"NOT EXISTS (SELECT 1 FROM {table})"',
        '"""AND {x}"""',
    ],
)
def test_what_joins_no_texts_is_let_be(source: str) -> None:
    assert not joined_by_hand(source)


@pytest.mark.parametrize(
    ("sql", "binds"),
    [
        ("a = b", TIGHTER),
        ("a OR b", OR),
        ("a AND b", AND),
        ("a AND b OR c", OR),
        ("(a OR b) AND c", AND),
        ("(a OR b)", TIGHTER),
        ("a IN (' OR ', 'b')", TIGHTER),
        ("a = 'it''s OR ' AND b", AND),
        ('"a OR b" = `c AND d`', TIGHTER),
        ("CASE WHEN a OR b THEN c AND d END", TIGHTER),
        ("CASE WHEN a THEN b END OR c", OR),
        ("x BETWEEN 1 AND 2", TIGHTER),
        ("x BETWEEN 1 AND 2 AND y", AND),
        ("x BETWEEN CASE WHEN a AND b THEN 1 END AND 2 AND y BETWEEN 1 AND 2", AND),
        ("a\n  AND b", AND),
        ("ORDER = BRAND", TIGHTER),
    ],
)
def test_how_tightly_a_text_binds(sql: str, binds: int) -> None:
    assert loosest(sql) == binds


def test_brackets_only_where_needed() -> None:
    assert all_of(["a", "b = c", any_of(["d", "e"])]) == "a AND b = c AND (d OR e)"
    assert any_of(["a AND b", "c OR d", "e"]) == "a AND b OR c OR d OR e"
    assert negated("a = b") == "NOT a = b"
    assert negated("a OR b") == "NOT (a OR b)"
    assert all_of([negated("a AND b"), "c"]) == "NOT (a AND b) AND c"
    assert (all_of([]), any_of([]), all_of(["TRUE", "a"]), any_of(["FALSE", "a"])) == (
        "TRUE",
        "FALSE",
        "a",
        "a",
    )
    assert (negated("TRUE"), negated("FALSE")) == ("FALSE", "TRUE")


LEAVES = ("p", "q OR r", "p AND q", "NOT r", "CASE WHEN p OR q THEN r END")


@pytest.mark.parametrize("shape", ["all", "any", "not", "all of any", "not any", "any of not all"])
def test_texts_keep_their_value(shape: str) -> None:
    """Whatever is joined has the value of the same with brackets around everything."""
    made = []
    for first, second in product(LEAVES, repeat=2):
        bare, full = (first, second), (f"({first})", f"({second})")
        match shape:
            case "all":
                pair = all_of(bare), " AND ".join(full)
            case "any":
                pair = any_of(bare), " OR ".join(full)
            case "not":
                pair = negated(first), f"NOT {full[0]}"
            case "all of any":
                pair = all_of([any_of(bare), first]), f"({' OR '.join(full)}) AND {full[0]}"
            case "not any":
                pair = negated(any_of(bare)), f"NOT ({' OR '.join(full)})"
            case _:
                pair = any_of([negated(all_of(bare)), first]), f"(NOT ({' AND '.join(full)})) OR {full[0]}"
        made.append(pair)
    values = ", ".join(f"({', '.join(row)})" for row in product(("TRUE", "FALSE", "NULL"), repeat=3))
    tests = ", ".join(f"count(*) FILTER (WHERE ({a}) IS DISTINCT FROM ({b}))" for a, b in made)
    found = duckdb.sql(f"SELECT {tests} FROM (VALUES {values}) AS t(p, q, r)").fetchall()
    assert found == [(0,) * len(made)]
