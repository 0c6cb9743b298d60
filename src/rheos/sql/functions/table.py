"""What a function of SPARQL is to the compiler: how many arguments it takes, and how it becomes SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rheos.sql.values import Value


@dataclass(frozen=True, slots=True)
class Function:
    """`compile` gets the scope and one value per argument. `maximum` None: any number of arguments."""

    compile: Callable[..., Value]
    minimum: int
    maximum: int | None

    def accepts(self, count: int) -> bool:
        return self.minimum <= count and (self.maximum is None or count <= self.maximum)

    @property
    def arity(self) -> str:
        """How many arguments, in words: `2 arguments`, `2 or 3 arguments`."""
        if self.maximum is None:
            return f"at least {self.minimum} arguments" if self.minimum else "any number of arguments"
        counts = " or ".join(str(count) for count in range(self.minimum, self.maximum + 1))
        return f"{counts} argument{'' if self.maximum == 1 else 's'}"


def function(compile: Callable[..., Value], minimum: int, maximum: int | None = -1) -> Function:
    """A function of exactly `minimum` arguments, unless a maximum (or None, for any number) is given."""
    return Function(compile, minimum, minimum if maximum == -1 else maximum)
