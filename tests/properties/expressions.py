"""Random expressions: a scope and a wanted kind come in, text goes out.

What pyoxigraph answers otherwise than the recommendation is left out here, each with its reason:

- the effective boolean value of a language-tagged string (a string like any other in section 17.2.2,
  an error there) and of an ill-typed number (false in 17.2.2, an error there);
- `<` on booleans (op:boolean-less-than in 17.3, an error there) and on language-tagged strings
  (an error in 17.3, a value there);
- the lexical form of decimals and doubles, which it does not keep: STR and its like never see them;
- IN and NOT IN with nothing in the list (false and true by 17.4.1.9, an error there if the left side is one,
  and dropped wrongly beside ||);
- division by a decimal, where zero divided by anything but a whole number is an error there;
- YEAR and its like on xsd:date, subtraction of times: extensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .vocabulary import IRIS, KIND, OBJECTS, VARIABLES, Chooser, Features, short

Scope = dict[str, bool]  # the variables in scope, and whether each is bound in every solution

CONSTANTS = {"node": IRIS, **{kind: OBJECTS[kind] for kind in ("int", "num", "str", "text", "time", "bool")}}
PARTS = {
    "node": ["node", "graph", "predicate"],
    "int": ["int"],
    "num": ["int", "num", "calc"],
    "str": ["str"],
    "text": ["str", "text"],
    "time": ["time"],
    "bool": ["bool"],
}
PATTERNS = ["a", "^a", "b$", "[a-c]", "A.*", "."]
BOOLEAN_FORMS = {
    "compare": 10, "test": 5, "text": 3, "equal": 4, "constant": 1, "in": 3, "value": 1, "same": 1,
}  # fmt: skip
NESTED_BOOLEAN_FORMS = {"and": 4, "or": 4, "not": 4, "if": 1, "coalesce": 2}
NUMBER_FORMS = {
    "arithmetic": 6, "function": 3, "length": 2, "time": 2, "if": 1, "coalesce": 1, "cast": 3, "minus": 1,
}  # fmt: skip
TEXT_FORMS = {
    "case": 2, "substr": 2, "concat": 2, "part": 2, "replace": 1, "str": 3, "lang": 1, "hash": 1,
    "encode": 1, "tag": 1, "if": 1, "coalesce": 1, "tz": 1,
}  # fmt: skip
COMPARISONS = ["=", "!=", "<", ">", "<=", ">="]


@dataclass(frozen=True)
class Expressions:
    """`exists` writes a group for EXISTS, given the variables of the row around it; None forbids it."""

    choose: Chooser
    features: Features
    exists: Callable[[Scope], str] | None = None

    # --- leaves ----------------------------------------------------------------------------------

    def variable(self, kinds: list[str], scope: Scope) -> str:
        """Mostly a variable in scope, now and then one that is not bound."""
        found = [name for name in scope if KIND[name] in kinds]
        if found and not self.choose.chance(6):
            return "?" + self.choose.pick(found)
        return "?" + self.choose.pick([name for kind in kinds for name in VARIABLES[kind]])

    def leaf(self, kind: str, scope: Scope) -> str:
        kinds = PARTS[kind]
        found = [name for name in scope if KIND[name] in kinds]
        if self.choose.chance(80 if found else 8):
            return self.variable(kinds, scope)
        return short(self.choose.pick(CONSTANTS[kind]))

    def kind(self, kinds: list[str], scope: Scope) -> str:
        """Mostly a kind that has a variable in scope."""
        found = [kind for kind in kinds if any(KIND[name] in PARTS[kind] for name in scope)]
        return self.choose.pick(found if found and self.choose.chance(85) else kinds)

    def bound(self, scope: Scope) -> str:
        return "?" + self.choose.pick(list(scope) or VARIABLES["any"])

    # --- by kind ---------------------------------------------------------------------------------

    def boolean(self, scope: Scope, depth: int = 2) -> str:
        weights = dict(BOOLEAN_FORMS)
        if depth > 0:
            weights |= NESTED_BOOLEAN_FORMS
            if self.exists:
                weights["exists"] = 5
        form = self.choose.weighted(weights)
        again = depth - 1
        match form:
            case "compare":
                return self.compare(scope, again)
            case "test":
                return self.test(scope, again)
            case "text":
                return self.text_test(scope, again)
            case "equal":
                left, right = self.operand(scope), self.operand(scope)
                return f"{left} {self.choose.pick(['=', '!='])} {right}"
            case "constant":
                return self.choose.pick(["true", "false"])
            case "in":
                kind = self.kind(["node", "int", "str", "num"], scope)
                members = ", ".join(self.leaf(kind, scope) for _ in range(self.choose.number(1, 3)))
                return f"{self.leaf(kind, scope)} {self.choose.pick(['IN', 'NOT IN'])} ({members})"
            case "value":
                return self.leaf(self.kind(["bool", "int", "str"], scope), scope)
            case "same":
                return f"sameTerm({self.operand(scope)}, {self.operand(scope)})"
            case "and" | "or":
                sign = "&&" if form == "and" else "||"
                return f"({self.boolean(scope, again)} {sign} {self.boolean(scope, again)})"
            case "not":
                return f"!({self.boolean(scope, again)})"
            case "if":
                parts = (self.boolean(scope, again) for _ in range(3))
                return f"IF({', '.join(parts)})"
            case "coalesce":
                return f"COALESCE({self.boolean(scope, again)}, {self.boolean(scope, again)})"
        assert self.exists is not None
        sign = self.choose.pick(["EXISTS", "NOT EXISTS"])
        return f"{sign} {self.exists(scope)}"

    def about_both(self, one: Scope, other: Scope) -> str:
        """A condition that speaks of two sides: those of an OPTIONAL, of EXISTS and the row around it."""

        def about(scope: Scope) -> str:
            return self.simple(scope) if self.choose.chance(60) else self.boolean(scope, 1)

        match self.choose.pick(
            [*["or"] * 4, "and", "and", "not", "if", "coalesce", "in", "compare", "compare"]
        ):
            case "or":
                return f"{about(one)} || {about(other)}"
            case "and":
                return f"{about(one)} && {about(other)}"
            case "not":
                return f"!({about(one)} {self.choose.pick(['||', '&&'])} {about(other)})"
            case "if":
                return f"IF({about(one)}, {about(other)}, {about(self.choose.pick([one, other]))})"
            case "coalesce":
                return f"COALESCE({self.compare(one, 0)}, {about(other)})"
            case "in":
                kind = self.kind(["node", "int", "str", "num"], other)
                members = f"{self.leaf(kind, other)}, {self.leaf(kind, one)}"
                return f"{self.leaf(kind, one)} {self.choose.pick(['IN', 'NOT IN'])} ({members})"
        kind = self.kind(["num", "str", "time", "node"], one)
        signs = ["=", "!="] if kind == "node" else COMPARISONS
        return f"{self.leaf(kind, one)} {self.choose.pick(signs)} {self.leaf(kind, other)}"

    def simple(self, scope: Scope) -> str:
        """A test of one variable that is as often true as not."""
        name = self.choose.pick(list(scope))
        kind = {"calc": "num"}.get(KIND[name], KIND[name])
        if kind in ("int", "num", "str", "time", "node"):
            signs = ["=", "!="] if kind == "node" else COMPARISONS
            return f"?{name} {self.choose.pick(signs)} {short(self.choose.pick(CONSTANTS[kind]))}"
        return f"{self.choose.pick(['BOUND', 'isIRI', 'isLiteral', 'isBlank'])}(?{name})"

    def operand(self, scope: Scope) -> str:
        """A term of any kind for `=` and sameTerm."""
        if scope and self.choose.chance(70):
            return self.bound(scope)
        return self.leaf(self.kind(list(CONSTANTS), scope), scope)

    def compare(self, scope: Scope, depth: int) -> str:
        sign = self.choose.pick(COMPARISONS)
        match self.choose.pick(["", *[self.kind(["num", "str", "time", "node"], scope)] * 12]):
            case "num":
                return f"{self.number(scope, depth)} {sign} {self.number(scope, depth)}"
            case "str":
                return f"{self.leaf('str', scope)} {sign} {self.leaf('str', scope)}"
            case "time":
                return f"{self.leaf('time', scope)} {sign} {self.leaf('time', scope)}"
            case "node":
                return (
                    f"{self.leaf('node', scope)} {self.choose.pick(['=', '!='])} {self.leaf('node', scope)}"
                )
        return f"{self.number(scope, 0)} {sign} {self.leaf('str', scope)}"

    def test(self, scope: Scope, depth: int) -> str:
        name = self.choose.pick(["BOUND", "isIRI", "isBlank", "isLiteral", "isNumeric", "isURI"])
        if name == "BOUND" or self.choose.chance(60):
            return f"{name}({self.bound(scope)})"
        return f"{name}({self.value(scope, depth)})"

    def text_test(self, scope: Scope, depth: int) -> str:
        match self.choose.pick(["STRSTARTS", "STRENDS", "CONTAINS", "REGEX", "LANGMATCHES"]):
            case "REGEX":
                flags = self.choose.pick(["", ', "i"'])
                return f'REGEX({self.text(scope, depth)}, "{self.choose.pick(PATTERNS)}"{flags})'
            case "LANGMATCHES":
                ranges = self.choose.pick(['"en"', '"*"', '"en-GB"', '"fr"'])
                return f"LANGMATCHES(LANG({self.bound(scope)}), {ranges})"
            case name:
                return f"{name}({self.text(scope, depth)}, {self.leaf('text', scope)})"

    def number(self, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.choose.chance(35):
            return self.leaf(self.kind(["int", "num"], scope), scope)
        again = depth - 1
        match self.choose.weighted(NUMBER_FORMS):
            case "arithmetic":
                sign = self.choose.pick(["+", "-", "*", "/"])
                right = self.number(scope, again) if sign != "/" else self.divisor(scope)
                return f"({self.number(scope, again)} {sign} {right})"
            case "function":
                return f"{self.choose.pick(['ABS', 'ROUND', 'CEIL', 'FLOOR'])}({self.number(scope, again)})"
            case "length":
                return f"STRLEN({self.text(scope, again)})"
            case "time":
                name = self.choose.pick(["YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"])
                return f"{name}({self.leaf('time', scope)})"
            case "if":
                condition = self.boolean(scope, again)
                return f"IF({condition}, {self.number(scope, again)}, {self.number(scope, again)})"
            case "coalesce":
                return f"COALESCE({self.number(scope, again)}, {self.number(scope, again)})"
            case "cast":
                target = self.choose.pick(["integer", "double", "decimal", "float"])
                kind = self.kind(["int", "str", "num", "bool"], scope)
                return f"xsd:{target}({self.leaf(kind, scope)})"
        return f"(- {self.number(scope, again)})"

    def divisor(self, scope: Scope) -> str:
        kind = self.kind(["int", "num"], scope)
        return self.leaf("int", scope) if kind == "int" else f"xsd:double({self.leaf('num', scope)})"

    def text(self, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.choose.chance(35):
            return self.leaf(self.kind(["str", "text"], scope), scope)
        again = depth - 1
        match self.choose.weighted(TEXT_FORMS):
            case "case":
                return f"{self.choose.pick(['UCASE', 'LCASE'])}({self.text(scope, again)})"
            case "substr":
                length = self.choose.pick(["", ", 1", ", 2", ", 0"])
                return f"SUBSTR({self.text(scope, again)}, {self.choose.number(0, 3)}{length})"
            case "concat":
                parts = (self.text(scope, again) for _ in range(self.choose.number(0, 3)))
                return f"CONCAT({', '.join(parts)})"
            case "part":
                name = self.choose.pick(["STRBEFORE", "STRAFTER"])
                return f"{name}({self.text(scope, again)}, {self.leaf('text', scope)})"
            case "replace":
                new = self.choose.pick(["z", "", "<$0>"])
                pattern = self.choose.pick(["a", "[ab]", "b$", "A"])
                flags = self.choose.pick(["", ', "i"'])
                return f'REPLACE({self.text(scope, again)}, "{pattern}", "{new}"{flags})'
            case "str":
                kind = self.kind(["node", "int", "text", "time", "bool"], scope)
                return f"{self.choose.pick(['STR', 'xsd:string'])}({self.leaf(kind, scope)})"
            case "lang":
                return f"LANG({self.bound(scope)})"
            case "hash":
                name = self.choose.pick(["MD5", "SHA1", "SHA256", "SHA384", "SHA512"])
                return f"{name}({self.leaf('str', scope)})"
            case "encode":
                return f"ENCODE_FOR_URI({self.text(scope, again)})"
            case "tag":
                language = self.choose.pick(["en", "fr"])
                return f"STRLANG({self.leaf('str', scope)}, '{language}')"
            case "if":
                return (
                    f"IF({self.boolean(scope, again)}, {self.text(scope, again)}, {self.text(scope, again)})"
                )
            case "coalesce":
                return f"COALESCE({self.text(scope, again)}, {self.text(scope, again)})"
        return f"TZ({self.leaf('time', scope)})"

    def node(self, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.choose.chance(50):
            return self.leaf("node", scope)
        again = depth - 1
        match self.choose.pick(["if", "coalesce", "iri", "datatype"]):
            case "if":
                return (
                    f"IF({self.boolean(scope, again)}, {self.node(scope, again)}, {self.node(scope, again)})"
                )
            case "coalesce":
                return f"COALESCE({self.node(scope, again)}, {self.node(scope, again)})"
            case "iri":
                argument = self.leaf("node", scope)
                return self.choose.pick([f"IRI({argument})", f"URI(STR({argument}))"])
        kind = "str" if self.features.derived else self.choose.pick(["int", "num", "text", "time", "bool"])
        return f"DATATYPE({self.leaf(kind, scope)})"

    def value(self, scope: Scope, depth: int = 2) -> str:
        """An expression of any kind."""
        match self.choose.pick([self.kind(["num", "text", "bool", "node"], scope), "var"]):
            case "num":
                return self.number(scope, depth)
            case "text":
                return self.text(scope, depth)
            case "bool":
                return self.boolean(scope, depth)
            case "node":
                return self.node(scope, depth)
        return self.bound(scope)
