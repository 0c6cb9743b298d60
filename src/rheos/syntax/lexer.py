"""The lexer: Lark's contextual lexer, with one regular expression that all its states share.

Lark compiles a regular expression for each set of terminals that may come next, which took most of the time
of a first parse. Here every state first tries one shared expression of all terminals. Its alternatives stand
in the same order as in the expressions of the states. So if the state accepts the token that is found, its
own expression would have found the same token. Only if the state does not accept it, the state's own
expression is compiled and used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lark import Token
from lark.lexer import BasicLexer, ContextualLexer

from rheos.deadline import check
from rheos.syntax.limits import too_deep
from rheos.syntax.terms import position


class _StateLexer(BasicLexer):
    """The lexer of the states that accept the same terminals."""

    shared: Any = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.callback = {}
        self._accepted = frozenset(terminal.name for terminal in self.terminals)

    def match(self, text: Any, pos: int) -> Any:
        check()
        if self.shared is not None:
            found = self.shared.match(text, pos)
            # A callback of the shared lexer may turn the token into one that this state does not accept.
            if found is not None and found[1] in self._accepted and found[1] not in self.shared.callback:
                return found
        return self.scanner.match(text, pos)


class SharedLexer(ContextualLexer):
    """A plug-in that replaces Lark's contextual lexer."""

    BasicLexer = _StateLexer

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for lexer in self.lexers.values():
            assert isinstance(lexer, _StateLexer)
            lexer.shared = self.root_lexer

    def lex(self, *arguments: Any) -> Iterator[Token]:
        """The tokens; a Fault if braces are nested too deeply. It is raised here because the parser builds a
        group only at its closing brace."""
        deep = 0
        for token in super().lex(*arguments):
            if token.type == "LBRACE":
                deep += 1
                too_deep(deep, position(token))
            elif token.type == "RBRACE":
                deep -= 1
            yield token
