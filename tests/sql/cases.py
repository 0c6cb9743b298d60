"""The tables of expressions in `cases/`: a text file comes in, expressions with what they must give go out.

A line is `expression => term`. Terms are those of `rheos.terms`, but with `xsd:` for its IRI, and `true`
and `false` for booleans; `-` is an error. A line that starts with `constant:` holds only where the
arguments are known when the query is compiled. After ` | ` stands what pyoxigraph gives where it differs
(`*`: anything), always by the letter of the recommendation on our side.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rheos.terms import XSD

FOLDER = Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@dataclass(frozen=True)
class Case:
    expression: str
    expected: str
    pyoxigraph: str
    constant: bool


def cases(name: str) -> list[Case]:
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [case(line) for line in lines if line and not line.startswith("#")]


def case(line: str) -> Case:
    constant = line.startswith("constant: ")
    expression, _, result = line.removeprefix("constant: ").rpartition(" => ")
    expected, _, other = result.partition(" | ")
    return Case(expression, expected, other or expected, constant)


def written(term: str | None) -> str:
    """A term as it stands in the tables."""
    if term is None:
        return "-"
    text = term.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace(f"<{XSD}", "xsd:")
    if "^^xsd:" in text or text.startswith("xsd:"):
        text = text.removesuffix(">")
    return {'"true"^^xsd:boolean': "true", '"false"^^xsd:boolean': "false"}.get(text, text)
