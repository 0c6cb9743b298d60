"""What an expression sees while it is compiled: the columns of its row, and a place for shared work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rheos.algebra.expressions import Exists
    from rheos.sql.dialect import Dialect
    from rheos.sql.values import Value


class Scope(Protocol):
    """The row around an expression."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def values(self) -> dict[str, Value]:
        """The variables that were compiled before: what is read out of them is printed once."""

    def column(self, variable: str) -> str | None:
        """The SQL of the column that holds a variable's term; None where nothing can bind it."""

    def is_number(self, variable: str) -> bool:
        """Whether a variable is known to be a number wherever it is bound."""

    def exact(self, variable: str) -> tuple[int, str] | None:
        """The rank of a variable that is known to be a short exact number, and the SQL of its value."""

    @property
    def interval(self) -> tuple[str, str] | None:
        """The SQL of the times that a solution of EP-SPARQL starts and ends at, in microseconds since 1970.

        It starts after it ends where it has no interval. None where no solution has one.
        """

    def share(self, sql: str) -> str:
        """An SQL expression to be used several times: the name of a column that holds its value,
        computed once under the operator at hand (or, where there is no such place, the text itself)."""

    def exists(self, exists: Exists) -> str:
        """The SQL of EXISTS or NOT EXISTS for this row: a boolean that is never NULL."""
