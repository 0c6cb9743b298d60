"""Allen's relations as joins: two sides come in, the pairs whose intervals are so related go out.

All relations but MEETS compare times by inequalities. DuckDB can join by two inequalities in one pass over
both sorted sides (IEJoin). But if the condition also has an equality, DuckDB joins by the equality alone and
then compares all rows that agree in pairs: 400 million pairs for 20,000 intervals of one subject. So the
columns that must be equal become part of the times: their hash is added above the times, like the higher
digits of a number. Two inequalities in opposite directions then hold only for rows with the same hash.
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

# The inequalities of each relation: a time on the left, a time on the right, and whether the left time is the
# earlier one. All inequalities of a relation together hold only for sides with the same hash.
_ORDERED: dict[AllenRelation, tuple[tuple[str, str, bool], ...]] = {
    "OVERLAPS": ((STARTING, STARTING, True), (ENDING, STARTING, False)),
    "DURING": ((STARTING, STARTING, False), (ENDING, ENDING, True)),
    "STARTS": ((ENDING, ENDING, True),),
    "FINISHES": ((STARTING, STARTING, False),),
}
# The time that must be equal on both sides.
_COMMON: dict[AllenRelation, str] = {"STARTS": STARTING, "FINISHES": ENDING}
# Which sides (left, right) must last longer than an instant for the relation to hold.
_LASTING: dict[AllenRelation, tuple[bool, bool]] = {
    "MEETS": (True, True),
    "OVERLAPS": (True, True),
    "DURING": (False, True),
    "STARTS": (False, True),
    "FINISHES": (False, True),
}


def allen_join(node: AllenJoin, context: Context, compiler: Compiler) -> Relation:
    """The join of two sides whose solutions have intervals."""
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
            # If DuckDB saw an equality, it would join by that. CASE hides it.
            conditions.append(f"CASE WHEN {all_of(compatible)} THEN TRUE ELSE FALSE END")
    sql = select(pair.columns(), pair.source("JOIN", conditions))
    valid = left.valid or right.valid
    return Relation(sql, pair.variables, certain(node), pair.keys, valid=valid, occurs=True, late=pair.late)


def _lasting(relation: Relation, compiler: Compiler) -> Relation:
    """The solutions that last longer than an instant."""
    rows = compiler.fresh("r")
    columns = [f"{rows}.{column}" for column in relation.carried]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    lasting = f"{rows}.{STARTING} < {rows}.{ENDING}"
    return relation.unsorted(select(columns, nested(relation.sql, rows), [lasting]))


def _equal(pair: Pair) -> list[str]:
    """The columns that must be equal on both sides and are never NULL."""
    keys = [key.column for key in pair.left.keys if key in pair.right.keys and not key.nullable]
    sure = pair.left.certain & pair.right.certain
    return keys + [pair.compiler.column(name) for name in pair.shared if name in sure]


def _placed(relation: Relation, equal: Sequence[str], compiler: Compiler) -> Relation:
    """Solutions with a column `place`, the hash of the equal columns as an offset for times.

    The offsets of two hashes are farther apart than any two times.
    """
    rows = compiler.fresh("r")
    columns = [f"{rows}.{column}" for column in relation.carried]
    columns += [f"{rows}.{compiler.column(name)}" for name in relation.variables]
    place = compiler.dialect.far_apart([f"{rows}.{column}" for column in equal])
    return relation.unsorted(select([*columns, f"{place} AS place"], nested(relation.sql, rows)))


def _ordered(pair: Pair, left: str, right: str, earlier: bool, *, placed: bool) -> str:
    sides = ((pair.left_alias, left), (pair.right_alias, right))
    one, other = (f"{alias}.place + {alias}.{time}" if placed else f"{alias}.{time}" for alias, time in sides)
    return f"{one} < {other}" if earlier else f"{other} < {one}"
