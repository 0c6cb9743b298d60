"""Regular expressions: those of XPath (F&O 5.6.1) come in with their flags, those of RE2 or Java go out.

The engines differ from XPath, and from one another, in the meaning of `.`, `^`, `$`, `\\d`, `\\w` and `\\s`
and in what a class may contain, so all of these are spelled out.
"""

from __future__ import annotations

import re

from rheos.sql.dialect import NotExpressible

JAVA, RE2 = "spark", "duckdb"

# How escapes are spelled inside a class. In F&O and XSD, \w is everything but punctuation, separators and
# others, so it does not include the underscore.
_CLASSES = {
    "d": r"\p{Nd}",
    "w": r"\p{L}\p{M}\p{N}\p{S}",
    "s": r" \t\n\r",
    "i": r"\p{L}_:",
    "c": r"\p{L}\p{M}\p{Nd}_:.\-·",
}
_COMPLEMENTS = {"W": r"\p{P}\p{Z}\p{C}", "D": r"\P{Nd}"}
_SAME = set("nrt\\|.?*+(){}-[]^$")
_QUANTIFIER = re.compile(r"[?*+]|\{[0-9]+(?:,[0-9]*)?\}")
_LARGEST_REPEAT = 1000


class InvalidPattern(Exception):
    """Not a regular expression of XPath: an error in the sense of SPARQL (err:FORX0002)."""


class Translation:
    """One pass over a pattern; `groups` is the number of its capturing groups."""

    def __init__(self, pattern: str, flags: str, engine: str) -> None:
        if set(flags) - set("ismxq"):
            raise InvalidPattern(f"unknown flags: {flags}")
        self.pattern, self.flags, self.engine = pattern, flags, engine
        self.at = 0
        self.groups = 0
        self.open = 0
        #: The pattern for Python, with placeholders for what Python lacks; it only checks the syntax.
        self.skeleton: list[str] = []

    def run(self) -> str:
        ignore_case = "(?iu)" if self.engine == JAVA else "(?i)"
        prefix = ignore_case if "i" in self.flags else ""
        if "q" in self.flags:
            return prefix + "".join(_quoted(character) for character in self.pattern)
        printed = []
        while self.at < len(self.pattern):
            printed.append(self.piece())
        try:
            re.compile("".join(self.skeleton))
        except (re.error, OverflowError) as error:
            raise InvalidPattern(str(error)) from None
        return prefix + "".join(printed)

    def take(self) -> str:
        if self.at >= len(self.pattern):
            raise InvalidPattern("unfinished")
        self.at += 1
        return self.pattern[self.at - 1]

    def emit(self, printed: str, skeleton: str) -> str:
        self.skeleton.append(skeleton)
        return printed

    def piece(self) -> str:
        found = _QUANTIFIER.match(self.pattern, self.at)
        if found:
            return self.quantifier(found[0])
        character = self.take()
        multiline = "(?md:{})" if self.engine == JAVA else "(?m:{})"
        match character:
            case "\\":
                return self.escape()
            case "[":
                return self.emit(self.character_class(), "a")
            case "(":
                return self.group()
            case ".":
                return self.emit("(?s:.)" if "s" in self.flags else r"[^\n\r]", "a")
            case "^":
                return self.emit(multiline.format("^") if "m" in self.flags else r"\A", "^")
            case "$":
                return self.emit(multiline.format("$") if "m" in self.flags else r"\z", "$")
            case "|" | ")":
                return self.emit(character, character)
            case "{" | "}" | "]":
                raise InvalidPattern(f"a {character} that means nothing")
        if "x" in self.flags and character in " \t\n\r":
            return ""
        return self.emit(_quoted(character), "a")

    def quantifier(self, text: str) -> str:
        self.at += len(text)
        counts = [int(count) for count in re.findall("[0-9]+", text)]
        if self.engine == RE2 and max(counts, default=0) > _LARGEST_REPEAT:
            raise NotExpressible(f"DuckDB repeats a pattern at most {_LARGEST_REPEAT} times: {self.pattern}")
        if self.pattern.startswith("?", self.at):
            self.at += 1
            text += "?"
        if _QUANTIFIER.match(self.pattern, self.at):
            raise InvalidPattern("a quantifier after a quantifier")
        return self.emit(text, text)

    def group(self) -> str:
        for opening in ("?:", "?i)", "?i:"):
            if self.pattern.startswith(opening, self.at):
                self.at += len(opening)
                return self.emit("(" + opening, "()" if opening == "?i)" else "(?:")
        if self.pattern.startswith("?", self.at):
            raise InvalidPattern("(? is followed by : only")
        self.groups += 1
        return self.emit("(", "(")

    def escape(self) -> str:
        character = self.take()
        if character.isdigit() and character != "0":
            if self.engine == RE2:
                raise NotExpressible(f"DuckDB has no back-references (\\{character}) in {self.pattern}")
            return self.emit("\\" + character, "\\" + character)
        if character in "bB":  # XPath has no \b and \B, but both engines have them
            return self.emit("\\" + character, "")
        if character in _SAME:
            return self.emit("\\" + character, "a")
        if character in _COMPLEMENTS:
            return self.emit(f"[{_COMPLEMENTS[character]}]", "a")
        if character in _CLASSES:
            return self.emit(f"[{_CLASSES[character]}]", "a")
        if character.lower() in _CLASSES:
            return self.emit(f"[^{_CLASSES[character.lower()]}]", "a")
        if character in "pP":
            return self.emit(self.category(character), "a")
        raise InvalidPattern(f"\\{character}")

    def category(self, letter: str) -> str:
        found = re.compile(r"\{(\^?)([A-Za-z0-9-]+)\}").match(self.pattern, self.at)
        if not found or found[1]:
            raise InvalidPattern("a category without a name")
        self.at = found.end()
        name = found[2]
        if name.startswith("Is"):
            if self.engine == RE2:
                raise NotExpressible(f"DuckDB has no Unicode blocks (\\p{{{name}}}) in {self.pattern}")
            return f"\\{letter}{{In{name[2:]}}}"
        if not re.fullmatch("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?", name):
            raise InvalidPattern(f"no category {name}")
        if name == "Cn" and self.engine == RE2:
            raise NotExpressible(f"DuckDB has no category Cn in {self.pattern}")
        return f"\\{letter}{{{name}}}"

    def character_class(self) -> str:
        """A class after its opening bracket: characters, ranges, escapes, and last a subtracted class."""
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        printed: list[str] = []
        previous: str | None = None
        while True:
            character = self.take()
            if character == "]":
                if not printed:
                    raise InvalidPattern("an empty class")
                break
            if character == "-" and self.pattern.startswith("[", self.at):
                self.at += 1
                return self.subtraction(printed, negated)
            if character == "[":
                raise InvalidPattern("a class inside a class")
            if character == "-" and previous is not None and not self.pattern.startswith("]", self.at):
                end = self.take()
                end = self.class_escape(single=True) if end == "\\" else end
                if end < previous:
                    raise InvalidPattern("a range from high to low")
                printed.append(f"-{_quoted(end)}")
                previous = None
                continue
            if character == "\\":
                start = self.at
                text = self.class_escape(single=False)
                single = self.pattern[start] in _SAME
                previous = self.unescaped(self.pattern[start]) if single else None
                printed.append(text)
                continue
            previous = character
            printed.append(_quoted(character))
        return f"[{'^' if negated else ''}{''.join(printed)}]"

    def subtraction(self, printed: list[str], negated: bool) -> str:
        left_out = self.character_class()
        if self.take() != "]":
            raise InvalidPattern("a subtraction is the last part of a class")
        if self.engine == RE2:
            raise NotExpressible(f"DuckDB cannot leave one class out of another: {self.pattern}")
        kept = f"[{'^' if negated else ''}{''.join(printed)}]"
        complement = left_out[2:-1] if left_out.startswith("[^") else f"^{left_out[1:-1]}"
        return f"[{kept}&&[{complement}]]"

    def class_escape(self, *, single: bool) -> str:
        character = self.take()
        if character in _SAME:
            return self.unescaped(character) if single else "\\" + character
        if single:
            raise InvalidPattern("a range of classes")
        if character in _COMPLEMENTS:
            return _COMPLEMENTS[character]
        if character in _CLASSES:
            return _CLASSES[character]
        if character == "S" and self.engine == JAVA:
            return r"[^ \t\n\r]"
        if character in "pP":
            return self.category(character)
        if character.lower() in _CLASSES:
            raise NotExpressible(f"\\{character} inside a class: {self.pattern}")
        raise InvalidPattern(f"\\{character}")

    @staticmethod
    def unescaped(character: str) -> str:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(character, character)


