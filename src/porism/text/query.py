r"""Formulas in a query as people type or paste it: `$..$`, `$$..$$`, `\(..\)`, `\[..\]`, MathML, HTML of a post, or LaTeX without delimiters."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from porism.text.bare import split_bare
from porism.text.delimiters import MATHML
from porism.text.find import formula_matches

TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A piece of a query: text, or a formula as it was typed (LaTeX, or `mathml`); a `bare` one had no delimiters."""

    kind: Literal["text", "formula"]
    source: str
    mathml: bool = False
    bare: bool = False


def split_query(text: str) -> Iterator[QueryPart]:
    """Split a query into text and formulas, in order."""
    at = 0
    for match in MATHML.finditer(text):
        yield from _delimited(text[at : match.start()])
        yield QueryPart("formula", match[0].strip(), mathml=True)
        at = match.end()
    yield from _delimited(text[at:])


def _delimited(text: str) -> Iterator[QueryPart]:
    """Split at formulas with delimiters: the same finder reads posts."""
    at = 0
    for formula in formula_matches(text, "query"):
        yield from _undelimited(text[at : formula.start])
        yield QueryPart("formula", formula.latex)
        at = formula.end
    yield from _undelimited(text[at:])


def _undelimited(text: str) -> Iterator[QueryPart]:
    """Find LaTeX without delimiters in the text between formulas; tags of pasted HTML are dropped."""
    if TAG.search(text):
        text = TAG.sub(" ", text)
    for content, formula in split_bare(html.unescape(text)):
        yield QueryPart("formula" if formula else "text", content, bare=formula)
