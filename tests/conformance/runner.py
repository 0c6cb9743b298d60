"""One W3C test on one engine: a `Case` and a `Subject` come in, an `Outcome` with a diff goes out."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from .answers import Answer, read_answer, read_csv
from .matching import Key, Row, by_value, difference, exact, make_rows, same_rows
from .subjects import Subject
from .suite import BASE, FOLDER, Case


@dataclass(frozen=True)
class Outcome:
    """Whether a test passed; `note` says what was forgiven, `detail` what differs."""

    passed: bool
    note: str = ""
    detail: str = ""


def run(case: Case, subject: Subject) -> Outcome:
    """The outcome of a test; an exception of the engine is a failure with its last lines as detail."""
    try:
        if case.is_syntax:
            return run_syntax(case, subject)
        load(case, subject)
        if case.type == "CSVResultFormatTest":
            return run_csv(case, subject)
        return compare(case, expected_answer(case), subject.query(case.text, base=case.base))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        message = "\n".join(f"{type(error).__name__} ({where}): {error}".splitlines()[:12])
        return Outcome(False, detail=message[:2000])


def run_syntax(case: Case, subject: Subject) -> Outcome:
    accepted = subject.accepts(case.text, base=case.base)
    if accepted != case.is_negative:
        return Outcome(True)
    return Outcome(False, detail="accepted, but is wrong" if accepted else "refused, but is right")


def load(case: Case, subject: Subject) -> None:
    subject.clear()
    for path in case.data:
        subject.load(FOLDER / path, base=BASE + path)
    for path in case.named_graphs():
        subject.load(FOLDER / path, base=BASE + path, graph=BASE + path)


def expected_answer(case: Case) -> Answer:
    assert case.result is not None
    return read_answer(FOLDER / case.result, BASE + case.result)


def run_csv(case: Case, subject: Subject) -> Outcome:
    assert case.result is not None
    expected = read_csv((FOLDER / case.result).read_bytes().decode())
    return compare(case, expected, read_csv(subject.query_csv(case.text, base=case.base)))


def compare(case: Case, expected: Answer, actual: Answer) -> Outcome:
    if expected.kind != actual.kind:
        return Outcome(False, detail=f"expected {expected.kind}, got {actual.kind}")
    if expected.kind == "ask":
        if expected.boolean == actual.boolean:
            return Outcome(True)
        return Outcome(False, detail=f"expected {expected.boolean}, got {actual.boolean}")
    if expected.kind == "select" and set(expected.variables) != set(actual.variables):
        detail = f"expected the variables {sorted(expected.variables)}, got {sorted(actual.variables)}"
        return Outcome(False, detail=detail)
    ordered = expected.kind == "select" and (case.is_ordered or expected.has_index)
    as_sets = expected.kind == "construct" or case.is_reduced
    if same_rows(cells(expected, exact, ordered), cells(actual, exact, ordered), as_sets):
        return Outcome(True)
    detail = difference(cells(expected, exact, False), cells(actual, exact, False))
    if same_rows(cells(expected, by_value, ordered), cells(actual, by_value, ordered), as_sets):
        return Outcome(True, "by value", detail)
    if ordered and same_rows(cells(expected, by_value, False), cells(actual, by_value, False)):
        return Outcome(False, detail="the right rows in another order\n" + both(expected, actual))
    return Outcome(False, detail=detail)


def cells(answer: Answer, key: Key, ordered: bool) -> list[Row]:
    if answer.kind == "construct":
        return [(key(t.subject), key(t.predicate), key(t.object)) for t in answer.triples]
    return make_rows(answer.rows, sorted(answer.variables), key, ordered)


def both(expected: Answer, actual: Answer) -> str:
    lines = [f"- {row}" for row in cells(expected, exact, True)]
    return "\n".join(lines + [f"+ {row}" for row in cells(actual, exact, True)])
