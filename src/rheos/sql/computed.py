"""Computed values: the results of functions, each known to be of one kind."""

from __future__ import annotations

from functools import cached_property

from rheos.algebra import literals as c
from rheos.sql import decode
from rheos.sql.conditions import FALSE, TRUE
from rheos.sql.decode import QUOTE
from rheos.sql.dialect import EXACT
from rheos.sql.lexical import number_term, number_text
from rheos.sql.scope import Scope
from rheos.sql.values import Test, Value
from rheos.sql.views import Moment, Number, Text, grouped, once
from rheos.terms import literal


class BooleanValue(Value):
    def __init__(self, scope: Scope, sql: str) -> None:
        super().__init__(scope)
        self._sql = grouped(sql)

    @property
    def term(self) -> str:
        d = self.dialect
        return f"{QUOTE} || {self.string} || {d.string(literal('', c.BOOLEAN)[1:])}"

    @property
    def effective(self) -> str:
        return self._sql

    @property
    def truth(self) -> str | None:
        return self._sql

    @property
    def string(self) -> str:
        return self.dialect.cast_text(self._sql)


class NumberValue(Value):
    def __init__(self, scope: Scope, number: Number) -> None:
        super().__init__(scope)
        self._number = number

    @property
    def number(self) -> Number | None:
        return self._number

    @cached_property
    def term(self) -> str:
        return number_term(self._number)

    @property
    def effective(self) -> str:
        number = self._number
        if number.is_exact:
            return f"{number.exact} <> 0"
        approx = once(self.scope, number.floating)
        inexact = f"({approx} <> 0 AND NOT isnan({approx}))"
        return inexact if number.exact is None else f"COALESCE({number.exact} <> 0, {inexact})"

    @cached_property
    def string(self) -> str:
        return number_text(self._number)


def integer(scope: Scope, sql: str) -> NumberValue:
    """An xsd:integer from SQL of an integer type."""
    number = Number(scope, c.RANK_INTEGER, lambda: f"CAST({sql} AS {EXACT})", whole=sql)
    return NumberValue(scope, number)


class TextValue(Value):
    """A string literal, simple (`suffix` None) or with a language tag."""

    def __init__(
        self, scope: Scope, lexical: str, suffix: str | None = None, is_constant: Test | None = None
    ) -> None:
        super().__init__(scope)
        self._text = Text(grouped(lexical), suffix and grouped(suffix))
        self.is_constant = is_constant

    @property
    def text(self) -> Text | None:
        return self._text

    @property
    def term(self) -> str:
        lexical, suffix = self._text.lexical, self._text.suffix
        end = QUOTE if suffix is None else f"{QUOTE} || {suffix}"
        return f"{QUOTE} || {lexical} || {end}"

    @property
    def effective(self) -> str:
        return f"{self._text.lexical} <> ''"

    @property
    def string(self) -> str:
        return self._text.lexical


class LiteralValue(Value):
    """A literal of a known datatype with the SQL of its lexical form, such as a date or dateTime."""

    def __init__(self, scope: Scope, lexical: str, datatype: str) -> None:
        super().__init__(scope)
        self._lexical = lexical
        self._datatype = datatype

    @property
    def term(self) -> str:
        d = self.dialect
        end = d.string('"' + decode.suffix_of(self._datatype))
        return f"{QUOTE} || {self._lexical} || {end}"

    @property
    def string(self) -> str:
        return self._lexical

    @cached_property
    def moment(self) -> Moment | None:
        if self._datatype not in decode.MOMENTS:
            return None
        text = once(self.scope, decode.moment_text(self.dialect, self._lexical, self._datatype))
        micros = decode.micros_of_text(self.dialect, text)
        zoned = decode.zoned_text(self.dialect, text)
        return Moment(decode.MOMENTS.index(self._datatype), once(self.scope, micros), zoned)

    @property
    def opaque(self) -> str:
        return FALSE if self._datatype in decode.MOMENTS else TRUE


class IriValue(Value):
    """An IRI, from the text between its brackets."""

    def __init__(self, scope: Scope, text: str, is_constant: Test | None = None) -> None:
        super().__init__(scope)
        self._text = text
        self.is_constant = is_constant

    @property
    def term(self) -> str:
        return f"'<' || {self._text} || '>'"

    @property
    def string(self) -> str:
        return self._text

    @property
    def literal(self) -> bool | None:
        return False


class BlankValue(Value):
    """A blank node, from its label."""

    def __init__(self, scope: Scope, label: str) -> None:
        super().__init__(scope)
        self._label = label

    @property
    def term(self) -> str:
        return f"'_:' || {self._label}"

    @property
    def string(self) -> str:
        return self.dialect.null

    @property
    def literal(self) -> bool | None:
        return False
