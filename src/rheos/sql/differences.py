"""ISTREAM and DSTREAM: what is new in the answers of an instant, or gone, against the evaluation before.

The table `instants` has then, beside what `rheos.sql.csparql` says, the evaluation `before` each instant,
and whether the instant is `reported`: the first is there only to be compared with. An instant at which all
windows are empty is `closing`. Only DSTREAM has such instants, and one counts as an evaluation only where
something is gone; otherwise the one after it is compared with what came before it, `opened`.
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
    """Of the rows of all instants, those that differ from the instant before; a difference of bags, in which
    the k-th of equal rows is compared with the k-th of the other instant. `sort` are further columns."""
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
