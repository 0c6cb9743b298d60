"""Regular expressions of XPath as those of RE2 and Java."""

from __future__ import annotations

import pytest

from rheos.sql.dialect import NotExpressible
from rheos.sql.functions.patterns import JAVA, RE2, InvalidPattern, pattern, replacement


@pytest.mark.parametrize(
    ("given", "flags", "re2", "java"),
    [
        ("abc", "", "abc", "abc"),
        ("^a.c$", "", r"\Aa[^\n\r]c\z", r"\Aa[^\n\r]c\z"),
        ("a.c", "s", "a(?s:.)c", "a(?s:.)c"),
        ("^a$", "m", "(?m:^)a(?m:$)", "(?md:^)a(?md:$)"),
        ("a", "i", "(?i)a", "(?iu)a"),
        ("a b", "x", "ab", "ab"),
        ("[ a]", "x", "[ a]", "[ a]"),
        ("a.b", "q", r"a\.b", r"a\.b"),
        (r"\d", "", r"[\p{Nd}]", r"[\p{Nd}]"),
        (r"[\d_]", "", r"[\p{Nd}\_]", r"[\p{Nd}\_]"),
        (r"\S", "", r"[^ \t\n\r]", r"[^ \t\n\r]"),
        ("[^a-z]", "", "[^a-z]", "[^a-z]"),
        ("[a&&b]", "", r"[a\&\&b]", r"[a\&\&b]"),
        ("(a|b)*?", "", "(a|b)*?", "(a|b)*?"),
        ("#", "", r"\#", r"\#"),
    ],
)
def test_patterns(given: str, flags: str, re2: str, java: str) -> None:
    assert pattern(given, flags, RE2)[0] == re2
    assert pattern(given, flags, JAVA)[0] == java


def test_groups_are_counted() -> None:
    assert pattern(r"(a)(?:b)\((c(d))", "", RE2)[1] == 3


@pytest.mark.parametrize(
    "given",
    [
        "[",
        "(",
        ")",
        "a**",
        "a++",
        "a{2}{3}",
        "*",
        "{",
        "}",
        "]",
        r"\q",
        "(?=a)",
        "[b-a]",
        r"\p{X}",
        "[]",
        "a\\",
        "[a-\\d]",
    ],
)
def test_what_is_no_pattern(given: str) -> None:
    for engine in (RE2, JAVA):
        with pytest.raises(InvalidPattern):
            pattern(given, "", engine)


def test_unknown_flags() -> None:
    with pytest.raises(InvalidPattern):
        pattern("a", "g", RE2)


@pytest.mark.parametrize("given", [r"(a)\1", "[a-z-[aeiou]]", r"\p{IsBasicLatin}", "a{2000}"])
def test_what_duckdb_cannot_do(given: str) -> None:
    assert pattern(given, "", JAVA)[0]
    with pytest.raises(NotExpressible, match="DuckDB"):
        pattern(given, "", RE2)


def test_subtraction_in_java() -> None:
    assert pattern("[a-z-[aeiou]]", "", JAVA)[0] == "[[a-z]&&[^aeiou]]"


@pytest.mark.parametrize(
    ("given", "groups", "re2", "java"),
    [
        ("x", 0, "x", "x"),
        ("$1", 1, r"\1", "$1"),
        ("$0", 0, r"\0", "$0"),
        ("$2", 1, "", ""),
        ("$10", 1, r"\10", "$1\\0"),
        (r"\$", 0, "$", r"\$"),
        (r"\\", 0, r"\\", r"\\"),
        (r"\$1", 1, "$1", r"\$1"),
    ],
)
def test_replacements(given: str, groups: int, re2: str, java: str) -> None:
    assert replacement(given, "", groups, RE2) == re2
    assert replacement(given, "", groups, JAVA) == java


@pytest.mark.parametrize("given", ["$", "$a", "\\", r"\a"])
def test_what_is_no_replacement(given: str) -> None:
    with pytest.raises(InvalidPattern):
        replacement(given, "", 1, RE2)
