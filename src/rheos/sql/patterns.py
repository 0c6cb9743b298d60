"""The compiler of patterns: makes a relation of each node of the algebra in its context."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from rheos.algebra.expressions import Constant, Exists, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    AllenJoin,
    Broadcast,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Events,
    Extend,
    Filter,
    Graph,
    GraphPart,
    Group,
    InWindow,
    Join,
    Kept,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    OneOrMore,
    OrderBy,
    Pairs,
    PathPattern,
    Project,
    Recent,
    Reduced,
    Runs,
    SeqJoin,
    SeqRightJoin,
    Slice,
    StreamPattern,
    TableScan,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import has_streams
from rheos.algebra.variables import certain, exists_in, has_exists, in_scope, is_number_name, numeric
from rheos.deadline import check
from rheos.sql import joins, solutions
from rheos.sql.conditions import all_of, any_of
from rheos.sql.context import Context
from rheos.sql.dialect import EXACT, Dialect
from rheos.sql.exists import semi_join
from rheos.sql.expressions import condition, term
from rheos.sql.grouped import KeptGroups
from rheos.sql.paths import Closure, path_relation
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL, Relation, clause_name, nested, select
from rheos.sql.rows import Rows
from rheos.sql.scans import Scan, among_named, scan
from rheos.sql.validity import at_every_instant, common, intersection, overlap, valid_always

# When a triple pattern is joined, its interval is compared with those of this many patterns before it. That
# all intervals have an instant in common is one condition at the end: to compare all pairs of 300 patterns
# would take 90,000 conditions.
PAIRED = 8

# The table of the solutions, or parts of groups, that a query keeps between batches.
KEPT = "kept"

# How many characters of a variable's name its column has, so that people can read the SQL.
_LONGEST_STEM = 60


@dataclass
class Compiler:
    """One compilation: the dialect, the names that are in use, and the closures that the statement needs."""

    dialect: Dialect
    columns: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    closures: list[Closure] = field(default_factory=list)
    fill: str | None = None  # the SQL of the rows that a batch adds to the table KEPT
    groups: KeptGroups | None = None  # the columns of the table KEPT, if it has parts of groups by ticks
    _taken: set[str] = field(default_factory=set)  # column names in use, in lower case

    def fresh(self, stem: str) -> str:
        """A name that is not yet used in the statement."""
        self.counts[stem] += 1
        return f"{stem}_{self.counts[stem]}"

    def column(self, variable: str) -> str:
        """The column of a variable.

        SQL ignores case and forbids most characters of SPARQL names, hence a stem.
        """
        if variable not in self.columns:
            stem = "v_" + re.sub(r"\W", "_", variable.lower()[:_LONGEST_STEM], flags=re.ASCII)
            name = stem
            while name in self._taken:
                name = self.fresh(stem + "_")
            self._taken.add(name)
            self.columns[variable] = name
        return self.columns[variable]

    def absent(self, variable: str) -> str:
        """The SQL of an unbound variable, NULL of the type of its column."""
        return f"CAST(NULL AS {EXACT})" if is_number_name(variable) else self.dialect.null

    def closure(self, closure: Closure) -> str:
        """The SQL of a closure.

        Where the dialect cannot express it, the SQL reads a view, noted in `closures`.
        """
        sql = self.dialect.closure(closure)
        if sql is None:
            self.closures.append(closure)
            sql = f"SELECT {', '.join((*closure.keys, 'a', 'b'))} FROM {closure.view}"
        return sql

    def keep(self, sql: str) -> str:
        """Note the SQL of the rows that a batch adds to the table KEPT, and return the name of the table."""
        self.fill = self.fill or sql
        return KEPT

    def added(self, node: Kept, context: Context) -> Relation:
        """The solutions that a batch adds to the table KEPT.

        The columns are always those of the whole pattern, whichever patterns can match in this batch.
        """
        added = valid_always(self.node(node.pattern, context), self)
        names = tuple(sorted(in_scope(node.whole)))
        columns = list(INTERVAL)
        for name in names:
            column = self.column(name)
            columns.append(column if name in added.variables else f"{self.absent(name)} AS {column}")
        sql = select(columns, nested(added.sql, self.fresh("k")))
        return Relation(sql, names, certain(node), valid=True, numeric=numeric(node))

    def kept(self, node: Kept, context: Context) -> Relation:
        """All solutions in the table KEPT, those of earlier batches included."""
        added = self.added(node, context)
        columns = [*INTERVAL, *(self.column(name) for name in added.variables)]
        return added.with_sql(select(columns, self.keep(added.sql)))

    def rows(self, relation: Relation, context: Context) -> Rows:
        return Rows(relation, context, self, self.fresh("r"))

    def node(self, node: Node, context: Context) -> Relation:
        """The relation of any pattern."""
        check()
        return replace(self.relation(node, context), numeric=numeric(node))

    def relation(self, node: Node, context: Context) -> Relation:
        match node:
            case BGP():
                return basic_graph_pattern(node, context, self)
            case PathPattern():
                return keyed(path_relation(node, context, self), context, self)
            case Values():
                return keyed(values(node, self), context, self)
            case StreamPattern():
                return keyed(stream_pattern(node, self), context, self)
            case TableScan():
                return keyed(table_scan(node, self), context, self)
            case Join():
                return joins.join(node, context, self)
            case LeftJoin():
                return joins.left_join(node, context, self)
            case Minus():
                return joins.minus(node, context, self)
            case Union():
                return joins.union(node, context, self)
            case Filter():
                return filtered(node, context, self)
            case Extend():
                return extended(node, context, self)
            case InWindow():
                return in_window(node, context, self)
            case Graph():
                return graph(node, context, self)
            case Group():
                return solutions.group(node, context, self)
            case Aggregated():
                return solutions.aggregated(node, context, self)
            case Project():
                return solutions.project(node, context, self)
            case Distinct():
                return solutions.distinct(node, context, self)
            case OrderBy():
                return solutions.order_by(node, context, self)
            case Slice():
                return solutions.sliced(node, context, self)
            case Reduced(pattern) | Broadcast(pattern):
                return self.node(pattern, context)
            case Kept():
                return self.kept(node, context)
            case (
                SeqJoin()
                | SeqRightJoin()
                | EqJoin()
                | EqLeftJoin()
                | AllenJoin()
                | Recent()
                | Runs()
                | Events()
                | Pairs()
            ):
                raise AssertionError(f"the relations of this compiler have no intervals of events: {node}")


def keyed(relation: Relation, context: Context, compiler: Compiler) -> Relation:
    """A leaf of the pattern with all keys of its context: missing keys are joined from their sources."""
    for source in context.sources:
        if set(source.keys) <= set(relation.keys):
            continue
        left, right = compiler.fresh("t"), compiler.fresh("k")
        columns = [f"{left}.{column}" for column in relation.carried]
        columns += [f"{right}.{key.column}" for key in source.keys]
        if source.valid:
            # A scan of a window has these keys already. So this relation is static, and its rows hold for the
            # interval of the source.
            assert not relation.valid
            assert INSTANT not in relation.keys
            columns += [f"{right}.{bound}" for bound in INTERVAL]
        columns += [f"{left}.{compiler.column(name)}" for name in relation.variables]
        conditions = []
        for name, key in context.environment.items():
            if key in source.keys and name in relation.variables:
                own, outer = f"{left}.{compiler.column(name)}", f"{right}.{key.column}"
                tests = [f"{own} = {outer}"]
                tests += [f"{outer} IS NULL"] if key.nullable else []
                tests += [] if name in relation.certain else [f"{own} IS NULL"]
                conditions.append(any_of(tests))
        how = f"JOIN {nested(source.sql, right)}\nON {all_of(conditions)}" if conditions else (
            f"CROSS JOIN {nested(source.sql, right)}"
        )  # fmt: skip
        sql = select(columns, f"{nested(relation.sql, left)} {how}")
        valid = relation.valid or source.valid
        relation = replace(relation, sql=sql, keys=relation.keys + source.keys, valid=valid)
    return relation


def basic_graph_pattern(node: BGP, context: Context, compiler: Compiler) -> Relation:
    """One scan of the active graph for each triple pattern, joined on the variables they share."""
    if not node.patterns:
        return keyed(Relation("SELECT 1 AS unit", (), frozenset()), context, compiler)
    bound: dict[str, str] = {}
    keyed_by: dict[str, str] = {}
    source, where = "", []
    aliases = [compiler.fresh("t") for _ in node.patterns]
    timed: list[str] = []
    everything: GraphPart = "all"
    parts = node.parts or (everything,) * len(node.patterns)
    for alias, pattern, part in zip(aliases, node.patterns, parts, strict=True):
        found = scan(context, alias, compiler, part)
        conditions = list(found.conditions)
        if found.valid:
            conditions += [test for other in timed[-PAIRED:] for test in overlap(other, alias)]
            timed.append(alias)
        for column, key in context.scanned.items():
            if key in keyed_by:
                conditions.append(f"{alias}.{column} = {keyed_by[key]}")
            keyed_by.setdefault(key, f"{alias}.{column}")
        conditions += match_pattern(pattern, alias, bound, compiler)
        bound |= times(pattern, alias, found, compiler)
        if not source:
            source, where = found.item, conditions
        elif conditions:
            source += f"\nJOIN {found.item} ON {all_of(conditions)}"
        else:
            source += f"\nCROSS JOIN {found.item}"
    if len(timed) > PAIRED + 1:
        where = [*where, common(timed)]
    keys = tuple(key for key in context.keys if key.column in keyed_by)
    columns = [f"{keyed_by[key.column]} AS {key.column}" for key in keys] + intersection(timed)
    columns += [f"{column} AS {compiler.column(name)}" for name, column in bound.items()]
    hint = compiler.dialect.broadcast([aliases[at] for at in sorted(node.small)])
    sql = select(columns, source, where, hint=hint)
    relation = Relation(sql, tuple(bound), certain(node), keys, valid=bool(timed))
    return keyed(relation, context, compiler)


def match_pattern(pattern: TriplePattern, alias: str, bound: dict[str, str], compiler: Compiler) -> list[str]:
    """The conditions of one triple pattern. Variables that no earlier pattern binds are added to `bound`."""
    conditions = []
    for position, found in zip("spo", pattern.terms, strict=True):
        column = f"{alias}.{position}"
        match found:
            case Constant(value):
                conditions.append(f"{column} = {compiler.dialect.string(value)}")
            case Variable(name) if name in bound:
                conditions.append(f"{column} = {bound[name]}")
            case Variable(name):
                bound[name] = column
    return conditions


def times(pattern: TriplePattern, alias: str, scan: Scan, compiler: Compiler) -> dict[str, str]:
    """The SQL of the time of the matched triple, for each variable that the pattern has for this time."""
    found = {}
    for time in pattern.times:
        column = "time" if scan.valid and time.stream is None else scan.times.get(time.stream or "")
        found[time.variable.name] = (
            compiler.dialect.moment(f"{alias}.{column}") if column else compiler.dialect.null
        )
    return found


def stream_pattern(node: StreamPattern, compiler: Compiler) -> Relation:
    """The elements of a window that match a pattern, each once for every bucket in which it is valid."""
    alias, bound = compiler.fresh("t"), dict[str, str]()
    conditions = match_pattern(node.pattern, alias, bound, compiler)
    columns = [f"{alias}.{name}" for name in (BUCKET.column, *INTERVAL)]
    columns += [f"{column} AS {compiler.column(name)}" for name, column in bound.items()]
    sql = select(columns, f"{clause_name(node.window, node.part)} AS {alias}", conditions)
    return Relation(sql, tuple(bound), certain(node), (BUCKET,), valid=True)


def table_scan(node: TableScan, compiler: Compiler) -> Relation:
    """The solutions in a table whose columns are c1, c2, … for the variables in order."""
    columns = [f"c{at} AS {compiler.column(name)}" for at, name in enumerate(node.variables, start=1)]
    keys = (INSTANT,) if node.by_instant else ()
    columns = [*(key.column for key in keys), *columns]
    return Relation(select(columns, node.table), node.variables, node.certain, keys)


def values(node: Values, compiler: Compiler) -> Relation:
    names = tuple(variable.name for variable in node.variables)
    if not node.rows:
        columns = [f"{compiler.dialect.null} AS {compiler.column(name)}" for name in names]
        sql = select(columns, "(SELECT 1 AS unit) AS nothing", ["FALSE"])
        return Relation(sql, names, frozenset(names))
    if not names:
        ones = ", ".join("(1)" for _ in node.rows)
        return Relation(f"SELECT unit FROM (VALUES {ones}) AS {compiler.fresh('d')}(unit)", (), frozenset())
    dialect = compiler.dialect
    rows = (
        ", ".join(dialect.null if value is None else dialect.string(value) for value in row)
        for row in node.rows
    )
    columns = [compiler.column(name) for name in names]
    table = f"(VALUES {', '.join(f'({row})' for row in rows)}) AS {compiler.fresh('d')}({', '.join(columns)})"
    return Relation(select(columns, table), names, certain(node))


def operand(node: Node, expression: Expression, context: Context, compiler: Compiler) -> Relation:
    """The relation that an expression is evaluated on.

    EXISTS of a continuous query is evaluated for each instant separately, so the rows are spread over the
    instants (in CQELS-QL only if EXISTS looks at a stream).
    """
    relation = compiler.node(node, context)
    if context.windows and has_exists(expression):
        return at_every_instant(relation, compiler)
    if context.ticking and any(has_streams(pattern) for pattern in exists_in(expression)):
        return at_every_instant(relation, compiler)
    return relation


def filtered(node: Filter, context: Context, compiler: Compiler) -> Relation:
    rows = compiler.rows(operand(node.pattern, node.condition, context, compiler), context)
    if isinstance(node.condition, Exists):
        return rows.relation.with_sql(select(rows.columns(), semi_join(node.condition, rows)))
    test = condition(node.condition, rows, strict=False)
    return rows.relation.with_sql(select(rows.columns(), rows.source(test), [test]))


def extended(node: Extend, context: Context, compiler: Compiler) -> Relation:
    rows = compiler.rows(operand(node.pattern, node.expression, context, compiler), context)
    name = node.variable.name
    value = term(node.expression, rows)
    sql = select([*rows.columns(), f"{value} AS {compiler.column(name)}"], rows.source(value))
    variables = (*rows.relation.variables, name)
    return replace(rows.relation, sql=sql, variables=variables, certain=certain(node))


def graph(node: Graph, context: Context, compiler: Compiler) -> Relation:
    """GRAPH with a name is another active graph; with a variable it is every named graph at once (18.4)."""
    if isinstance(node.name, Constant):
        return named_graph(node.name.term, node.pattern, context, compiler)
    key = compiler.fresh("graph")
    if context.in_windows:
        return bound_to_key(node, key, context, each_graph_of_windows(key, context, compiler), compiler)
    where = among_named("g", context.dataset, compiler.dialect)
    names = [select([f"g AS {key}"], "graph_names", where)]
    names += [f"SELECT {compiler.dialect.string(window.stream)} AS {key}" for window in context.stream_graphs]
    return bound_to_key(node, key, context, context.in_each_graph(key, "\nUNION\n".join(names)), compiler)


def bound_to_key(node: Graph, key: str, context: Context, each: Context, compiler: Compiler) -> Relation:
    """The pattern in each graph, or window, of a key; the variable of the node is bound to the key."""
    assert isinstance(node.name, Variable)
    name = node.name.name
    inner = compiler.node(node.pattern, each)
    alias, column = compiler.fresh("g"), compiler.column(name)
    outer = tuple(found for found in inner.keys if found.column != key)
    conditions = []
    if name in inner.variables:
        test = f"{alias}.{column} = {alias}.{key}"
        conditions = [test if name in inner.certain else any_of([test, f"{alias}.{column} IS NULL"])]
    environment = context.environment.get(name)
    if environment is not None:
        test = f"{alias}.{environment.column} = {alias}.{key}"
        unbound = f"{alias}.{environment.column} IS NULL"
        conditions.append(any_of([test, unbound]) if environment.nullable else test)
    variables = tuple(found for found in inner.variables if found != name)
    columns = [f"{alias}.{found}" for found in replace(inner, keys=outer).carried]
    columns += [f"{alias}.{compiler.column(found)}" for found in variables]
    columns.append(f"{alias}.{key} AS {column}")
    sql = select(columns, nested(inner.sql, alias), conditions)
    return Relation(sql, (*variables, name), certain(node), outer, valid=inner.valid)


def in_window(node: InWindow, context: Context, compiler: Compiler) -> Relation:
    """WINDOW with a name makes that window the default graph; with a variable it is every window at once."""
    if isinstance(node.name, Constant):
        return compiler.node(node.pattern, context.in_window(node.name.term))
    key = compiler.fresh("within")
    names = [f"SELECT {compiler.dialect.string(w.name or '')} AS {key}" for w in context.active_windows]
    return bound_to_key(
        node, key, context, context.in_each_window(key, "\nUNION ALL\n".join(names)), compiler
    )


def each_graph_of_windows(key: str, context: Context, compiler: Compiler) -> Context:
    """The context of every named graph of the active windows, with the intervals of each graph."""
    parts = []
    for window in context.active_windows:
        columns = [f"g AS {key}", *INTERVAL]
        if context.window_key is not None:
            columns.insert(0, f"{compiler.dialect.string(window.name or '')} AS {context.window_key}")
        parts.append(select(columns, window.names))
    return context.in_each_graph_of_windows(key, "\nUNION ALL\n".join(parts))


def named_graph(name: str, pattern: Node, context: Context, compiler: Compiler) -> Relation:
    """The solutions in one named graph. A graph outside the dataset has none, not even of `{}` (18.6)."""
    if context.in_windows and not reads_always(pattern):
        # Whether the window has the graph differs from instant to instant, so that is a join with its names.
        variable = Variable(f".graph {compiler.fresh('graph')}")
        each = compiler.node(Graph(variable, pattern), context)
        rows = compiler.rows(each, context)
        kept = tuple(found for found in each.variables if found != variable.name)
        where = [f"{rows.alias}.{compiler.column(variable.name)} = {compiler.dialect.string(name)}"]
        sql = select(rows.columns(kept), rows.source(), where)
        return replace(each, sql=sql, variables=kept, certain=each.certain - {variable.name})
    inner = compiler.node(pattern, context.in_graph(name))
    is_window = any(window.stream == name for window in context.stream_graphs)
    if is_window or reads_always(pattern):
        return inner
    rows = compiler.rows(inner, context)
    named = [f"g = {compiler.dialect.string(name)}", *among_named("g", context.dataset, compiler.dialect)]
    exists = f"EXISTS (SELECT 1 FROM graph_names WHERE {all_of(named)})"
    return inner.with_sql(select(rows.columns(), rows.source(), [exists]))


def reads_always(node: Node) -> bool:
    """Whether each solution of a pattern has at least one triple of the active graph."""
    match node:
        case BGP(patterns):
            return bool(patterns)
        case PathPattern(path=OneOrMore(Link()) | NegatedSet()):
            return True
        case Join(left, right):
            return reads_always(left) or reads_always(right)
        case Union(left, right):
            return reads_always(left) and reads_always(right)
        case LeftJoin(left) | Minus(left):
            return reads_always(left)
        case Group(pattern, keys):
            return bool(keys) and reads_always(pattern)
        case Filter(_, pattern) | Extend(pattern) | Project(pattern) | Distinct(pattern) | Reduced(pattern):
            return reads_always(pattern)
        case OrderBy(pattern) | Slice(pattern) | Aggregated(pattern) | Broadcast(pattern):
            return reads_always(pattern)
    return False
