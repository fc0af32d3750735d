"""Tokens of a formula for the three runs of JU_NITS: LaTeX, operator tree, layout tree.

The paper does not define its tokens. Our reading: LaTeX is split into commands, numbers, letters and other characters without blanks and braces; a tree
gives its labels in depth-first order, the edge of a layout tree before the label where it is not `n`.
"""

from __future__ import annotations

import re

from porism.formula.tree import Node

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
