"""The languages of continuous queries: which operator answers a query.

This is the only module that knows all languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rheos.algebra.cqels import ANY_STREAM, translate_cqels
from rheos.algebra.csparql import translate_csparql
from rheos.algebra.entailment import under
from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.nodes import Construct, Select
from rheos.algebra.rspql import translate_rspql
from rheos.algebra.streams import RspqlQuery
from rheos.errors import UnsupportedError
from rheos.optimize import optimize_csparql
from rheos.runtime.cqels.explain import explain_cqels
from rheos.runtime.cqels.operator import CqelsOperator
from rheos.runtime.csparql.explain import explain_csparql
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.epsparql.explain import explain_epsparql
from rheos.runtime.epsparql.operator import EPSparqlOperator
from rheos.runtime.operator import Operator
from rheos.runtime.rspql.explain import explain_rspql
from rheos.runtime.rspql.operator import RspqlOperator
from rheos.syntax import ast


class Understood(NamedTuple):
    """A continuous query: its name, its operator, the variables of its answers, and whether its answers are a
    stream that other queries can read."""

    name: str
    operator: Operator
    variables: tuple[str, ...]
    makes_stream: bool


def understand(
    tree: ast.Query, name: str, base: str, streams: Sequence[str], entailment: str, *, view: bool = False
) -> Understood:
    """The operator of a query. `name` is the name of a query whose text gives none; `streams` are the IRIs of
    the existing streams. A `view` shows what its windows hold now."""
    if view and (tree.dialect in ("epsparql", "rspql") or tree.stream_patterns):
        raise UnsupportedError("a view is a query of C-SPARQL", tree.text, tree.position)
    if tree.dialect == "epsparql":
        detecting = under(translate_epsparql(tree, name, base), entailment)
        form = detecting.query.form
        # A CONSTRUCT is a rule: other queries can read the triples that it makes, even if it registers no
        # stream.
        makes = detecting.makes_stream or isinstance(form, Construct)
        variables = form.variables if isinstance(form, Select) else ()
        return Understood(detecting.name, EPSparqlOperator.of(detecting, tree.text), variables, makes)
    if tree.stream_patterns:
        arriving = under(translate_cqels(tree, name, base, streams), entailment)
        asked = arriving.query.form
        variables = asked.variables if isinstance(asked, Select) else ()
        return Understood(arriving.name, CqelsOperator.of(arriving), variables, arriving.makes_stream)
    if tree.dialect == "rspql":
        windowed = optimize_csparql(_under_its_own(translate_rspql(tree, name, base), entailment))
        looking = RspqlOperator.of(windowed)
        variables = looking.columns if isinstance(windowed.query.form, Select) else ()
        return Understood(windowed.name, looking, variables, windowed.makes_stream)
    continuous = optimize_csparql(under(translate_csparql(tree, name, base), entailment))
    operator = CSparqlOperator.of(continuous, view=view)
    if operator.query.estimates and operator.derivations is not None:
        sample = next(clause.sample for clause in tree.streams if clause.sample is not None)
        message = "an element may entail several triples, so that a SAMPLE of these is not known to be one"
        raise UnsupportedError(message, tree.text, sample.position)
    variables = operator.columns if isinstance(continuous.query.form, Select) else ()
    return Understood(continuous.name, operator, variables, continuous.makes_stream)


def explain(tree: ast.Query, base: str, streams: Sequence[str], entailment: str) -> dict[str, str]:
    """The parts of the explanation of a query, by their titles."""
    if tree.dialect == "epsparql":
        return explain_epsparql(under(translate_epsparql(tree, "query", base), entailment))
    if tree.stream_patterns:
        known = streams or [ANY_STREAM]
        return explain_cqels(under(translate_cqels(tree, "query", base, known), entailment))
    if tree.dialect == "rspql":
        return explain_rspql(_under_its_own(translate_rspql(tree, "query", base), entailment))
    return explain_csparql(under(translate_csparql(tree, "query", base), entailment))


def _under_its_own(query: RspqlQuery, entailment: str) -> RspqlQuery:
    """A query under the entailment that its text asks for or, if it asks for none, under the given one."""
    return under(query, query.entailment or entailment)
