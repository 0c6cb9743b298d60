"""Allen's relations as joins: two sides come in, the pairs whose intervals are so related go out.

All but MEETS compare times by inequalities. DuckDB joins by two of these in one pass over both sides, sorted
(IEJoin). But where there is an equality too, it joins by that alone and then compares all that agree, pair by
pair: 400 million times for 20,000 intervals of one subject. So what must be equal becomes part of the times:
a hash of it stands above them, like the higher digits of a number. Two inequalities in opposite directions
can then only hold for the same hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rheos.algebra.nodes import AllenJoin, AllenRelation
from rheos.algebra.variables import certain
from rheos.sql.conditions import all_of
from rheos.sql.context import Context
from rheos.sql.joins import Pair
from rheos.sql.patterns import Compiler
from rheos.sql.relation import OCCURRENCE, Relation, nested, select

STARTING, ENDING = OCCURRENCE

# A time on the left is before one on the right, or the other way round: columns of left and right, and
# whether the left one is the earlier. Together they hold only for sides with the same hash.
_ORDERED: dict[AllenRelation, tuple[tuple[str, str, bool], ...]] = {
    "OVERLAPS": ((STARTING, STARTING, True), (ENDING, STARTING, False)),
    "DURING": ((STARTING, STARTING, False), (ENDING, ENDING, True)),
    "STARTS": ((ENDING, ENDING, True),),
    "FINISHES": ((STARTING, STARTING, False),),
}
# The time that both sides have in common.
_COMMON: dict[AllenRelation, str] = {"STARTS": STARTING, "FINISHES": ENDING}
# Which sides must last for some time: an instant on the other one is never so related to it.
_LASTING: dict[AllenRelation, tuple[bool, bool]] = {
    "MEETS": (True, True),
    "OVERLAPS": (True, True),
    "DURING": (False, True),
    "STARTS": (False, True),
    "FINISHES": (False, True),
}


def allen_join(node: AllenJoin, context: Context, compiler: Compiler) -> Relation:
    """The join of two sides that both occur."""
    relation = node.relation
    left, right = (
        _lasting(compiler.node(side, context), compiler) if lasts else compiler.node(side, context)
        for side, lasts in zip((node.left, node.right), _LASTING[relation], strict=True)
    )
    pair = Pair.of(left, right, context, compiler)
    first, second = pair.left_alias, pair.right_alias
    compatible = pair.conditions()
    if relation == "MEETS":
        conditions = [f"{first}.{ENDING} = {second}.{STARTING}", *compatible]
    else:
        common = _COMMON.get(relation)
        equal = _equal(pair) + ([] if common is None else [common])
        if equal:
            pair = replace(pair, left=_placed(left, equal, compiler), right=_placed(right, equal, compiler))
            compatible += [] if common is None else [f"{first}.{common} = {second}.{common}"]
        conditions = [_ordered(pair, *times, placed=bool(equal)) for times in _ORDERED[relation]]
        if common is not None:
            one, other = (first, second) if relation == "FINISHES" else (second, first)
            conditions.append(f"{one}.place <= {other}.place")
        if relation == "OVERLAPS":
            conditions.append(f"{first}.{ENDING} < {second}.{ENDING}")
        if compatible:
            # Told as it is, an equality would be what DuckDB joins by.
            conditions.append(f"CASE WHEN {all_of(compatible)} THEN TRUE ELSE FALSE END")
    sql = select(pair.columns(), pair.source("JOIN", conditions))
    valid = left.valid or right.valid
    return Relation(sql, pair.variables, certain(node), pair.keys, valid=valid, occurs=True, late=pair.late)


def _lasting(relation: Relation, compiler: Compiler) -> Relation:
    """Those of some solutions that are no instants."""
    rows = compiler.fresh("r")
    columns = [f"{rows}.{column}" for column in relation.carried]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    lasting = f"{rows}.{STARTING} < {rows}.{ENDING}"
    return relation.unsorted(select(columns, nested(relation.sql, rows), [lasting]))


def _equal(pair: Pair) -> list[str]:
    """The columns that must be equal on both sides, and never are NULL."""
    keys = [key.column for key in pair.left.keys if key in pair.right.keys and not key.nullable]
    sure = pair.left.certain & pair.right.certain
    return keys + [pair.compiler.column(name) for name in pair.shared if name in sure]


def _placed(relation: Relation, equal: Sequence[str], compiler: Compiler) -> Relation:
    """Solutions with the place of their hash among all times: so far apart that none of one place is among
    those of the next."""
    rows = compiler.fresh("r")
    columns = [f"{rows}.{column}" for column in relation.carried]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    place = compiler.dialect.far_apart([f"{rows}.{column}" for column in equal])
    return relation.unsorted(select([*columns, f"{place} AS place"], nested(relation.sql, rows)))


def _ordered(pair: Pair, left: str, right: str, earlier: bool, *, placed: bool) -> str:
    sides = ((pair.left_alias, left), (pair.right_alias, right))
    one, other = (f"{alias}.place + {alias}.{time}" if placed else f"{alias}.{time}" for alias, time in sides)
    return f"{one} < {other}" if earlier else f"{other} < {one}"
