"""The rules about SAMPLE: for which queries an answer from a sample can be scaled to the whole stream.

Each solution must have exactly one element of the sample, and the error of each aggregate must be computable.
"""

from __future__ import annotations

from rheos.syntax import ast
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault

SCALED = ("COUNT", "SUM", "AVG")
# The variable with the error of an aggregate has the name of the aggregate's variable and this suffix.
ERROR = "_error"


def check_sample(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the answer of a query with SAMPLE could not be scaled."""
    samples = [clause.sample for clause in query.streams if clause.sample is not None]
    if not samples:
        return
    sample, form = samples[0], query.form
    if len(query.streams) > 1:
        raise Fault("a query with SAMPLE reads one stream", sample.position)
    if not isinstance(query.streams[0].window, ast.LogicalWindow):
        raise Fault("SAMPLE is of a window of time, as in [RANGE 1h STEP 1m] SAMPLE 10%", sample.position)
    if query.operator != "RSTREAM":
        raise Fault(f"{query.operator} compares answers, which are estimates with SAMPLE", sample.position)
    if not isinstance(form, ast.SelectQuery) or form.projection is None or form.modifiers.aggregations:
        raise Fault("SAMPLE is of a SELECT with COUNT, SUM or AVG, as in (COUNT(*) AS ?n)", sample.position)
    if form.distinct or form.reduced:
        raise Fault("SELECT DISTINCT compares answers, which are estimates with SAMPLE", form.position)
    _check_where(form.where)
    _check_aggregates(form, form.projection)


def _check_where(where: ast.Group) -> None:
    triples = [triple for part in where.elements if isinstance(part, ast.Triples) for triple in part.triples]
    for part in where.elements:
        if not isinstance(part, ast.Triples | ast.Filter | ast.Bind):
            raise Fault("with SAMPLE, WHERE has one triple pattern, FILTER and BIND only", part.position)
    exists = [node for node in nodes(where) if isinstance(node, ast.Exists)]
    if exists:
        raise Fault("EXISTS would ask the sample only", exists[0].position)
    if len(triples) != 1:
        where_ = triples[1].position if triples else where.position
        raise Fault("with SAMPLE, WHERE has one triple pattern: a join of samples is no sample", where_)


def _check_aggregates(form: ast.SelectQuery, projection: tuple[ast.Projection, ...]) -> None:
    found = [node for node in nodes(form) if isinstance(node, ast.Aggregate)]
    for aggregate in found:
        if aggregate.name not in SCALED or aggregate.distinct:
            word = f"{aggregate.name}(DISTINCT …)" if aggregate.distinct else aggregate.name
            message = f"{word} of a sample tells nothing of the whole; SAMPLE has COUNT, SUM and AVG"
            raise Fault(message, aggregate.position)
    shown = [item.variable for item in projection if isinstance(item.expression, ast.Aggregate)]
    for item in projection:
        made = () if item.expression is None else nodes(item.expression)
        if not isinstance(item.expression, ast.Aggregate) and any(isinstance(n, ast.Aggregate) for n in made):
            message = "how far it is off is known of COUNT, SUM and AVG, not of what is made from them"
            raise Fault(message, item.position)
    if not shown:
        raise Fault("SAMPLE is of a SELECT with COUNT, SUM or AVG, as in (COUNT(*) AS ?n)", form.position)
    errors = {f"{variable.name}{ERROR}" for variable in shown if variable is not None}
    for node in nodes(form):
        if isinstance(node, ast.Var) and node.name in errors:
            raise Fault(
                f"?{node.name} is how far an estimate may be off; give this another name", node.position
            )
