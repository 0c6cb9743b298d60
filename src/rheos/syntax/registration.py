"""Registration: builds the nodes of REGISTER, which the languages of streams share."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from lark import Token

from rheos import durations
from rheos.errors import Position
from rheos.syntax import ast, terms
from rheos.syntax.build import Builder, Dataset, Form
from rheos.syntax.measures import Measure
from rheos.syntax.terms import Fault, position


class Every(NamedTuple):
    """COMPUTED EVERY: its period in microseconds, and the position of STRETCHED, if it says so."""

    period: int
    stretched: Position | None


Prologue = tuple[ast.Base | ast.Prefix, ...]


class RegistrationBuilder(Builder):
    """Adds the REGISTER clause before a query; each dialect defines what COMPUTED EVERY means."""

    def registered_query(
        self,
        before: Prologue,
        registration: ast.Registration,
        after: Prologue,
        form: tuple[Form, Dataset],
        values: ast.Values | None,
    ) -> ast.Query:
        first = before[0] if before else registration
        query = self.query((*before, *after), form, values)
        return replace(query, position=first.position, registration=registration)

    def xsd_duration(self, text: Token) -> Measure:
        try:
            return position(text), durations.from_xsd(text.upper())
        except ValueError as error:
            raise Fault(str(error), position(text)) from None

    def registration(self, keyword: Token, kind: Token, name: str, *every: Every) -> ast.Registration:
        period, stretched = every[0] if every else (None, None)
        return ast.Registration(position(keyword), kind.upper(), name, period, stretched=stretched)

    def registered_name(self, name: Token) -> str:
        return terms.iri(name).value if name.type == "IRIREF" else str(name)


def check_registration(query: ast.Query, example: str) -> None:
    """Raise a `Fault` if the query breaks a rule about REGISTER. `example` shows how a query reads a stream,
    for the message."""
    registration = query.registration
    if registration is None:
        return
    match registration.kind, query.form:
        case "STREAM", (ast.SelectQuery() | ast.AskQuery()) as form:
            word = "SELECT" if isinstance(form, ast.SelectQuery) else "ASK"
            message = f"only CONSTRUCT and DESCRIBE make streams; {word} can be a REGISTER QUERY"
            raise Fault(message, form.position)
    if not query.streams and not query.stream_patterns:
        message = f"{registration.name} has no stream to wait for; add {example}, or ask without REGISTER"
        raise Fault(message, registration.position)
