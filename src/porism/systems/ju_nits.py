"""The three runs of JU_NITS as a part: cosine of token counts weighted by idf, over an inverted index of formulas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import numpy as np

from porism.formula import Parsed
from porism.formula.binary import Trees
from porism.formula.tree import Node
from porism.records import Explanation
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Floats
from porism.systems.declared.context import SystemContext
from porism.systems.inverted import InvertedIndex, TokenDocument, kept_index
from porism.systems.tangent.trees import TreeRetriever, reads_official, trees_of, visual_trees

_LATEX = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s{}]")
_SPACING = frozenset((r"\,", r"\;", r"\!", r"\:", r"\ ", r"\quad", r"\qquad", r"\left", r"\right"))


def latex_tokens(latex: str) -> list[str]:
    """Return the tokens of LaTeX source, without braces and spacing."""
    return [token for token in _LATEX.findall(latex) if token not in _SPACING]


def operator_tokens(root: Node) -> list[str]:
    """Return the labels of an operator tree, depth first."""
    return [_plain(node.label) for node in root.walk()]


def layout_tokens(root: Node) -> list[str]:
    """Return the labels of a layout tree, depth first, each after its edge unless it is the next on the baseline."""
    tokens: list[str] = []
    stack = [("", root)]
    while stack:
        edge, node = stack.pop()
        label = _plain(node.label)
        tokens.append(label if edge in ("", "n") else f"{edge}:{label}")
        stack.extend(reversed(list(zip(node.edges, node.children, strict=True))))
    return tokens


def _plain(label: str) -> str:
    return " ".join(label.split())


Tokens = Literal["latex", "operators", "layout"]


def formula_tokens(context: SystemContext, tokens: Tokens = "latex", idf: bool = True) -> Retriever:
    """Find formulas by the cosine of tokens: of LaTeX, of the operator tree, or of the layout tree."""

    def documents() -> Iterator[TokenDocument]:
        for visual_id, trees, latex in visual_trees(context.content):
            yield TokenDocument(visual_id, tokens_of(tokens, latex, trees))

    index = kept_index(context, f"formula-tokens-{tokens}", None, documents, (__name__,))
    return TokenSearch(index, tokens, idf, reads_official(context.content))


def tokens_of(kind: Tokens, latex: str, trees: Trees) -> list[str]:
    """Return the tokens of a formula."""
    if kind == "latex":
        return latex_tokens(latex)
    return operator_tokens(trees.operators) if kind == "operators" else layout_tokens(trees.layout)


class TokenSearch(TreeRetriever):
    """Formulas by the cosine of token vectors."""

    def __init__(self, index: InvertedIndex, kind: Tokens, idf: bool, official: bool) -> None:
        super().__init__(official)
        self._index, self._kind = index, kind
        size, known = len(index.ids), np.maximum(index.frequencies, 1)
        self._weights: Floats = 1.0 + np.log(size / known) if idf and size else np.ones(len(known))
        squares = np.zeros(size)
        owners = np.repeat(self._weights, index.frequencies) * index.counts
        np.add.at(squares, index.documents, owners**2)
        self._lengths = np.sqrt(squares)

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return the formulas with a token of the query."""
        scores = self._index.scores(self._query(formula), lambda index, postings: postings.counts.astype(np.float64))
        scores /= np.maximum(self._lengths, 1e-12)
        found = np.flatnonzero(scores)
        return Ranking.sorted(self._index.ids[found], scores[found])

    def _query(self, formula: Parsed) -> dict[str, float]:
        """Return the factor of each token's count: query count times squared idf, divided by the query's length."""
        counts = Counter(tokens_of(self._kind, formula.latex, trees_of(formula)))
        known = {token: count for token, count in counts.items() if token in self._index.codes}
        weights = {token: float(self._weights[self._index.codes[token]]) for token in known}
        unknown = sum(count**2 for token, count in counts.items() if token not in known)
        length = np.sqrt(unknown + sum((count * weights[token]) ** 2 for token, count in known.items()))
        return {token: count * weights[token] ** 2 / max(float(length), 1e-12) for token, count in known.items()}

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return what each token adds to the cosine."""
        rows = np.flatnonzero(self._index.ids == id)
        parts = []
        for token, weight in self._query(formula).items():
            postings = self._index.postings(token)
            at = np.flatnonzero(np.isin(postings.documents, rows))
            if len(at):
                value = weight * float(postings.counts[at[0]]) / max(float(self._lengths[rows[0]]), 1e-12)
                parts.append(Explanation(value, f"token {token}"))
        return Explanation.total("cosine of token vectors", parts) if len(rows) else None
