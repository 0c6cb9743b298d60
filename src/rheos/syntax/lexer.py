"""Lark's contextual lexer, with one regular expression for all its states.

Lark compiles one expression for each set of terminals that may come next, which took most of the time of
a first parse. Here all states first share the one of all terminals. Its alternatives stand in the same order
as in those of the states, so what it finds is what the state's own would find, if the state accepts it;
only if it does not is the state's own compiled and asked.
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
            # A callback of the shared lexer may turn a token into one that this state does not know.
            if found is not None and found[1] in self._accepted and found[1] not in self.shared.callback:
                return found
        return self.scanner.match(text, pos)


class SharedLexer(ContextualLexer):
    """A plug-in for Lark in the place of its contextual lexer."""

    BasicLexer = _StateLexer

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for lexer in self.lexers.values():
            assert isinstance(lexer, _StateLexer)
            lexer.shared = self.root_lexer

    def lex(self, *arguments: Any) -> Iterator[Token]:
        """The tokens, as long as braces are not too deep: the parser comes to what is in them only at the
        closing ones."""
        deep = 0
        for token in super().lex(*arguments):
            if token.type == "LBRACE":
                deep += 1
                too_deep(deep, position(token))
            elif token.type == "RBRACE":
                deep -= 1
            yield token
