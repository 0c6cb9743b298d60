"""Intervals of validity: rows that hold for an interval of instants, spread over the instants where needed.

A row that was made from stream elements carries the interval of instants [valid_from, valid_until) at
which all of these elements are in their windows. A join intersects intervals, so a pattern is joined once
however much the windows overlap. Only where an operator needs one answer per instant is a row *spread* over
the instants in its interval: from there on the instant is a key like any other. A relation that has neither
intervals nor the instant as a key is static: its rows hold always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING

from rheos.sql.conditions import all_of
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL, OCCURRENCE, Key, Relation, nested, select

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler

FROM, UNTIL = INTERVAL
# The keys of a piece of time, its bounds. During a piece, no row of a group begins or ends.
PIECE = (Key("piece_from"), Key("piece_until"))
ALWAYS = (str(-(2**63)), str(2**63 - 1))


def is_static(relation: Relation) -> bool:
    return not relation.valid and INSTANT not in relation.keys


def spread(relation: Relation, compiler: Compiler) -> Relation:
    """The relation with the instant as a key; a static relation stays as it is."""
    if not relation.valid:
        return relation
    return with_instants(relation, compiler, static=False)


def at_every_instant(relation: Relation, compiler: Compiler) -> Relation:
    """As `spread`, but a static relation is repeated for each instant."""
    if not is_static(relation):
        return spread(relation, compiler)
    return with_instants(relation, compiler, static=True)


def valid_always(relation: Relation, compiler: Compiler) -> Relation:
    """The relation with intervals; the rows of a static relation get an interval that is always."""
    if relation.valid:
        return relation
    rows = compiler.fresh("r")
    interval = [f"{bound} AS {column}" for bound, column in zip(ALWAYS, INTERVAL, strict=True)]
    return replace(relation, sql=select([f"{rows}.*", *interval], nested(relation.sql, rows)), valid=True)


def with_instants(relation: Relation, compiler: Compiler, *, static: bool) -> Relation:
    rows, instants = compiler.fresh("r"), compiler.fresh("i")
    # A row that is valid in several buckets has a copy in each, with the ticks of that bucket. So once the
    # tick is a key, the bucket is not needed.
    others = tuple(key for key in relation.keys if key != BUCKET)
    kept = [key.column for key in others]
    kept += OCCURRENCE if relation.occurs else ()
    kept += [compiler.column(name) for name in relation.variables]
    kept += [item.column for item in relation.sort]
    columns = [f"{instants}.{INSTANT.column}", *(f"{rows}.{column}" for column in kept)]
    if static:
        source = f"{nested(relation.sql, rows)} CROSS JOIN instants AS {instants}"
    elif BUCKET in relation.keys:
        start, end = (f"{rows}.{bound}" for bound in INTERVAL)
        source = compiler.dialect.counted(nested(relation.sql, rows), start, end, instants, INSTANT.column)
    else:
        source = holding(nested(relation.sql, rows), rows, instants)
    keys = (INSTANT, *others)
    return replace(relation, sql=select(columns, source), keys=keys, valid=False)


def holding(item: str, alias: str, instants: str) -> str:
    """An item of FROM: each row of `item`, which has an interval, with every instant in its interval."""
    instant = f"{instants}.{INSTANT.column}"
    return (
        f"{item} JOIN instants AS {instants}\nON {instant} >= {alias}.{FROM} AND {instant} < {alias}.{UNTIL}"
    )


def in_pieces(relation: Relation, names: Sequence[str], compiler: Compiler) -> tuple[Relation, str]:
    """A relation of CQELS-QL with its rows cut into pieces of time, and the SQL of all pieces.

    Rows with the same keys and the same values of the variables `names` are a group. A piece goes from one
    tick at which a row of the group begins or ends to the next such tick: nothing changes in between. The
    bounds of a piece are the keys PIECE.
    """
    rows, bounds, pieces = compiler.fresh("rows"), compiler.fresh("b"), compiler.fresh("p")
    by = [key.column for key in relation.keys] + [compiler.column(name) for name in names]
    parts = [select([*by, f"{bound} AS bound"], rows) for bound in INTERVAL]
    if by == [BUCKET.column]:
        # All rows are one group, which also exists at ticks without rows.
        for bound in (f"min({INSTANT.column})", f"max({INSTANT.column}) + 1"):
            ticks = [BUCKET.column, f"{bound} AS bound"]
            parts.append(select(ticks, "instants", tail=f"GROUP BY {BUCKET.column}"))
    start, end = (key.column for key in PIECE)
    following = f"lead(bound) OVER (PARTITION BY {', '.join(by)} ORDER BY bound) AS {end}"
    cut = select([*by, f"bound AS {start}", following], nested("\nUNION\n".join(parts), bounds))
    whole = f"WITH {rows} AS (\n{indent(relation.sql, '  ')}\n)\n"
    all_pieces = whole + select([*by, start, end], nested(cut, bounds), [f"{end} IS NOT NULL"])
    same = [f"r.{column} IS NOT DISTINCT FROM {pieces}.{column}" for column in by]
    same += [f"r.{FROM} <= {pieces}.{start}", f"r.{UNTIL} >= {pieces}.{end}"]
    columns = [f"r.{key.column}" for key in relation.keys]
    columns += [f"{pieces}.{bound}" for bound in (start, end)]
    columns += [f"r.{compiler.column(name)}" for name in relation.variables]
    columns += [f"r.{column}" for column in (*relation.more, *(item.column for item in relation.sort))]
    inner = select([*by, start, end], nested(cut, bounds), [f"{end} IS NOT NULL"])
    sql = whole + select(columns, f"{rows} AS r JOIN {nested(inner, pieces)}\nON {all_of(same)}")
    return replace(relation, sql=sql, keys=(*relation.keys, *PIECE), valid=False), all_pieces


def of_pieces(relation: Relation, compiler: Compiler) -> Relation:
    """A relation that has the keys PIECE, with the pieces as intervals instead."""
    rows = compiler.fresh("r")
    keys = tuple(key for key in relation.keys if key not in PIECE)
    columns = [f"{rows}.{key.column}" for key in keys]
    columns += [f"{rows}.{key.column} AS {bound}" for key, bound in zip(PIECE, INTERVAL, strict=True)]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    columns += [f"{rows}.{item.column}" for item in relation.sort]
    return replace(relation, sql=select(columns, nested(relation.sql, rows)), keys=keys, valid=True)


def overlap(left: str, right: str) -> list[str]:
    """The conditions that the intervals of two aliases have an instant in common."""
    return [f"{left}.{FROM} < {right}.{UNTIL}", f"{right}.{FROM} < {left}.{UNTIL}"]


def common(aliases: Sequence[str]) -> str:
    """The condition that the intervals of all these aliases have an instant in common."""
    latest, earliest = (", ".join(f"{alias}.{bound}" for alias in aliases) for bound in INTERVAL)
    return f"greatest({latest}) < least({earliest})"


def intersection(aliases: Sequence[str]) -> list[str]:
    """The columns of the intersection of the intervals of these aliases; none for no aliases."""
    if not aliases:
        return []
    if len(aliases) == 1:
        return [f"{aliases[0]}.{FROM}", f"{aliases[0]}.{UNTIL}"]
    latest = ", ".join(f"{alias}.{FROM}" for alias in aliases)
    earliest = ", ".join(f"{alias}.{UNTIL}" for alias in aliases)
    return [f"greatest({latest}) AS {FROM}", f"least({earliest}) AS {UNTIL}"]
