"""The query formula of a topic as trees, in the same reading as the collection's formulas."""

from __future__ import annotations

from porism.corpus.content import Content
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.binary import Trees
from porism.records import TopicFormula
from porism.search.query import ReadQuery
from porism.systems.queries.topic_query import query_formula


def reads_official(content: Content) -> bool:
    """Return whether the trees of a collection were read from official MathML; those of queries then are, too."""
    return bool(content.facts["options"].get("trees") == "official")


def searched_formula(query: ReadQuery, official: bool) -> Parsed | None:
    """Return the formula that a query searches for: that of the topic, or the first one."""
    if query.topic is None:
        return query.formulas[0].parsed if query.formulas else None
    formula = query_formula(query)
    return None if formula is None else parse_formula(formula, official)


def largest_formula(query: ReadQuery, official: bool) -> Parsed | None:
    """Return the formula with the largest layout tree: of the title if it has formulas, else of the body. Of equal ones the first."""
    if query.topic is None:
        titled = [one.parsed for one in query.formulas if one.field == "title"]
        parsed = titled or [one.parsed for one in query.formulas]
    else:
        formulas = query.topic.formulas
        titled_formulas = [one for one in formulas if one.field == "title"]
        parsed = [parse_formula(one, official) for one in titled_formulas or formulas]
    return max(parsed, key=lambda one: one.layout.size(), default=None)


def parse_formula(formula: TopicFormula, official: bool) -> Parsed:
    """Parse a topic formula from its official MathML where the collection's were, else from LaTeX."""
    if official and formula.mathml:
        return parse_mathml(formula.mathml, formula.latex, formula.content)
    return parse(formula.latex, wildcards=True)


def trees_of(parsed: Parsed) -> Trees:
    """Return both trees of a parsed formula."""
    return Trees(parsed.layout, parsed.operators)
