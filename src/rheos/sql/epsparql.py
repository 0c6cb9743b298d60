"""The compiler of EP-SPARQL: makes the statement for the solutions that the new events of a batch complete.

The statement reads tables that the runtime makes for every batch: `batch` (after: solutions that ended up to
this time were reported before), `clause_1_all`, `…_old`, `…_new` (s, p, o, starting, ending) with the events
that match each pattern, and the tables of the query's static parts.

Every relation has the start and the end of a solution in the columns `starting` and `ending`, unless it is
static. Where a solution has a longest duration, time is cut into stretches of that length, and only rows of
the same or of neighbouring stretches are joined: otherwise all events would be paired with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent

from rheos.algebra.expressions import Aggregate, Variable
from rheos.algebra.nodes import (
    AllenJoin,
    Ask,
    Construct,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Join,
    LeftJoin,
    Minus,
    Node,
    Pairs,
    Query,
    Recent,
    Runs,
    Select,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    makes_blanks,
)
from rheos.algebra.variables import certain, in_scope, is_number_name, number_name
from rheos.optimize.durations import condition_bound
from rheos.optimize.events import always_occurs
from rheos.sql.aggregates import aggregate as aggregate_sql
from rheos.sql.allen import allen_join
from rheos.sql.collected import least
from rheos.sql.conditions import all_of, any_of, same
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.expressions import condition as condition_sql
from rheos.sql.grouped import Sliding, Whole
from rheos.sql.joins import Pair
from rheos.sql.patterns import Compiler, match_pattern
from rheos.sql.relation import (
    KNOWN,
    OCCURRENCE,
    TIMELESS,
    Key,
    Relation,
    clause_name,
    nested,
    pairs_name,
    select,
)
from rheos.sql.rows import Rows
from rheos.sql.runs import runs
from rheos.sql.statement import TRIPLE, template_triples

STARTING, ENDING = OCCURRENCE


@dataclass(frozen=True, slots=True)
class EPSparqlStatement:
    """SQL whose rows are the end of a solution, its start, and then `columns` (`found`, true, for ASK)."""

    sql: str
    columns: tuple[str, ...]
    unordered: str  # the same rows in any order
    asks: bool = False
    late: bool = False  # rows begin with the time at which the solution is known, then its start and its end


@dataclass
class DetectingCompiler(Compiler):
    """Compiles patterns whose solutions have intervals; `bounds` has the longest duration of each."""

    bounds: Mapping[Node, int | None] = field(default_factory=dict)

    def relation(self, node: Node, context: Context) -> Relation:
        match node:
            case StreamPattern():
                return event_pattern(node, self)
            case Pairs():
                return pairs(node, self)
            case SeqJoin(between=between) if between is not None:
                return uninterrupted(node, between, context, self)
            case AllenJoin():
                return allen_join(node, context, self)
            case SeqJoin() | EqJoin() | Join():
                return timed_join(node, context, self)
            case LeftJoin(left, right) | EqLeftJoin(left, right):
                return optional(node, left, right, context, self)
            case SeqRightJoin(left, right):
                return optional(node, right, left, context, self)
            case Minus():
                return without(node, context, self)
            case Recent():
                return recent(node, context, self)
            case Runs():
                return runs(node, context, self)
        return super().relation(node, context)


def compile_epsparql(
    query: Query, pattern: Node, bounds: Mapping[Node, int | None], dialect: Dialect, name: str
) -> EPSparqlStatement:
    """The statement of a query; `pattern` has its new solutions."""
    compiler = DetectingCompiler(dialect, bounds=bounds)
    context = Context(query.dataset)
    relation = compiler.node(pattern, context)
    rows = compiler.fresh("r")
    if relation.late:
        return late_statement(query, relation, compiler)
    # WITHIN also gives rows for solutions that ended in earlier batches.
    new = [f"{rows}.{ENDING} > (SELECT after FROM batch)"]
    names: tuple[str, ...]
    match query.form:
        case Select(_, names):
            shown = [compiler.column(variable) for variable in names]
            kept = [f"{rows}.{column}" for column in (ENDING, STARTING)]
            kept += [
                f"{rows}.{compiler.column(variable)}"
                if variable in relation.variables
                else f"{dialect.null} AS {compiler.column(variable)}"
                for variable in names
            ]
            sql = select(kept, nested(relation.sql, rows), new, distinct=True)
        case Construct(_, template):
            shown, names = list(TRIPLE), TRIPLE
            columns = [f"{rows}.{column}" for column in (ENDING, STARTING)]
            relation = replace(relation, variables=without_numbers(relation.variables))
            columns += [f"{rows}.{compiler.column(variable)}" for variable in relation.variables]
            solutions = select(columns, nested(relation.sql, rows), new, distinct=True)
            keyed = replace(relation, sql=solutions, keys=(Key(ENDING), Key(STARTING)), occurs=False)
            bound = sorted(in_scope(query.form.pattern))
            own = identity(name, keyed, bound, compiler) if makes_blanks(template) else None
            sql = template_triples(keyed, template, compiler, own)
        case _:
            shown, names = ["found"], ("found",)
            columns = [f"{rows}.{column}" for column in (ENDING, STARTING)]
            sql = select([*columns, "TRUE AS found"], nested(relation.sql, rows), new, distinct=True)
    # The order depends only on the input.
    order = [f"answers.{column} NULLS FIRST" for column in (ENDING, STARTING, *shown)]
    chosen = [f"answers.{column}" for column in (ENDING, STARTING, *shown)]
    statement = select(chosen, nested(sql, "answers"), tail=f"ORDER BY {', '.join(order)}")
    unordered = select(chosen, nested(sql, "answers"))
    return EPSparqlStatement(statement, names, unordered, isinstance(query.form, Ask))


def late_statement(query: Query, relation: Relation, compiler: Compiler) -> EPSparqlStatement:
    """The statement for solutions that become known in a batch, whenever they ended.

    A solution that is found in several ways is known as soon as the first of these is. When all streams have
    ended, at the time `last`, every solution is known.
    """
    rows, null = compiler.fresh("r"), compiler.dialect.null
    names = query.form.variables if isinstance(query.form, Select) else ()
    shown = [compiler.column(name) for name in names]
    columns = [
        f"{rows}.{column}" if name in relation.variables else f"{null} AS {column}"
        for name, column in zip(names, shown, strict=True)
    ]
    times = [f"{rows}.{column}" for column in OCCURRENCE]
    by = [*times, *(column for column in columns if column.startswith(f"{rows}."))]
    first = f"min({rows}.{KNOWN})"
    over = "(SELECT last FROM batch)"
    new = [f"{first} > (SELECT after FROM batch)"]
    new.append(f"({first} <= (SELECT until FROM batch) OR {over} IS NOT NULL)")
    found = select(
        [f"least({first}, COALESCE({over}, {first})) AS {KNOWN}", *times, *columns],
        nested(relation.sql, rows),
        tail=f"GROUP BY {', '.join(by)}\nHAVING {all_of(new)}",
    )
    asks = not isinstance(query.form, Select)
    heads = [f"answers.{column}" for column in (KNOWN, *OCCURRENCE)]
    chosen = [*heads, "TRUE AS found"] if asks else [*heads, *(f"answers.{column}" for column in shown)]
    order = [*heads, *(f"answers.{column} NULLS FIRST" for column in shown)]
    unordered = select(chosen, nested(found, "answers"))
    sql = f"{unordered}\nORDER BY {', '.join(order)}"
    return EPSparqlStatement(sql, ("found",) if asks else tuple(names), unordered, asks, late=True)


def identity(name: str, relation: Relation, variables: Sequence[str], compiler: Compiler) -> str:
    """SQL that identifies a solution: a digest of the query's name, its interval and its values.

    It is the same however often, in whatever way and in whatever batch the solution is found.
    """
    text = compiler.dialect.cast_text
    parts = [compiler.dialect.string(name)]
    parts += [text(f"solutions.{key.column}") for key in relation.keys]
    parts += [
        f"COALESCE(solutions.{compiler.column(variable)}, '')" if variable in relation.variables else "''"
        for variable in variables
    ]
    # The parts have separators between them, so that different values do not give the same text.
    return compiler.dialect.digest("MD5", f"concat_ws('|', {', '.join(parts)})")


def without_numbers(variables: Sequence[str]) -> tuple[str, ...]:
    """The variables of the query itself, without the columns that carry the values of numbers."""
    return tuple(name for name in variables if not is_number_name(name))


def event_pattern(node: StreamPattern, compiler: Compiler) -> Relation:
    """The events that match a pattern."""
    alias, bound = compiler.fresh("t"), dict[str, str]()
    conditions = match_pattern(node.pattern, alias, bound, compiler)
    columns = [f"{alias}.{name}" for name in OCCURRENCE]
    if node.objects is not None and isinstance(node.pattern.object, Variable):
        bound[number_name(node.objects, node.pattern.object.name)] = f"{alias}.number"
    columns += [f"{column} AS {compiler.column(name)}" for name, column in bound.items()]
    sql = select(columns, f"{clause_name(node.window, node.part)} AS {alias}", conditions)
    return Relation(sql, tuple(bound), certain(node), occurs=True)


def pairs(node: Pairs, compiler: Compiler) -> Relation:
    """The pairs that a policy of consumption has made."""
    columns = [*OCCURRENCE]
    columns += [f"c{at} AS {compiler.column(name)}" for at, name in enumerate(node.variables, start=1)]
    return Relation(
        select(columns, pairs_name(node.number, node.part)), node.variables, node.certain, occurs=True
    )


def timed_join(
    node: Join | SeqJoin | EqJoin, context: Context, compiler: DetectingCompiler, *, gap: bool = False
) -> Relation:
    """The join of two sides; with `gap`, also columns for the time between both sides of a sequence."""
    left, right = compiler.node(node.left, context), compiler.node(node.right, context)
    pair = Pair.of(left, right, context, compiler)
    first, second = pair.left_alias, pair.right_alias
    conditions = pair.conditions()
    match node:
        case SeqJoin():
            conditions.append(f"{first}.{ENDING} < {second}.{STARTING}")
        case EqJoin():
            conditions += [f"{first}.{column} = {second}.{column}" for column in OCCURRENCE]
    bound = compiler.bounds.get(node)
    if bound is not None and left.occurs and right.occurs and pair.interval is not None:
        start, last = pair.interval
        if isinstance(node, SeqJoin):
            start, last = f"{first}.{STARTING}", f"{second}.{ENDING}"
        conditions.append(f"{last} - {start} <= {bound}")
        if not isinstance(node, EqJoin):
            # The side that ends first may have ended in the stretch before that of the other side.
            both = isinstance(node, Join)
            pair = replace(
                pair,
                left=in_stretches(left, bound, compiler, twice=True),
                right=in_stretches(right, bound, compiler, twice=both),
            )
            conditions.append(f"{first}.stretch = {second}.stretch")
            if both:
                conditions.append(f"{first}.stretch = {stretch(last, bound, compiler)}")
    between = [f"{first}.{ENDING} AS gap_after", f"{second}.{STARTING} AS gap_until"] if gap else []
    sql = select([*pair.columns(), *between], pair.source("JOIN", conditions))
    occurs = left.occurs or right.occurs
    return Relation(sql, pair.variables, certain(node), pair.keys, occurs=occurs, late=pair.late)


def uninterrupted(node: SeqJoin, between: Node, context: Context, compiler: DetectingCompiler) -> Relation:
    """SEQ NOT: a sequence with no solution of `between` between its sides.

    For each solution on the right, a window function finds the latest start of a solution of `between` that
    ended before the right one started (`since`). A solution on the left matches if it ended at that time or
    later. If the sequence is `alike`, solutions with the same values count together: the right side looks
    back from the latest of their starts, and the left side has the earliest of their ends.
    """
    left, right = compiler.node(node.left, context), compiler.node(node.right, context)
    other = compiler.node(between, context)
    if not known_from(right, left, other):
        return not_interrupted(node, other, context, compiler)
    earliest, latest = (f"MIN({ENDING})", f"MAX({STARTING})") if node.alike else (ENDING, STARTING)
    left = with_extreme(left, earliest, STARTING, "earliest", compiler)
    right = with_extreme(right, latest, ENDING, "latest", compiler)
    rows, shared = compiler.fresh("r"), {compiler.column(name) for name in other.shared(right)}
    columns = [*OCCURRENCE, *map(compiler.column, right.variables)]
    events = select(
        [*columns, "latest AS moment", "0 AS turn", "CAST(NULL AS BIGINT) AS began"], nested(right.sql, rows)
    )
    others = ["CAST(NULL AS BIGINT)"] * 2
    named = zip(columns[2:], right.variables, strict=True)
    others += [column if column in shared else compiler.absent(name) for column, name in named]
    others += [ENDING, "1", STARTING]
    events += f"\nUNION ALL\n{select(others, nested(other.sql, rows))}"
    same = f"PARTITION BY {', '.join(sorted(shared))} " if shared else ""
    before = f"{same}ORDER BY moment, turn ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    seen = select([*columns, "turn", f"MAX(began) OVER ({before}) AS began"], nested(events, rows))
    since = f"COALESCE(began, {TIMELESS[1]}) AS since"
    right = right.with_sql(select([*columns, since], nested(seen, rows), ["turn = 0"]))
    pair = Pair.of(left, right, context, compiler)
    first, second = pair.left_alias, pair.right_alias
    conditions = pair.conditions()
    conditions += [f"{first}.{ENDING} < {second}.{STARTING}", f"{first}.earliest >= {second}.since"]
    bound = compiler.bounds.get(node)
    if bound is not None:
        conditions.append(f"{second}.{ENDING} - {first}.{STARTING} <= {bound}")
        if pair.shared:
            pair = replace(
                pair,
                left=in_stretches(left, bound, compiler, twice=True, more=["earliest"]),
                right=in_stretches(right, bound, compiler, twice=False, more=["since"]),
            )
            conditions.append(f"{first}.stretch = {second}.stretch")
    sql = select(pair.columns(), pair.source("JOIN", conditions))
    return Relation(sql, pair.variables, certain(node), pair.keys, occurs=True, late=pair.late)


def known_from(right: Relation, left: Relation, other: Relation) -> bool:
    """Whether the right side always binds all variables that `other` shares with either side.

    Then the solutions of `other` that matter can be found from the right side alone.
    """
    if right.keys:
        return False  # the window function would mix rows of different keys; the join does not
    sure = right.certain & other.certain
    return set(other.shared(left)) <= sure and set(other.shared(right)) <= sure


def not_interrupted(
    node: SeqJoin, other: Relation, context: Context, compiler: DetectingCompiler
) -> Relation:
    """SEQ NOT by an anti-join: the pairs of a sequence without those that have a solution between them."""
    joined = timed_join(node, context, compiler, gap=True)
    pair = Pair.of(joined, other, context, compiler)
    first, second = pair.left_alias, pair.right_alias
    conditions = pair.conditions()
    conditions += [f"{second}.{STARTING} > {first}.gap_after", f"{second}.{ENDING} < {first}.gap_until"]
    columns = [f"{first}.{column}" for column in joined.carried]
    columns += [f"{first}.{compiler.column(name)}" for name in joined.variables]
    return joined.unsorted(select(columns, pair.source(compiler.dialect.anti_join, conditions)))


def with_extreme(relation: Relation, extreme: str, time: str, name: str, compiler: Compiler) -> Relation:
    """The rows with a further column: a time of their own, or its extreme over rows that are alike.

    Rows are alike if they bind the same and have the same other `time`. `extreme` is the column of a time, or
    an aggregate over one.
    """
    columns = [*OCCURRENCE, *map(compiler.column, relation.variables)]
    if extreme not in OCCURRENCE:
        same = ", ".join([time, *map(compiler.column, relation.variables)])
        extreme += f" OVER (PARTITION BY {same})"
    found = f"{extreme} AS {name}"
    return relation.with_sql(select([*columns, found], nested(relation.sql, compiler.fresh("r"))))


def stretch(ending: str, bound: int, compiler: Compiler) -> str:
    """The number of the stretch of time in which a solution ended; stretches have the longest duration."""
    return compiler.dialect.whole_quotient(ending, bound + 1)


def in_stretches(
    relation: Relation, bound: int, compiler: Compiler, *, twice: bool, more: Sequence[str] = ()
) -> Relation:
    """The rows of a relation with the number of their stretch; if `twice`, also a copy with the next one."""
    rows = compiler.fresh("r")
    own = stretch(f"{rows}.{ENDING}", bound, compiler)
    columns = [f"{rows}.{column}" for column in (*relation.carried, *more)]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    if not twice:
        sql = select([*columns, f"{own} AS stretch"], nested(relation.sql, rows))
        return relation.with_sql(sql)
    each = compiler.dialect.each([own, f"{own} + 1"])
    return relation.with_sql(select([*columns, f"{each} AS stretch"], nested(relation.sql, rows)))


def optional(
    node: LeftJoin | EqLeftJoin | SeqRightJoin,
    kept: Node,
    beside: Node,
    context: Context,
    compiler: DetectingCompiler,
) -> Relation:
    """The left join of the side `kept` with the optional side `beside`.

    Times are only compared if the optional side has any. If `kept` is static, so is the result.
    """
    left, right = compiler.node(kept, context), compiler.node(beside, context)
    pair = Pair.of(left, right, context, compiler)
    first, second = pair.left_alias, pair.right_alias
    conditions = pair.conditions()
    if right.occurs:
        match node:
            case LeftJoin():
                conditions.append(f"{second}.{ENDING} <= {first}.{ENDING}")
            case SeqRightJoin():
                conditions.append(f"{second}.{ENDING} < {first}.{STARTING}")
            case EqLeftJoin():
                at_once = same(second, first, OCCURRENCE)
                timeless = f"{second}.{ENDING} < {second}.{STARTING}"
                conditions.append(at_once if always_occurs(beside) else any_of([at_once, timeless]))
    if node.condition is not None:
        conditions.append(condition_sql(node.condition, pair))
    bound = condition_bound(node.condition)
    if bound is not None and right.occurs and always_occurs(beside) and not isinstance(node, EqLeftJoin):
        pair = replace(
            pair,
            left=in_stretches(left, bound, compiler, twice=False),
            right=in_stretches(right, bound, compiler, twice=True),
        )
        conditions.append(f"{first}.stretch = {second}.stretch")
    sql = select(pair.columns(outer=True), pair.source("LEFT JOIN", conditions))
    return Relation(sql, pair.variables, left.certain, left.keys, occurs=left.occurs, late=left.late)


def without(node: Minus, context: Context, compiler: DetectingCompiler) -> Relation:
    """MINUS: a solution on the left is removed by a compatible one on the right that did not end after it."""
    left, right = compiler.node(node.left, context), compiler.node(node.right, context)
    pair = Pair.of(left, right, context, compiler)
    if not pair.shared:
        return left
    conditions = pair.conditions()
    if not any(name in left.certain and name in right.certain for name in pair.shared):
        conditions.append(pair.meeting())
    if left.occurs and right.occurs:
        conditions.append(f"{pair.right_alias}.{ENDING} <= {pair.left_alias}.{ENDING}")
    columns = [f"{pair.left_alias}.{column}" for column in left.carried]
    columns += [f"{pair.left_alias}.{compiler.column(name)}" for name in left.variables]
    return left.unsorted(select(columns, pair.source(compiler.dialect.anti_join, conditions)))


ANCHOR = Key("anchor")


def recent(node: Recent, context: Context, compiler: DetectingCompiler) -> Relation:
    """WITHIN: at the end of each solution, the aggregates over the recent solutions of its group."""
    inner = compiler.node(Distinct(node.pattern), context)
    names = [variable.name for variable in node.group if variable.name in inner.variables]
    by = [compiler.column(name) for name in names]
    rows = compiler.rows(inner, context)
    is_sliding = compiler.dialect.filters_windows and all(adds_up(item, rows) for _, item in node.aggregates)
    groups = sliding(rows, by, node.within) if is_sliding else gathered(rows, by, node.within)
    below = groups.below
    found = [
        f"{aggregate_sql(aggregate, below, groups, inner.variables)} AS {compiler.column(variable.name)}"
        for variable, aggregate in node.aggregates
    ]
    start = groups.collect(least(f"{below.alias}.{STARTING}"))
    groups.relation = Relation(groups.sql(""), tuple(names), frozenset(), (ANCHOR,))
    absent = [variable.name for variable in node.group if variable.name not in names]
    kept = [f"{start} AS {STARTING}", f"{groups.alias}.{ANCHOR.column} AS {ENDING}"]
    kept += [f"{groups.alias}.{column}" for column in by]
    kept += [f"{compiler.dialect.null} AS {compiler.column(name)}" for name in absent]
    variables = (*names, *absent, *(variable.name for variable, _ in node.aggregates))
    sql = select([*kept, *found], groups.source(*found), distinct=is_sliding)
    return Relation(sql, variables, certain(node), occurs=True)


def adds_up(aggregate: Aggregate, rows: Rows) -> bool:
    """Whether a window function of SQL can compute the aggregate: a count, or a sum of exact numbers."""
    if aggregate.distinct or aggregate.name not in ("COUNT", "SUM", "AVG"):
        return False
    argument = aggregate.argument
    return aggregate.name == "COUNT" or (
        isinstance(argument, Variable) and rows.exact(argument.name) is not None
    )


def sliding(rows: Rows, by: Sequence[str], within: int) -> Whole:
    """The groups of WITHIN by window functions: each solution with the aggregates over the recent ones.

    Solutions of a group that end together have the same aggregates.
    """
    relation, alias = rows.relation, rows.compiler.fresh("s")
    anchored = select([f"{alias}.*", f"{alias}.{ENDING} AS {ANCHOR.column}"], nested(relation.sql, alias))
    below = rows.compiler.rows(replace(relation, sql=anchored), rows.context)
    return Sliding(
        relation,
        rows.context,
        rows.compiler,
        rows.compiler.fresh("g"),
        below=below,
        by=[f"{below.alias}.{column}" for column in (ANCHOR.column, *by)],
        within=within,
    )


def gathered(rows: Rows, by: Sequence[str], within: int) -> Whole:
    """The groups of WITHIN by a join: each group and end with all solutions that ended not long before."""
    inner, compiler = rows.relation, rows.compiler
    alias, anchors, solutions = compiler.fresh("r"), compiler.fresh("a"), compiler.fresh("solutions")
    ends = select([*by, f"{ENDING} AS {ANCHOR.column}"], solutions, distinct=True)
    near = [f"{alias}.{column} IS NOT DISTINCT FROM {anchors}.{column}" for column in by]
    near.append(f"{alias}.{ENDING} <= {anchors}.{ANCHOR.column}")
    near.append(f"{alias}.{ENDING} > {anchors}.{ANCHOR.column} - {within}")
    columns = [f"{anchors}.{ANCHOR.column}", f"{alias}.{STARTING}"]
    columns += [f"{alias}.{compiler.column(name)}" for name in inner.variables]
    joined = select(columns, f"{solutions} AS {alias} JOIN {nested(ends, anchors)}\nON {all_of(near)}")
    sql = f"WITH {solutions} AS (\n{indent(inner.sql, '  ')}\n)\n{joined}"
    seen = replace(inner, sql=sql, keys=(ANCHOR,), occurs=False)
    below = compiler.rows(seen, rows.context)
    return Whole(
        seen,
        rows.context,
        compiler,
        compiler.fresh("g"),
        below=below,
        by=[f"{below.alias}.{column}" for column in (ANCHOR.column, *by)],
    )
