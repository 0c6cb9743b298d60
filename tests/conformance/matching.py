"""Equality of solutions up to the names of blank nodes: two lists of rows come in, a yes or no goes out.

A row is a tuple of cells: None for unbound, a `Blank`, or any other hashable value that must be the
same on both sides. Blank nodes are matched by colour refinement: each gets a colour from the rows that
it stands in, again and again until no colour splits any more. Then the rows fall apart into those that
are linked by blank nodes, and each such component needs a partner on the other side: where several
blank nodes of a component are left with one colour, one of them is paired with each candidate in turn
(individualisation) and refined again. Being isomorphic is transitive, so the first partner will do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyoxigraph as ox

XSD = "http://www.w3.org/2001/XMLSchema#"
DERIVED_INTEGERS = frozenset(
    XSD + name
    for name in (
        "nonPositiveInteger", "negativeInteger", "long", "int", "short", "byte", "nonNegativeInteger",
        "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "positiveInteger",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Blank:
    label: str


Term = ox.NamedNode | ox.BlankNode | ox.Literal
Cell = Hashable
Row = tuple[Cell, ...]
Key = Callable[[Term], Cell]


# --- cells from terms ----------------------------------------------------------------------------


def exact(term: Term) -> Cell:
    """Terms are the same when all their parts are; language tags without regard to case."""
    match term:
        case ox.BlankNode():
            return Blank(term.value)
        case ox.NamedNode():
            return f"<{term.value}>"
        case ox.Literal():
            if term.language:
                return f'"{term.value}"@{term.language.lower()}'
            return f'"{term.value}"^^<{term.datatype.value}>'
    raise TypeError(f"not a term of RDF 1.1: {term!r}")


def by_value(term: Term) -> Cell:
    """As `exact`, but numbers of one datatype are the same when their values are."""
    if isinstance(term, ox.Literal):
        value = number(term)
        if value is not None:
            return (term.datatype.value, value)
    return exact(term)


def number(literal: ox.Literal) -> Hashable | None:
    """The value of a numeric literal in a form with one spelling; None for any other literal."""
    datatype = literal.datatype.value
    try:
        if datatype == XSD + "integer" or datatype in DERIVED_INTEGERS:
            return int(literal.value)
        if datatype == XSD + "decimal":
            return Decimal(literal.value).normalize() + 0
        if datatype in (XSD + "double", XSD + "float"):
            return repr(float(literal.value) + 0.0)
    except (ValueError, InvalidOperation):
        pass
    return None


# --- rows ----------------------------------------------------------------------------------------


def make_rows(
    solutions: Iterable[Mapping[str, Term]], variables: Sequence[str], key: Key, ordered: bool = False
) -> list[Row]:
    """Rows from solutions; with `ordered` the place in the sequence is one more cell."""
    rows: list[Row] = []
    for index, solution in enumerate(solutions):
        cells = tuple(key(solution[name]) if name in solution else None for name in variables)
        rows.append((index, *cells) if ordered else cells)
    return rows


def same_rows(left: Sequence[Row], right: Sequence[Row], as_sets: bool = False) -> bool:
    """Whether one renaming of the blank nodes of `right` makes the two bags (or sets) of rows equal."""
    if as_sets:
        left, right = list(dict.fromkeys(left)), list(dict.fromkeys(right))
    if len(left) != len(right):
        return False
    ground_left, mixed_left = split(left)
    ground_right, mixed_right = split(right)
    if Counter(ground_left) != Counter(ground_right):
        return False
    sides = (mixed_left, mixed_right)
    colours = refine(sides, (plain_colours(mixed_left), plain_colours(mixed_right)))
    return colours is not None and same_components(sides, colours)


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    ground: list[Row] = []
    mixed: list[Row] = []
    for row in rows:
        (mixed if any(isinstance(cell, Blank) for cell in row) else ground).append(row)
    return ground, mixed


def blanks_of(row: Row) -> list[Blank]:
    return [cell for cell in row if isinstance(cell, Blank)]


Colours = dict[Blank, int]


def plain_colours(rows: list[Row]) -> Colours:
    return {blank: 0 for row in rows for blank in blanks_of(row)}


def same_components(sides: tuple[list[Row], list[Row]], colours: tuple[Colours, Colours]) -> bool:
    """Whether the components of the two sides pair off."""
    waiting: dict[Hashable, list[list[Row]]] = defaultdict(list)
    for component in components(sides[1]):
        waiting[signature(component, colours[1])].append(component)
    for component in components(sides[0]):
        candidates = waiting[signature(component, colours[0])]
        for index, candidate in enumerate(candidates):
            if search((component, candidate), (plain_colours(component), plain_colours(candidate))):
                del candidates[index]
                break
        else:
            return False
    return True


def components(rows: list[Row]) -> list[list[Row]]:
    """The rows in parts that have no blank node in common."""
    parent: dict[Blank, Blank] = {}

    def root(blank: Blank) -> Blank:
        while parent.setdefault(blank, blank) != blank:
            parent[blank] = blank = parent[parent[blank]]
        return blank

    for row in rows:
        first, *others = blanks_of(row)
        for blank in others:
            parent[root(blank)] = root(first)
    parts: dict[Blank, list[Row]] = defaultdict(list)
    for row in rows:
        parts[root(blanks_of(row)[0])].append(row)
    return list(parts.values())


def signature(rows: list[Row], colours: Colours) -> Hashable:
    return frozenset(coloured(rows, colours).items())


def search(sides: tuple[list[Row], list[Row]], colours: tuple[Colours, Colours]) -> bool:
    """Whether two components match, by trying out what the colours leave open."""
    refined = refine(sides, colours)
    if refined is None:
        return False
    left, right = refined
    members: dict[int, tuple[list[Blank], list[Blank]]] = defaultdict(lambda: ([], []))
    for blank, colour in left.items():
        members[colour][0].append(blank)
    for blank, colour in right.items():
        members[colour][1].append(blank)
    open_classes = [pair for pair in members.values() if len(pair[0]) > 1]
    if not open_classes:
        return coloured(sides[0], left) == coloured(sides[1], right)
    chosen, candidates = min(open_classes, key=lambda pair: len(pair[0]))
    fresh = len(left) + len(members)
    return any(
        search(sides, ({**left, chosen[0]: fresh}, {**right, candidate: fresh})) for candidate in candidates
    )


def refine(
    sides: tuple[list[Row], list[Row]], colours: tuple[Colours, Colours]
) -> tuple[Colours, Colours] | None:
    """The coarsest stable colouring of both sides; None as soon as the sides cannot match."""
    left, right = colours
    while True:
        palette: dict[Hashable, int] = {}
        next_left, next_right = (
            recolour(rows, old, palette) for rows, old in zip(sides, (left, right), strict=True)
        )
        if Counter(next_left.values()) != Counter(next_right.values()):
            return None
        if len(set(next_left.values())) == len(set(left.values())):
            return next_left, next_right
        left, right = next_left, next_right


def recolour(rows: list[Row], old: Colours, palette: dict[Hashable, int]) -> Colours:
    seen: dict[Blank, Counter[Hashable]] = {blank: Counter() for blank in old}
    for row in rows:
        painted = paint(row, old)
        for blank in set(blanks_of(row)):
            places = tuple(index for index, cell in enumerate(row) if cell == blank)
            seen[blank][(painted, places)] += 1
    new: Colours = {}
    for blank, views in seen.items():
        signature = (old[blank], frozenset(views.items()))
        new[blank] = palette.setdefault(signature, len(palette))
    return new


def paint(row: Row, colours: Colours) -> Row:
    return tuple(("blank", colours[cell]) if isinstance(cell, Blank) else cell for cell in row)


def coloured(rows: list[Row], colours: Colours) -> Counter[Row]:
    return Counter(paint(row, colours) for row in rows)


# --- differences -----------------------------------------------------------------------------------


def difference(expected: Sequence[Row], actual: Sequence[Row], limit: int = 12) -> str:
    """The rows that only one side has, for reading: blank nodes are all shown as `_:`."""
    left, right = Counter(map(show, expected)), Counter(map(show, actual))
    lines = [f"- {row}" for row in (left - right).elements()][:limit]
    lines += [f"+ {row}" for row in (right - left).elements()][:limit]
    if not lines:
        lines = ["the rows differ only in which blank nodes are the same"]
        lines += [f"- {row!r}" for row in expected[:limit]] + [f"+ {row!r}" for row in actual[:limit]]
    return "\n".join(lines)


def show(row: Row) -> str:
    cells = ("." if cell is None else "_:" if isinstance(cell, Blank) else str(cell) for cell in row)
    return "  ".join(cells).replace(XSD, "xsd:")
