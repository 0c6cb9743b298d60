"""The reductions of REGISTER, which the languages of streams share, come in, their nodes go out."""

from __future__ import annotations

from dataclasses import replace

from lark import Token

from rheos.syntax import ast, terms
from rheos.syntax.build import Builder, Dataset, Form
from rheos.syntax.terms import position

Prologue = tuple[ast.Base | ast.Prefix, ...]


class RegistrationBuilder(Builder):
    """Adds what stands before a registered query; a dialect says what COMPUTED EVERY is to it."""

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

    def registration(self, keyword: Token, kind: Token, name: str, *every: int) -> ast.Registration:
        return ast.Registration(position(keyword), kind.upper(), name, every[0] if every else None)

    def registered_name(self, name: Token) -> str:
        return terms.iri(name).value if name.type == "IRIREF" else str(name)
