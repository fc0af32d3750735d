"""Queries of MathDowers: the tuples of a topic's formulas, then its mathematical words; repetitions stay and count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from porism.records import Topic, TopicFormula
from porism.systems.mathdowers.keywords import WordLists, keywords
from porism.systems.mathdowers.tuples import L8_SEARCH, TupleRules, math_tokens
from porism.systems.queries.topic_query import presentation
from porism.text.delimiters import math_spans

Field = Literal["title", "question"]
_FIELDS: tuple[Field, ...] = ("title", "question")
_ALTERNATIVE = re.compile(r'alttext="(.+?)"', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LATEX_WORD_BREAK = re.compile(r"[\W_]+")
SHORTEST_LATEX_WORD = 3

_TIMES = "<mo>\u2062</mo>"
# The organisers converted some LaTeX with `&lt;` in it, which became the letters of `lt` between an ampersand and a semicolon.
_DOUBLE_ESCAPE = re.compile(
    rf'{_TIMES}<mi mathvariant="normal">&amp;</mi>{_TIMES}<mi>([lg])(?:</mi>{_TIMES}<mi>)?t</mi></mrow>(</mrow>)?<mo>;</mo>'
)


class PlacedFormula(NamedTuple):
    """A formula of a topic: its MathML and its alternative text (LaTeX), and the range of the field's HTML that it fills. `is_found` is false
    for one that the original did not find in the table of formulas."""

    mathml: str
    alternative: str
    start: int
    end: int
    is_found: bool


def query_tokens(topic: Topic, lists: WordLists, rules: TupleRules = L8_SEARCH) -> list[str]:
    """Return the query of a Task 1 topic: formulas of the title, those of the body that are more than a character or number, words."""
    tokens: list[str] = []
    words: list[str] = []
    for field in _FIELDS:
        formulas = [formula for formula in placed_formulas(topic, field) if formula.is_found]
        for formula in formulas:
            if field == "title" or not is_trivial(formula.alternative):
                tokens += math_tokens(formula.mathml, rules)
        words += keywords(_text(topic, field, formulas), lists)
    return [*tokens, *words, *keywords(" ".join(topic.tags), lists)]


def placed_formulas(topic: Topic, field: Field) -> Iterator[PlacedFormula]:
    """Yield the formulas of a field in order, with the official MathML where the topic has it."""
    by_id = {formula.id: formula for formula in topic.formulas if formula.id}
    by_latex = {formula.latex: formula for formula in topic.formulas if not formula.id}
    html = topic.title if field == "title" else topic.question
    for span in math_spans(html):
        latex = unescaped(html[span.inner_start : span.inner_end])
        formula = by_id.get(span.id) or by_latex.get(latex) or TopicFormula(span.id, latex)
        yield PlacedFormula(*formula_text(formula), span.inner_start, span.inner_end, _is_found(formula))


def _is_found(formula: TopicFormula) -> bool:
    """Check whether the original finds a formula in the table. One without id in the text must be there in the same LaTeX, blanks included,
    and it looks for brackets without their backslash; else the LaTeX stays in the text as words."""
    if not formula.source or formula.source in (f"${formula.latex}$", f"$${formula.latex}$$"):
        return True
    return unescaped(formula.source).strip("$").replace("\\{", "{").replace("\\}", "}") == formula.latex


def formula_text(formula: TopicFormula) -> tuple[str, str]:
    """Return MathML and alternative text of a formula, whose double escapes are repaired."""
    mathml = repaired(presentation(formula))
    found = _ALTERNATIVE.search(mathml)
    return mathml, unescaped(found[1]) if found else formula.latex if not formula.mathml else ""


def unescaped(text: str) -> str:
    """Return text with the three entities of HTML text decoded."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def repaired(mathml: str) -> str:
    """Return MathML with doubly escaped relation signs repaired; then white space between its elements vanishes, as in the original."""
    compact = mathml.replace("  ", "").replace("> <", "><")
    text = _DOUBLE_ESCAPE.sub(lambda found: f"<mo>&{found[1]}t;</mo></mrow>{found[2] or ''}", compact)
    return mathml if text == compact else text


def is_trivial(alternative: str) -> bool:
    """Check whether a formula of the body is left out: a single character, a number, or (a fault of the original) one with a quotation mark."""
    if len(alternative) < 2 or "&quot;" in alternative or '"' in alternative:
        return True
    try:
        float(alternative)
    except ValueError:
        return False
    return True


def _text(topic: Topic, field: Field, formulas: list[PlacedFormula]) -> str:
    """Return the text of a field from which words are taken: tags are dropped, the characters of formulas stay."""
    html = topic.title if field == "title" else topic.question
    pieces: list[str] = []
    at = 0
    for formula in formulas:
        pieces += (html[at : formula.start], formula.mathml)
        at = formula.end
    return _TAG.sub("", "".join((*pieces, html[at:])))


def formula_query_tokens(formula: TopicFormula, with_latex: bool) -> list[str]:
    """Return the query of a Task 2 topic: the words of the alternative text, if wanted, and the tuples."""
    mathml, alternative = formula_text(formula)
    return [*(latex_words(alternative) if with_latex else ()), *math_tokens(mathml, L8_SEARCH)]


def latex_words(latex: str) -> list[str]:
    """Return the words of LaTeX with at least three characters."""
    return [word for word in _LATEX_WORD_BREAK.split(latex) if len(word) >= SHORTEST_LATEX_WORD]
