"""Opaque trees: a formula that cannot be parsed stays searchable by its tokens."""

from __future__ import annotations

import html
import re

from porism.formula.layout.labels import token_labels
from porism.formula.tree import Node, attach, chain

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s{}\x00-\x1f]")
MAX_TOKENS = 500


def opaque_tree(latex: str) -> Node:
    """Return an `E!` node that contains the tokens of a formula (at most 500) as a row."""
    node = Node("E!", places=(1,))
    row = []
    for found in _TOKEN.finditer(latex):
        token = found[0]
        if token[0] == "\\":
            row.append(Node(token, places=(1,)))
        else:
            row.extend(Node(label, places=(1,)) for label in token_labels("mi", html.escape(token)))
        if len(row) == MAX_TOKENS:
            break
    if row:
        attach(node, "w", chain(row))
    return node
