"""Scopes: what an expression sees while it is compiled, the columns of its row and a place for shared
ones."""

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
        """The variables that were compiled before.

        They are reused, so that SQL that decodes one is shared.
        """

    def column(self, variable: str) -> str | None:
        """The SQL of the column that holds a variable's term; None where nothing can bind it."""

    def is_number(self, variable: str) -> bool:
        """Whether a variable is known to be a number wherever it is bound."""

    def exact(self, variable: str) -> tuple[int, str] | None:
        """The rank of a variable that is known to be a short exact number, and the SQL of that number."""

    @property
    def interval(self) -> tuple[str, str] | None:
        """The SQL of the start and the end of a solution of EP-SPARQL, in microseconds since 1970.

        A start after the end means that the solution has no interval. None if no solution can have one.
        """

    def share(self, sql: str) -> str:
        """For an SQL expression that is used several times: the name of a column with its value.

        The column is computed once for each row, below the operator that uses it. Where the operator has no
        place for such a column, the expression itself is returned.
        """

    def exists(self, exists: Exists) -> str:
        """The SQL of EXISTS or NOT EXISTS for this row: a boolean that is never NULL."""
