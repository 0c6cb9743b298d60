"""Runs: the solutions of a repeated pattern come in, one row for each run of them goes out.

The solutions of a group are ordered: by end, then by start, then by their terms. A solution that starts after
the one before it has ended continues the run of that one; any other solution begins a new run. A longest run
is known only when the next run has begun, or when it cannot last longer. That is later than its end, so the
time at which it is known is a column beside its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent

from rheos.algebra.nodes import Distinct, Runs
from rheos.algebra.variables import certain, is_number_name
from rheos.sql.aggregates import aggregate as aggregate_sql
from rheos.sql.collected import greatest, least
from rheos.sql.conditions import all_of
from rheos.sql.context import Context
from rheos.sql.grouped import Whole
from rheos.sql.patterns import Compiler
from rheos.sql.relation import KNOWN, OCCURRENCE, TIMELESS, Key, Relation, nested, select

STARTING, ENDING = OCCURRENCE
OPEN = TIMELESS[0]  # stands for the end of the next solution, as long as there is none

# The key that tells the runs of a group apart.
RUN = Key("run")


def runs(node: Runs, context: Context, compiler: Compiler) -> Relation:
    """The runs of a pattern, with the values of their groups and the aggregates over each."""
    inner = compiler.node(Distinct(node.pattern), context)
    names = [variable.name for variable in node.group if variable.name in inner.variables]
    by = [compiler.column(name) for name in names]
    keys = [key.column for key in inner.keys]
    variables = [compiler.column(name) for name in inner.variables]
    placed, solutions = _placed(inner, [*keys, *by], compiler), compiler.fresh("solutions")
    if node.most is not None:
        members = _stretches(node, solutions, [*keys, *by], variables, compiler)
    elif node.within is not None:
        members = _limited(node.within, solutions, [*keys, *by], variables, compiler)
    else:
        columns = [*keys, *OCCURRENCE, *variables, "run", "next AS known", "CAST(NULL AS BIGINT) AS previous"]
        members = select(columns, solutions)
    sql = f"WITH {solutions} AS (\n{indent(placed, '  ')}\n)\n{members}"
    seen = replace(inner, sql=sql, keys=(*inner.keys, RUN), sort=(), sorted_by=frozenset())
    below = compiler.rows(replace(seen, late=True, more=("previous",)), context)
    together = [f"{below.alias}.{column}" for column in (*keys, RUN.column, *by)]
    groups = Whole(seen, context, compiler, compiler.fresh("g"), below=below, by=together)
    found = [
        f"{aggregate_sql(aggregate, below, groups, inner.variables)} AS {compiler.column(variable.name)}"
        for variable, aggregate in node.aggregates
    ]
    start = groups.collect(least(f"{below.alias}.{STARTING}"))
    end, known, previous = (
        groups.collect(greatest(f"{below.alias}.{column}")) for column in (ENDING, KNOWN, "previous")
    )
    groups.relation = Relation(groups.sql(""), tuple(names), frozenset(), (*inner.keys, RUN))
    absent = [variable.name for variable in node.group if variable.name not in names]
    kept = [f"{groups.alias}.{column}" for column in keys]
    kept += [f"{start} AS {STARTING}", f"{end} AS {ENDING}"]
    kept += [f"{known} AS {KNOWN}"] if node.is_late else []
    kept += [f"{groups.alias}.{column}" for column in by]
    kept += [f"{compiler.dialect.null} AS {compiler.column(name)}" for name in absent]
    conditions = []
    if node.within is not None:
        conditions.append(f"{end} - {start} <= {node.within}")
        if node.most is None:
            # A run is a longest one only if it would be too long with the solution before it.
            conditions.append(f"({previous} IS NULL OR {end} - {previous} > {node.within})")
    sql = select([*kept, *found], groups.source(*found, *conditions), conditions)
    of_runs = (*names, *absent, *(variable.name for variable, _ in node.aggregates))
    return Relation(sql, of_runs, certain(node), inner.keys, occurs=True, late=node.is_late)


def _placed(inner: Relation, alike: Sequence[str], compiler: Compiler) -> str:
    """The solutions with columns about their runs.

    `run` is the number of the run, `turn` the place in the group, and `place` the place in the run.
    `previous` is the start of the solution before it in the run. `next` is the end of the solution after it,
    and `broken` the end of the solution after the run.
    """
    variables = [compiler.column(name) for name in inner.variables]
    rows = compiler.fresh("r")
    names = sorted(name for name in inner.variables if not is_number_name(name))
    order = ", ".join([ENDING, STARTING, *(f"{compiler.column(name)} NULLS FIRST" for name in names)])
    parts = f"PARTITION BY {', '.join(alike)} " if alike else ""
    ordered = f"({parts}ORDER BY {order})"
    columns = [*inner.carried, *variables]
    before = [f"lag({time}) OVER {ordered} AS {time}_before" for time in OCCURRENCE]
    after = f"COALESCE(lead({ENDING}) OVER {ordered}, {OPEN}) AS next"
    turn = f"row_number() OVER {ordered} AS turn"
    seen = select([*columns, *before, after, turn], nested(inner.sql, rows))
    begins = f"CASE WHEN {ENDING}_before < {STARTING} THEN 0 ELSE 1 END"
    so_far = f"({parts}ORDER BY turn ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    numbered = select(
        [*columns, "next", "turn", f"CASE WHEN {begins} = 0 THEN {STARTING}_before END AS previous",
         f"CAST(sum({begins}) OVER {so_far} AS BIGINT) AS run"],
        nested(seen, rows),
    )  # fmt: skip
    in_run = f"({', '.join([*alike, 'run'])})"
    of_run = f"PARTITION BY {in_run[1:-1]}"
    return select(
        [*columns, "next", "turn", "previous", "run", f"turn - min(turn) OVER ({of_run}) + 1 AS place",
         f"max(next) OVER ({of_run}) AS broken"],
        nested(numbered, rows),
    )  # fmt: skip


def _joined(
    solutions: str,
    alike: Sequence[str],
    variables: Sequence[str],
    own: Sequence[str],
    conditions: Sequence[str],
    compiler: Compiler,
    anchors: str,
) -> str:
    """For each anchor, the solutions of its run for which the conditions on both (aliases m and a) hold."""
    member = compiler.fresh("m")
    of_group = [column for column in alike if column not in variables]
    columns = [f"{member}.{column}" for column in (*of_group, *OCCURRENCE, *variables)]
    near = [f"{member}.{column} IS NOT DISTINCT FROM a.{column}" for column in alike]
    near += [f"{member}.run = a.run", *(condition.replace("m.", f"{member}.") for condition in conditions)]
    return select([*columns, *own], f"{anchors} AS a JOIN {solutions} AS {member}\nON {all_of(near)}")


def _limited(
    within: int, solutions: str, alike: Sequence[str], variables: Sequence[str], compiler: Compiler
) -> str:
    """For each solution, itself and those after it in its run that end within the longest duration."""
    own = ["a.turn AS run", f"least(a.{STARTING} + {within}, a.broken) AS known", "a.previous"]
    conditions = ["m.turn >= a.turn", f"m.{ENDING} <= a.{STARTING} + {within}"]
    return _joined(solutions, alike, variables, own, conditions, compiler, solutions)


def _stretches(
    node: Runs, solutions: str, alike: Sequence[str], variables: Sequence[str], compiler: Compiler
) -> str:
    """For each solution and each size of a stretch, the stretch of its run that ends with this solution."""
    assert node.most is not None
    sizes = compiler.dialect.each([str(size) for size in range(node.least, node.most + 1)])
    anchors = f"(SELECT *, {sizes} AS size FROM {solutions})"
    own = [
        f"a.turn * {node.most + 1} + a.size AS run",
        f"a.{ENDING} AS known",
        "CAST(NULL AS BIGINT) AS previous",
    ]
    conditions = ["a.place >= a.size", "m.turn <= a.turn", "m.turn > a.turn - a.size"]
    return _joined(solutions, alike, variables, own, conditions, compiler, anchors)
