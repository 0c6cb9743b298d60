"""Random expressions of SPARQL: a source of random choices comes in, the text of an expression goes out.

What is known to differ from pyoxigraph is left out and stands in the tables of `cases/`: lexical forms of
doubles under STR, the order of booleans and of tagged strings, effective boolean values of ill-formed
literals; and pyoxigraph makes xsd:integer of the types derived from it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

NUMBERS = [
    "0", "1", "-7", "42", "1000000007", "0.5", "-2.25", "3.0", "0.001", "1.5e0", "-2.5e3", "0e0", "1e-5",
]  # fmt: skip
STRINGS = ["''", "'a'", "'abc'", "'Straße'", "'a b'", "'😀é'", "'5'", "'2.5'", "'it\\'s \"x\"'", "'\\\\n'"]
TAGGED = ["'a'@en", "'abc'@en", "'abc'@fr", "''@en-gb"]
TIMES = [
    "'2020-01-01T00:00:00Z'^^xsd:dateTime",
    "'2020-01-01T01:00:00+01:00'^^xsd:dateTime",
    "'2021-06-30T23:59:59.5-05:30'^^xsd:dateTime",
    "'2020-01-01Z'^^xsd:date",
]
# In canonical form: pyoxigraph gives no other.
DURATIONS = [
    "'P1D'^^xsd:duration",
    "'PT1.5S'^^xsd:dayTimeDuration",
    "'P1M'^^xsd:yearMonthDuration",
    "'-P1Y2DT3H'^^xsd:duration",
    "'P30D'^^xsd:dayTimeDuration",
]
OTHERS = ["<http://ex/a>", "<http://ex/b>", "'x'^^<http://ex/t>", "'abc'^^xsd:integer", "?none"]
BOOLEANS = ["true", "false"]


class Expressions:
    """Each method makes an expression of a kind, at most `depth` calls deep."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def one(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()

    def of(self, terms: list[str]) -> str:
        return self.random.choice(terms)

    def call(self, names: str, *arguments: str) -> str:
        return f"{self.of(names.split())}({', '.join(arguments)})"

    def infix(self, left: str, operators: str, right: str) -> str:
        return f"({left} {self.of(operators.split())} {right})"

    def anything(self) -> str:
        return self.of(self.random.choice([NUMBERS, STRINGS, TAGGED, TIMES, DURATIONS, OTHERS, BOOLEANS]))

    def expression(self, depth: int = 3) -> str:
        return self.one(
            lambda: self.number(depth),
            lambda: self.string(depth),
            lambda: self.boolean(depth),
            lambda: self.call("COALESCE", self.anything(), self.anything()),
            lambda: self.call("IF", self.boolean(1), self.anything(), self.anything()),
            lambda: self.duration(depth),
            lambda: self.infix(self.of(TIMES), "-", self.duration(depth)),
            lambda: self.call("DATATYPE", self.one(self.anything, lambda: self.number(2))),
        )

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.of(NUMBERS)
        below = depth - 1
        return self.one(
            lambda: self.infix(self.number(below), "+ - * /", self.number(below)),
            lambda: self.infix(self.number(below), "+ - * /", self.number(below)),
            lambda: self.call("ABS CEIL FLOOR ROUND - + xsd:double", self.number(below)),
            lambda: self.call("STRLEN", self.string(below)),
            lambda: self.call("IF", self.boolean(below), self.number(below), self.number(below)),
            lambda: self.call("COALESCE", self.number(below), self.number(below)),
            lambda: self.call(
                "xsd:integer", self.one(lambda: self.string(below), lambda: self.boolean(below))
            ),
            lambda: self.call("YEAR MONTH DAY", self.of(TIMES)),
        )

    def duration(self, depth: int) -> str:
        if depth <= 0:
            return self.of(DURATIONS)
        below = depth - 1
        return self.one(
            lambda: self.infix(self.duration(below), "+ -", self.duration(below)),
            lambda: self.infix(self.of(TIMES), "-", self.of(TIMES)),
            lambda: f"(-{self.duration(below)})",
        )

    def string(self, depth: int) -> str:
        if depth <= 0:
            return self.of(STRINGS + TAGGED)
        below = depth - 1
        return self.one(
            lambda: self.call("UCASE LCASE STR ENCODE_FOR_URI LANG MD5", self.string(below)),
            lambda: self.call("STRBEFORE STRAFTER CONCAT", self.string(below), self.string(below)),
            lambda: self.call(
                "SUBSTR", self.string(below), self.of(["1", "2", "0", "-1"]), self.of(["0", "2", "5"])
            ),
            lambda: self.call("IF", self.boolean(below), self.string(below), self.string(below)),
            lambda: self.call("COALESCE", self.string(below), self.string(below)),
            lambda: self.call("STR", self.of(["<http://ex/a>", "5", "'x'^^<http://ex/t>", "true"])),
            lambda: self.call("REPLACE", self.string(below), "'a'", "'[b]'"),
        )

    def boolean(self, depth: int) -> str:
        below = max(depth - 1, 0)
        comparisons = (
            lambda: self.infix(self.number(below), "< > <= >= = !=", self.number(below)),
            lambda: self.infix(self.of(STRINGS), "< > <= >=", self.of(STRINGS)),
            lambda: self.infix(self.of(TIMES), "< > <= >=", self.of(TIMES)),
            lambda: self.infix(self.duration(below), "< > <= >= = !=", self.duration(below)),
            lambda: self.infix(self.anything(), "= !=", self.anything()),
            lambda: self.infix(self.string(below), "= !=", self.string(below)),
            lambda: self.infix(self.number(below), "< =", self.of(OTHERS + STRINGS + TAGGED)),
            lambda: self.call("sameTerm", self.anything(), self.anything()),
            lambda: self.call("isIRI isLiteral isNumeric isBlank", self.anything()),
            lambda: self.call("CONTAINS STRSTARTS STRENDS", self.string(below), self.string(below)),
            lambda: self.call("REGEX", self.string(below), self.of(["'^a'", "'B', 'i'", "'[^a-c]'", "'.$'"])),
            lambda: f"({self.anything()} IN ({self.anything()}, {self.anything()}))",
        )
        if depth <= 0:
            return self.one(*comparisons)
        return self.one(
            *comparisons,
            lambda: self.infix(self.boolean(below), "&& ||", self.boolean(below)),
            lambda: f"(!{self.boolean(below)})",
            lambda: self.call("xsd:boolean", self.number(below)),
        )
