"""ISTREAM and DSTREAM: the answers of an instant that are new, or gone, since the evaluation before.

For these operators, the table `instants` has further columns to those in `rheos.sql.csparql`. `before` is the
instant of the evaluation before. `reported` is false for the first instant, which is there only to be
compared with. `closing` marks an instant at which all windows are empty; only DSTREAM has such instants. A
closing instant counts as an evaluation only if an answer is gone. If it does not count, the instant after it
is compared with the instant before it, which is `opened`.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from rheos.algebra.streams import StreamOperator
from rheos.sql.conditions import all_of
from rheos.sql.dialect import Dialect
from rheos.sql.relation import INSTANT, Sort, nested, select

COPY = "copy"


def difference_sql(
    operator: StreamOperator, sql: str, columns: Sequence[str], sort: Sequence[Sort], dialect: Dialect
) -> str:
    """The rows by which each instant differs from the evaluation before.

    This is a difference of bags: equal rows of an instant are numbered, and the k-th is compared with the
    k-th of the other instant. `sort` are further columns of the rows, which are not compared.
    """
    instant = INSTANT.column
    kept = [*columns, *(item.column for item in sort)]
    order = ", ".join(f"a.{item.column} {item.direction}" for item in sort)
    apart = ", ".join(f"a.{column}" for column in (instant, *columns))
    copy = f"row_number() OVER (PARTITION BY {apart}{f' ORDER BY {order}' if order else ''}) AS {COPY}"
    numbered = select([f"a.{column}" for column in (instant, *kept)] + [copy], nested(sql, "a"))
    same = [f"p.{COPY} = r.{COPY}", *(f"p.{column} IS NOT DISTINCT FROM r.{column}" for column in columns)]
    parts = {"numbered": numbered}
    chosen = [f"i.{instant}", *(f"r.{column}" for column in kept)]
    if operator == "ISTREAM":
        source = f"numbered AS r JOIN instants AS i ON i.{instant} = r.{instant} AND i.reported"
        source += f"\n{dialect.anti_join} numbered AS p ON {all_of([f'p.{instant} = i.before', *same])}"
    else:
        gone = f"numbered AS r JOIN {{steps}} AS i ON i.before = r.{instant} AND {{when}}"
        gone += f"\n{dialect.anti_join} numbered AS p ON {all_of([f'p.{instant} = i.{instant}', *same])}"
        closed = gone.format(steps="instants", when="i.closing")
        parts["closed"] = select([f"i.{instant}"], closed, distinct=True)
        skipped = f"i.opened IS NOT NULL AND i.before NOT IN (SELECT {instant} FROM closed)"
        before = f"CASE WHEN {skipped} THEN i.opened ELSE i.before END AS before"
        parts["steps"] = select([f"i.{instant}", "i.reported", before], "instants AS i")
        source = gone.format(steps="steps", when="i.reported")
    made = ",\n".join(f"{name} AS MATERIALIZED (\n{indent(part, '  ')}\n)" for name, part in parts.items())
    return f"WITH {made}\n{select(chosen, source)}"
