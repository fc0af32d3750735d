r"""A query as text and formulas: LaTeX with delimiters, MathML, HTML of a post, LaTeX without delimiters, ASCII and
Unicode mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from porism.deadline import check
from porism.text.delimiters import mathml_elements
from porism.text.find import formula_matches
from porism.text.markup import unescape
from porism.text.typed.grammar import latex_readings
from porism.text.typed.runs import find_runs

_BRACES = re.compile(r"[{}\s]")
TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")
# Words that name an operator in a formula, and that people also write in words.
_NAMED_OPERATORS = re.compile(
    r"\b(?:integra(?:l|te|ting)|limit|sum|divides|modulo|mod|choose|(?:square|cube) root)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A piece of a query: text, or a formula.

    `source` is what was typed and `latex` the LaTeX of the most usual reading (empty for `mathml`); `others` are other
    readings. A `typed` formula had no delimiters. `words` are words of the formula that are searched as words as
    well."""

    kind: Literal["text", "formula"]
    source: str
    latex: str = ""
    mathml: bool = False
    typed: bool = False
    others: tuple[str, ...] = ()
    words: str = ""


def split_query(text: str, *, typed: bool = True) -> Iterator[QueryPart]:
    """Split a query into text and formulas, in order; without `typed`, only formulas with delimiters are found."""
    at = 0
    for element in mathml_elements(text):
        start = element.opening.start()
        yield from _delimited(text[at:start], typed)
        yield QueryPart("formula", text[start : element.end].strip(), mathml=True)
        at = element.end
    yield from _delimited(text[at:], typed)


def _delimited(text: str, typed: bool) -> Iterator[QueryPart]:
    """Split at formulas with delimiters: the same finder reads posts."""
    at = 0
    for formula in formula_matches(text, "query"):
        yield from _undelimited(text[at : formula.start], typed)
        yield QueryPart("formula", formula.latex, formula.latex)
        at = formula.end
    yield from _undelimited(text[at:], typed)


def _undelimited(text: str, typed: bool) -> Iterator[QueryPart]:
    """Find formulas without delimiters in the text between formulas; tags of pasted HTML are dropped."""
    if TAG.search(text):
        text = TAG.sub(" ", text)
    text = unescape(text)
    at = 0
    for run in find_runs(text) if typed else ():
        check()
        source = text[run.start : run.end]
        readings = (source,) if run.latex else latex_readings(source)
        if not readings or not readings[0]:
            continue
        if run.start > at:
            yield QueryPart("text", text[at : run.start])
        words = source if run.words else " ".join(_NAMED_OPERATORS.findall(source))
        yield QueryPart(
            "formula", source, readings[0], typed=True, others=readings[1:], words="" if run.latex else words
        )
        at = run.end
    if at < len(text):
        yield QueryPart("text", text[at:])


def typed_formula(text: str) -> QueryPart:
    """Return a whole text as one formula: LaTeX if it has commands, otherwise as people type mathematics."""
    readings = (text,) if "\\" in text else latex_readings(text) or (text,)
    return QueryPart("formula", text, readings[0] or text, typed=True, others=readings[1:])


def is_verbatim(source: str, latex: str) -> bool:
    """Return whether LaTeX is what was typed, apart from braces and blanks."""
    return _BRACES.sub("", source) == _BRACES.sub("", latex)
