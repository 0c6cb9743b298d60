"""Joins: the operators Join, LeftJoin, Minus and Union on relations, by compatibility of solutions (18.3).

Where both sides always bind a shared variable, compatibility is equality of columns. Only where a side may
leave the variable unbound is the more expensive general condition used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rheos.algebra.expressions import Exists, Expression, Variable
from rheos.algebra.literals import EXACT_RANKS
from rheos.algebra.nodes import Broadcast, Distinct, Extend, Filter, Join, LeftJoin, Minus, Node, Union
from rheos.algebra.variables import certain, has_exists, number_name
from rheos.sql.conditions import all_of, any_of, same
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.expressions import condition as condition_sql
from rheos.sql.macros import length
from rheos.sql.relation import (
    BUCKET,
    INSTANT,
    INTERVAL,
    KNOWN,
    OCCURRENCE,
    TIMELESS,
    Key,
    Relation,
    nested,
    select,
)
from rheos.sql.shared import Shared
from rheos.sql.validity import ALWAYS, at_every_instant, intersection, overlap, spread

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler
    from rheos.sql.values import Value


def compatible(column: str, left: str, right: str, left_certain: bool, right_certain: bool) -> str:
    """The condition that two solutions agree on a variable, or that one of them leaves it unbound."""
    conditions = [f"{left}.{column} = {right}.{column}"]
    conditions += [] if left_certain else [f"{left}.{column} IS NULL"]
    conditions += [] if right_certain else [f"{right}.{column} IS NULL"]
    return any_of(conditions)


def same_keys(keys: Sequence[Key], left: str, right: str) -> list[str]:
    operators = ((key.column, "IS NOT DISTINCT FROM" if key.nullable else "=") for key in keys)
    return [f"{left}.{column} {operator} {right}.{column}" for column, operator in operators]


class TooLong(Exception):
    """The SQL of a join condition would become too long.

    Long texts that repeat other long texts could reach millions of characters, and planning take minutes.
    """


# Without sharing, `?x < ?y` has 50,000 characters; the texts that it repeats of each side have 5,000.
LONGEST = 200_000
LONGEST_REPEATED = 20_000


@dataclass
class Pair:
    """Two relations side by side under their aliases: the `Scope` of a condition of their join."""

    left: Relation
    right: Relation
    left_alias: str
    right_alias: str
    context: Context
    compiler: Compiler
    longest: int | None = None  # the greatest length of a text that a condition may repeat
    values: dict[str, Value] = field(default_factory=dict)
    work: dict[str, Shared] = field(default_factory=dict)  # the shared columns, by the alias of a side

    def __post_init__(self) -> None:
        # A copy with other sides (`replace`) keeps the aliases, and so the shared columns of its conditions.
        for alias in (self.left_alias, self.right_alias):
            self.work.setdefault(alias, Shared(alias, self.compiler))

    @classmethod
    def of(cls, left: Relation, right: Relation, context: Context, compiler: Compiler) -> Pair:
        return cls(left, right, compiler.fresh("l"), compiler.fresh("r"), context, compiler)

    @property
    def dialect(self) -> Dialect:
        return self.compiler.dialect

    @property
    def shared(self) -> list[str]:
        return self.left.shared(self.right)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables + tuple(v for v in self.right.variables if v not in self.left.variables)

    @property
    def keys(self) -> tuple[Key, ...]:
        return self.left.keys + tuple(key for key in self.right.keys if key not in self.left.keys)

    def conditions(self) -> list[str]:
        """The join conditions: equal keys, overlapping intervals, and compatible shared variables."""
        common = [key for key in self.left.keys if key in self.right.keys]
        found = same_keys(common, self.left_alias, self.right_alias)
        if self.left.valid and self.right.valid:
            found += overlap(self.left_alias, self.right_alias)
        for name in self.shared:
            column = self.compiler.column(name)
            bound = name in self.left.certain, name in self.right.certain
            found.append(compatible(column, self.left_alias, self.right_alias, *bound))
        return found

    def meeting(self) -> str:
        """The condition that both sides bind at least one shared variable, to the same term."""
        return any_of(
            same(self.left_alias, self.right_alias, [self.compiler.column(name)]) for name in self.shared
        )

    def value(self, variable: str) -> str:
        """The SQL of a variable in the merged solution."""
        column = self.compiler.column(variable)
        left, right = f"{self.left_alias}.{column}", f"{self.right_alias}.{column}"
        if variable not in self.right.variables or variable in self.left.certain:
            return left
        if variable not in self.left.variables or variable in self.right.certain:
            return right
        return f"COALESCE({left}, {right})"

    def left_value(self, variable: str) -> str:
        """As `value`, for an outer join, in which the whole right side may be missing."""
        column = self.compiler.column(variable)
        left, right = f"{self.left_alias}.{column}", f"{self.right_alias}.{column}"
        if variable not in self.right.variables or variable in self.left.certain:
            return left
        return right if variable not in self.left.variables else f"COALESCE({left}, {right})"

    def columns(self, *, outer: bool = False) -> list[str]:
        """The SELECT list of the merged solutions."""
        value = self.left_value if outer else self.value
        from_left = dict.fromkeys(self.left.keys, self.left_alias)
        keys = [f"{from_left.get(key, self.right_alias)}.{key.column}" for key in self.keys]
        sides = ((self.left, self.left_alias), (self.right, self.right_alias))
        keys += intersection([alias for side, alias in sides if side.valid])
        if self.interval is not None:
            keys += [f"{time} AS {column}" for time, column in zip(self.interval, OCCURRENCE, strict=True)]
        if self.late:
            keys.append(f"{self.known} AS {KNOWN}")
        named = ((value(name), self.compiler.column(name)) for name in self.variables)
        return keys + [sql if sql.endswith(f".{column}") else f"{sql} AS {column}" for sql, column in named]

    def column(self, variable: str) -> str | None:
        outer = self.context.environment.get(variable)
        if variable in self.variables:
            return self.value(variable)
        return f"{self.left_alias}.{outer.column}" if outer else None

    def is_number(self, variable: str) -> bool:
        return all(variable in side.numeric for side in (self.left, self.right) if variable in side.variables)

    def exact(self, variable: str) -> tuple[int, str] | None:
        for kind, rank in EXACT_RANKS.items():
            name = number_name(kind, variable)
            if name in self.variables and name in self.left.certain | self.right.certain:
                return rank, self.value(name)
        return None

    @property
    def late(self) -> bool:
        return self.left.late or self.right.late

    @property
    def known(self) -> str:
        """The SQL of the time at which the merged solution is known: the later of both sides.

        A side without the column KNOWN is known at its end. An optional side that is missing does not count.
        """
        sides = ((self.left, self.left_alias), (self.right, self.right_alias))
        times = [
            f"COALESCE({alias}.{KNOWN if side.late else OCCURRENCE[1]}, {TIMELESS[1]})"
            for side, alias in sides
            if side.occurs
        ]
        return f"greatest({', '.join(times)})" if len(times) > 1 else times[0]

    @property
    def interval(self) -> tuple[str, str] | None:
        """The interval of the merged solution: from the first start to the last end.

        A side that has no interval changes neither.
        """
        sides = ((self.left, self.left_alias), (self.right, self.right_alias))
        occurring = [alias for side, alias in sides if side.occurs]
        if not occurring:
            return None
        starts, ends = ([f"{alias}.{column}" for alias in occurring] for column in OCCURRENCE)
        if len(occurring) == 1:
            return starts[0], ends[0]
        return f"least({', '.join(starts)})", f"greatest({', '.join(ends)})"

    def share(self, sql: str) -> str:
        """An expression about one side becomes a shared column of this side.

        An expression about both sides is repeated: below a join there is no operator that sees both.
        """
        of_left, of_right = (self._tells_of(alias, sql) for alias in (self.left_alias, self.right_alias))
        if of_left != of_right:
            return self.work[self.left_alias if of_left else self.right_alias].share(sql)
        if self.longest is not None and length(sql) > self.longest:
            raise TooLong
        return sql

    def _tells_of(self, alias: str, sql: str) -> bool:
        """Whether a text seems to read a column of this side. A string constant may look like one."""
        return re.search(rf"\b{alias}\.", sql) is not None

    def exists(self, exists: Exists) -> str:
        raise AssertionError("left_join compiles a condition with EXISTS in another way")

    def source(self, how: str, conditions: Sequence[str]) -> str:
        left, right = (
            self.work[alias].added_to(nested(side.sql, alias), *conditions)
            for alias, side in ((self.left_alias, self.left), (self.right_alias, self.right))
        )
        if not conditions and how == "JOIN":
            return f"{left} CROSS JOIN {right}"
        return f"{left} {how} {right}\nON {all_of(conditions)}"


def join(node: Join, context: Context, compiler: Compiler) -> Relation:
    left, right = compiler.node(node.left, context), compiler.node(node.right, context)
    if INSTANT in left.keys + right.keys:
        left, right = spread(left, compiler), spread(right, compiler)
    pair = Pair.of(left, right, context, compiler)
    small = [pair.left_alias] if isinstance(node.left, Broadcast) else []
    small += [pair.right_alias] if isinstance(node.right, Broadcast) else []
    sql = select(
        pair.columns(), pair.source("JOIN", pair.conditions()), hint=compiler.dialect.broadcast(small)
    )
    return Relation(sql, pair.variables, certain(node), pair.keys, valid=left.valid or right.valid)


def apart(node: LeftJoin | Minus, context: Context, compiler: Compiler) -> Pair:
    """The two sides of LeftJoin or Minus, which are not monotone.

    Unless the right side is static, the operator is evaluated for each instant separately.
    """
    left, right = compiler.node(node.left, context), spread(compiler.node(node.right, context), compiler)
    if INSTANT in right.keys:
        left = at_every_instant(left, compiler)
    return Pair.of(left, right, context, compiler)


def left_join(node: LeftJoin, context: Context, compiler: Compiler) -> Relation:
    if has_exists(node.condition):
        return left_join_matches(node, context, compiler)
    closures = list(compiler.closures)
    pair = apart(node, context, compiler)
    pair.longest = LONGEST_REPEATED
    conditions = pair.conditions()
    if node.condition is not None:
        try:
            conditions.append(joining(node.condition, pair))
        except TooLong:
            compiler.closures[:] = closures
            return left_join_matches(node, context, compiler)
    return outer_join(pair, conditions, isinstance(node.right, Broadcast))


def joining(condition: Expression, pair: Pair) -> str:
    sql = condition_sql(condition, pair, strict=False)
    if length(sql) > LONGEST:
        raise TooLong
    return sql


def outer_join(pair: Pair, conditions: Sequence[str], small: bool) -> Relation:
    hint = pair.dialect.broadcast([pair.right_alias] if small else [])
    sql = select(pair.columns(outer=True), pair.source("LEFT JOIN", conditions), hint=hint)
    return Relation(sql, pair.variables, pair.left.certain, pair.left.keys, valid=pair.left.valid)


def left_join_matches(node: LeftJoin, context: Context, compiler: Compiler) -> Relation:
    """A LeftJoin whose condition cannot be a join condition of SQL.

    The condition has an EXISTS, which Spark would need a sub-query for, or it is too long because a join has
    no place for shared columns about both sides. So the matches are found first, as a filtered join with the
    distinct solutions of the left side. Then they are looked up for each row of the left side.
    """
    assert node.condition is not None
    left = compiler.node(node.left, context)
    left = at_every_instant(left, compiler) if context.by_instant else left
    # A match may bind a variable that the left side leaves unbound. A copy of the value before the match
    # tells which rows of the left side the match belongs to.
    unsure = [name for name in left.variables if name not in left.certain]
    copies = {name: compiler.fresh(".before") for name in unsure}
    different: Node = Distinct(node.left)
    for name, copy in copies.items():
        different = Extend(different, Variable(copy), Variable(name))
    matches = spread(compiler.node(Filter(node.condition, Join(different, node.right)), context), compiler)
    pair = Pair.of(left, matches, context, compiler)
    conditions = same_keys(left.keys, pair.left_alias, pair.right_alias)
    for name in left.variables:
        own, other = compiler.column(name), compiler.column(copies.get(name, name))
        operator = "IS NOT DISTINCT FROM" if name in copies else "="
        conditions.append(f"{pair.left_alias}.{own} {operator} {pair.right_alias}.{other}")
    found = outer_join(pair, conditions, small=False)
    return replace(found, variables=tuple(name for name in found.variables if name not in copies.values()))


def minus(node: Minus, context: Context, compiler: Compiler) -> Relation:
    pair = apart(node, context, compiler)
    left, right = pair.left, pair.right
    if not pair.shared:
        return left
    conditions = pair.conditions()
    if not any(name in left.certain and name in right.certain for name in pair.shared):
        # MINUS removes a solution only if both solutions bind a variable in common.
        conditions.append(pair.meeting())
    columns = [f"{pair.left_alias}.{column}" for column in left.carried]
    columns += [f"{pair.left_alias}.{compiler.column(name)}" for name in left.variables]
    hint = compiler.dialect.broadcast([pair.right_alias] if isinstance(node.right, Broadcast) else [])
    sql = select(columns, pair.source(compiler.dialect.anti_join, conditions), hint=hint)
    return left.unsorted(sql)


def union(node: Union, context: Context, compiler: Compiler) -> Relation:
    operands = [compiler.node(operand, context) for operand in flatten(node)]
    if any(INSTANT in operand.keys for operand in operands) or len({BUCKET in o.keys for o in operands}) > 1:
        operands = [at_every_instant(operand, compiler) for operand in operands]
    return united(operands, certain(node), compiler)


def united(operands: Sequence[Relation], certain: frozenset[str], compiler: Compiler) -> Relation:
    """UNION ALL of relations with the same keys. A variable that a relation lacks is NULL in its rows."""
    valid = any(operand.valid for operand in operands)
    occurs = any(operand.occurs for operand in operands)
    late = any(operand.late for operand in operands)
    variables = tuple(dict.fromkeys(name for operand in operands for name in operand.variables))
    parts = []
    for operand in operands:
        columns = operand.carried
        if valid and not operand.valid:
            columns += [f"{bound} AS {column}" for bound, column in zip(ALWAYS, INTERVAL, strict=True)]
        if occurs and not operand.occurs:
            columns += [f"{time} AS {column}" for time, column in zip(TIMELESS, OCCURRENCE, strict=True)]
        if late and not operand.late:
            columns.append(f"{OCCURRENCE[1] if operand.occurs else TIMELESS[1]} AS {KNOWN}")
        for name in variables:
            column = compiler.column(name)
            columns.append(column if name in operand.variables else f"{compiler.absent(name)} AS {column}")
        parts.append(select(columns, nested(operand.sql, compiler.fresh("u"))))
    sql = "\nUNION ALL\n".join(parts)
    return Relation(sql, variables, certain, operands[0].keys, valid=valid, occurs=occurs, late=late)


def flatten(node: Node) -> list[Node]:
    """The operands of nested unions, in order."""
    return flatten(node.left) + flatten(node.right) if isinstance(node, Union) else [node]
