"""A query, events and background knowledge come in; a set of solutions goes out, each with its interval.

The operators of section 4.2 of the EP-SPARQL paper, with these corrections: the optional part of OPTIONAL may
end together with the mandatory one, the conditions of an optional part see the interval of both together, and
EQUALS also holds for instants.

What matches background knowledge or comes from inline data has no interval; joined with a solution that has
one, it takes that. In the conditions of SEQ, EQUALS and all optional parts a side without an interval always
fits; the functions of an interval fail on it. Paths that repeat, and GRAPH, only see background knowledge.

Which pairs SEQ makes is a matter of the query's policy of *consumption*. Solutions are in order: by end, then
start, then by the terms of their variables as strings, the variables by name, an unbound one first. A side
without an interval takes no part in any choice, and is joined as always. OPTIONALSEQ is not concerned.

- `unrestricted`: all that the definition asks for.
- `recent`: each solution of the right side is joined with one solution of the left side, the last in order of
  those that are compatible with it and end before it starts.
- `chronological`: the solutions of the right side take their turns in order. Each is joined with the first in
  order of those of the left side that are compatible with it, end before it starts, and have not been joined
  by this SEQ before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tests.continuous.arrival_algebra import Quad, aggregated, asked, compatible, matched
from tests.continuous.arrival_query import (
    PREFIX,
    Bind,
    Filter,
    Group,
    Optional,
    Pattern,
    Static,
    Values,
)
from tests.continuous.event_query import (
    DURATION,
    END,
    START,
    As,
    Chain,
    Element,
    EventPrinter,
    Query,
    Run,
    Triples,
    duration_term,
    text,
    time_term,
)
from tests.continuous.expressions import Binding, Evaluator, Expression, Failed

# A triple, the start and the end of its interval.
Event = tuple[str, str, str, int, int]
Interval = tuple[int, int]


@dataclass(frozen=True)
class Solution:
    """A mapping with its interval; with none if no event takes part."""

    key: frozenset[tuple[str, str]]
    interval: Interval | None = None

    @cached_property
    def binding(self) -> Binding:
        return dict(self.key)

    @cached_property
    def names(self) -> Binding:
        """What expressions see: the mapping, and what the paper substitutes."""
        if self.interval is None:
            return self.binding
        start, end = self.interval
        functions = {DURATION: duration_term(end - start), START: time_term(start), END: time_term(end)}
        return {**self.binding, **functions}


Solutions = set[Solution]
Fits = Callable[[Interval, Interval], bool]


def solution(binding: Binding, interval: Interval | None = None) -> Solution:
    return Solution(frozenset(binding.items()), interval)


NOTHING = solution({})

MOST_PAIRS = 100_000


class TooLarge(Exception):
    """More than brute force can do in a reasonable time."""


class CSparqlOperator(Evaluator):
    """Of one query over the events so far. `timeless` tells afterwards whether a mandatory part without an
    interval met an event in its optional part: what such a part gives may change with later events."""

    def __init__(self, events: Iterable[Event], static: tuple[Quad, ...], consumption: str) -> None:
        self.events = tuple(events)
        self.static = static
        self.consumption = consumption
        self.timeless = False
        self.written = ""  # the text of the whole query

    def solutions(self, query: Query) -> Solutions:
        """Of a query or a sub-select, with the variables that it selects."""
        self.written = self.written or text(query)
        found = self.group(query.where)
        for item in query.select:
            if isinstance(item, As):
                found = {self.bound(one, item.expression, item.name) for one in found}
        if query.within is not None:
            found = recent(query, found)
        if not query.select:
            return found
        names = {item if isinstance(item, str) else item.name for item in query.select}
        return {solution({n: t for n, t in one.key if n in names}, one.interval) for one in found}

    def group(self, group: Group) -> Solutions:
        """Filters hold for the whole group, wherever they stand."""
        return {one for one in self.unfiltered(group) if self.passes(filters(group), one.names)}

    def unfiltered(self, group: Group) -> Solutions:
        found = {NOTHING}
        for element in group.elements:
            match element:
                case Filter():
                    pass
                case Optional(inside):
                    found = self.optional(found, self.unfiltered(inside), filters(inside), not_after)
                case Bind(expression, variable):
                    found = {self.bound(one, expression, variable) for one in found}
                case _:
                    found = join(found, self.element(element))
        return found

    def element(self, element: Element) -> Solutions:
        match element:
            case Triples(patterns):
                found = {NOTHING}
                for pattern in patterns:
                    found = join(found, self.matches(pattern))
                return found
            case Static(written):
                return set(map(solution, asked(self.static, f"{PREFIX} SELECT * WHERE {{ {written} }}")))
            case Values(variable, terms):
                return {solution({variable: term}) for term in terms}
            case Chain():
                return self.chain(element)
            case Group():
                return self.group(element)
            case Query():
                return self.solutions(element)
        raise AssertionError(element)

    def matches(self, pattern: Pattern) -> Solutions:
        timed = [(event[:3], (event[3], event[4])) for event in self.events]
        known = [((s, p, o), None) for s, p, o, graph in self.static if not graph]
        return {
            solution(binding, interval)
            for triple, interval in (*timed, *known)
            if (binding := matched(pattern, triple)) is not None
        }

    def chain(self, chain: Chain) -> Solutions:
        first, *others = chain.groups
        found = self.operand(first, chain.within)
        absent: Solutions | None = None
        for place, (operator, group) in enumerate(zip(chain.operators, others, strict=True)):
            match operator:
                case "UNION":
                    found = found | self.operand(group, chain.within)
                case "SEQ NOT":
                    absent = self.group(group)
                case "SEQ" if absent is not None:
                    found = uninterrupted(found, absent, self.operand(group, chain.within))
                    absent = None
                case "SEQ":
                    found = self.sequence(found, self.operand(group, chain.within))
                case _ if operator in ALLEN:
                    found = join(found, self.operand(group, chain.within), ALLEN[operator])
                case "EQUALS":
                    found = join(found, self.operand(group, chain.within), equal)
                case "EQUALSOPTIONAL":
                    found = self.optional(found, *self.option(group, chain.within), equal)
                case "OPTIONALSEQ":
                    # The optional part is on the left. It has conditions of its own if it is one group.
                    options = self.option(first, chain.within) if not place else (found, [])
                    found = self.optional(self.operand(group, chain.within), *options, before)
        if chain.within is not None:
            found = {one for one in found if one.interval and lasts(one.interval) <= chain.within}
        return found

    def operand(self, operand: Group | Run, within: int | None) -> Solutions:
        return self.group(operand) if isinstance(operand, Group) else self.runs(operand, within)

    def option(self, operand: Group | Run, within: int | None) -> tuple[Solutions, list[Expression]]:
        if isinstance(operand, Run):
            return self.runs(operand, within), []
        return self.unfiltered(operand), filters(operand)

    def runs(self, run: Run, within: int | None) -> Solutions:
        """Of the solutions that agree in the variables that are used outside, one after the other."""
        found = self.group(run.group)
        keys = self.used_outside(run)
        groups: dict[frozenset[tuple[str, str]], Solutions] = {}
        for one in found - timeless(found):
            key = frozenset((name, term) for name, term in one.key if name in keys)
            groups.setdefault(key, set()).add(one)
        return {
            ran(run, key, stretch)
            for key, members in groups.items()
            for one in one_after_another(in_order(members))
            for stretch in chosen(run, one, within)
        }

    def used_outside(self, run: Run) -> set[str]:
        inside = f"{EventPrinter().group(run.group)} {' '.join(item.argument for item in run.aggregates)}"
        left = Counter(re.findall(r"\?\w+", self.written)) - Counter(re.findall(r"\?\w+", inside))
        return set(left)

    def optional(
        self, mandatory: Solutions, options: Solutions, conditions: list[Expression], fits: Fits
    ) -> Solutions:
        """Each mandatory solution with the options that fit and satisfy the conditions, or alone."""
        found: Solutions = set()
        for one in mandatory:
            joined = {both for both in join(options, {one}, fits) if self.passes(conditions, both.names)}
            self.timeless |= one.interval is None and any(both.interval for both in joined)
            found |= joined or {one}
        return found

    def sequence(self, left: Solutions, right: Solutions) -> Solutions:
        if self.consumption == "unrestricted":
            return join(left, right, before)
        found = join(timeless(left), right) | join(left, timeless(right))
        unused = in_order(left)
        for one in in_order(right):
            fitting = [other for other in unused if join({other}, {one}, before)]
            if not fitting:
                continue
            chosen = fitting[-1] if self.consumption == "recent" else fitting[0]
            found |= join({chosen}, {one})
            if self.consumption == "chronological":
                unused.remove(chosen)
        return found

    def bound(self, one: Solution, expression: Expression, variable: str) -> Solution:
        assert variable not in one.binding
        try:
            return solution({**one.binding, variable: self.value(expression, one.names)}, one.interval)
        except Failed:
            return one


def filters(group: Group) -> list[Expression]:
    return [element.expression for element in group.elements if isinstance(element, Filter)]


# --- intervals --------------------------------------------------------------------------------------------


def always(one: Interval, other: Interval) -> bool:
    return True


def before(one: Interval, other: Interval) -> bool:
    return one[1] < other[0]


def equal(one: Interval, other: Interval) -> bool:
    return one == other


# Allen's relations between [a, b] and [c, d].
ALLEN: dict[str, Fits] = {
    "BEFORE": before,
    "AFTER": lambda one, other: other[1] < one[0],
    "MEETS": lambda one, other: one[1] == other[0] and one[0] < one[1] and other[0] < other[1],
    "MET BY": lambda one, other: other[1] == one[0] and other[0] < other[1] and one[0] < one[1],
    "OVERLAPS": lambda one, other: one[0] < other[0] < one[1] < other[1],
    "OVERLAPPED BY": lambda one, other: other[0] < one[0] < other[1] < one[1],
    "STARTS": lambda one, other: one[0] == other[0] and one[1] < other[1],
    "STARTED BY": lambda one, other: one[0] == other[0] and other[1] < one[1],
    "DURING": lambda one, other: other[0] < one[0] and one[1] < other[1],
    "CONTAINS": lambda one, other: one[0] < other[0] and other[1] < one[1],
    "FINISHES": lambda one, other: one[1] == other[1] and other[0] < one[0],
    "FINISHED BY": lambda one, other: one[1] == other[1] and one[0] < other[0],
}


def not_after(option: Interval, mandatory: Interval) -> bool:
    return option[1] <= mandatory[1]


def join(left: Iterable[Solution], right: Iterable[Solution], fits: Fits = always) -> Solutions:
    """The combinations of the paper."""
    ones, others = list(left), list(right)
    if len(ones) * len(others) > MOST_PAIRS:
        raise TooLarge
    found: Solutions = set()
    for one in ones:
        for other in others:
            timed = one.interval is not None and other.interval is not None
            if (not timed or fits(one.interval, other.interval)) and compatible(one.binding, other.binding):
                interval = spanning(one.interval, other.interval) if timed else one.interval or other.interval
                found.add(Solution(one.key | other.key, interval))
    return found


def uninterrupted(left: Solutions, absent: Solutions, right: Solutions) -> Solutions:
    """A sequence with nothing compatible in between."""
    found: Solutions = set()
    for one in left:
        for other in right:
            for both in join({one}, {other}, before):
                if not any(
                    compatible(both.binding, between.binding) and lies_between(one, between, other)
                    for between in absent
                ):
                    found.add(both)
    return found


def lies_between(one: Solution, between: Solution, other: Solution) -> bool:
    """What has no interval always does; beside what has none, nothing that has one does."""
    if between.interval is None:
        return True
    if one.interval is None or other.interval is None:
        return False
    return before(one.interval, between.interval) and before(between.interval, other.interval)


def lasts(interval: Interval) -> int:
    return interval[1] - interval[0]


def spanning(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])


def one_after_another(solutions: list[Solution]) -> list[list[Solution]]:
    """The runs of solutions that are in order."""
    found: list[list[Solution]] = []
    for one in solutions:
        if found and before(found[-1][-1].interval, one.interval):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def chosen(run: Run, one: list[Solution], within: int | None) -> Iterator[list[Solution]]:
    """Every stretch that is asked for: those of some length, or those that are part of no longer one."""
    stretches = [one[first:last] for first in range(len(one)) for last in range(first + 1, len(one) + 1)]
    if within is not None:
        stretches = [found for found in stretches if lasts(whole(found)) <= within]
    if run.most is not None:
        yield from (found for found in stretches if run.least <= len(found) <= run.most)
        return
    for found in stretches:
        if not any(set(found) < set(other) for other in stretches):
            yield found


def whole(stretch: list[Solution]) -> Interval:
    first, last = stretch[0].interval, stretch[-1].interval
    assert first is not None
    assert last is not None
    return first[0], last[1]


def ran(run: Run, key: frozenset[tuple[str, str]], stretch: list[Solution]) -> Solution:
    made = dict(key)
    for item in run.aggregates:
        if item.function in ("FIRST", "LAST"):
            end = stretch[0] if item.function == "FIRST" else stretch[-1]
            value = end.binding.get(item.argument)
        else:
            value = aggregated(item, stretch)
        if value is not None:
            made[item.name] = value
    return solution(made, whole(stretch))


def timeless(solutions: Solutions) -> Solutions:
    return {one for one in solutions if one.interval is None}


def in_order(solutions: Solutions) -> list[Solution]:
    """By end, start and terms; those without an interval are left out."""
    names = sorted({name for one in solutions for name in one.binding})

    def order(one: Solution) -> tuple[int, int, list[str]]:
        assert one.interval is not None
        return one.interval[1], one.interval[0], [one.binding.get(name, "") for name in names]

    return sorted(solutions - timeless(solutions), key=order)


# --- aggregates -------------------------------------------------------------------------------------------


def recent(query: Query, solutions: Solutions) -> Solutions:
    """At the end of every solution, the aggregates over those of its group that ended not long before."""
    assert query.within is not None
    found = set()
    timed = solutions - timeless(solutions)
    for one in timed:
        assert one.interval is not None
        end = one.interval[1]
        keys = {name: one.binding[name] for name in query.group_by if name in one.binding}
        members = [
            other
            for other in timed
            if end - query.within < other.interval[1] <= end
            and keys == {name: other.binding[name] for name in query.group_by if name in other.binding}
        ]
        values = {item.name: aggregated(item, members) for item in query.aggregates}
        binding = {**keys, **{name: value for name, value in values.items() if value is not None}}
        found.add(solution(binding, (min(other.interval[0] for other in members), end)))
    return found