def _quoted(character: str) -> str:
    """A character escaped so that it stands for itself, inside a class and outside."""
    if character in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[character]
    return (
        "\\" + character
        if character.isascii() and not character.isalnum() and character != " "
        else character
    )


def pattern(text: str, flags: str, engine: str) -> tuple[str, int]:
    """The pattern for an engine, and the number of its groups."""
    translation = Translation(text, flags, engine)
    printed = translation.run()
    return printed, translation.groups


def replacement(text: str, flags: str, groups: int, engine: str) -> str:
    """The replacement of fn:replace: `$1` is a group, `\\$` and `\\\\` are a dollar and a backslash."""
    printed: list[str] = []
    at = 0
    after_group = False
    while at < len(text):
        was_group, after_group = after_group, False
        character = text[at]
        at += 1
        if "q" not in flags and character == "\\":
            if text[at : at + 1] not in ("\\", "$"):
                raise InvalidPattern("a backslash in a replacement")
            printed.append(_literal(text[at], engine))
            at += 1
        elif "q" not in flags and character == "$":
            found = re.compile("[0-9]+").match(text, at)
            if not found:
                raise InvalidPattern("a dollar in a replacement")
            digits = found[0]
            while len(digits) > 1 and int(digits) > groups:
                digits = digits[:-1]
            at += len(digits)
            printed.append(_group(int(digits), groups, engine))
            after_group = True
        else:
            # Java would take a digit after a group reference for a part of the group's number.
            ambiguous = was_group and engine == JAVA and character.isdigit()
            printed.append("\\" + character if ambiguous else _literal(character, engine))
    return "".join(printed)


def _group(number: int, groups: int, engine: str) -> str:
    if number > groups:
        return ""
    if engine == RE2 and number > 9:
        raise NotExpressible("DuckDB refers to nine groups at most in a replacement")
    return f"${number}" if engine == JAVA else f"\\{number}"


def _literal(character: str, engine: str) -> str:
    special = "\\$" if engine == JAVA else "\\"
    return "\\" + character if character in special else character
