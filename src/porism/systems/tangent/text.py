"""The text format of operator trees in Tangent-S: `[label,0[...],1[...]]`. Layout trees have theirs in `porism.formula`."""

from __future__ import annotations

from porism.formula.layout.tangent import unescape
from porism.formula.tree import Node


def read_operators(text: str) -> Node:
    """Read an operator tree. Raise ValueError for any other text."""
    root = Node("")
    stack = [root]
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = at + 1
            while end < len(text) and (text[end] not in "[]," or (text[end] == "," and end == at + 1)):
                end += 1
            node = Node(unescape(text[at + 1 : end]))
            stack[-1].children.append(node)
            stack.append(node)
            at = end
        elif text[at] == "," and len(stack) > 1 and text[at + 2 : at + 3] == "[":
            at += 2
        elif text[at] == "]" and len(stack) > 1:
            stack.pop()
            at += 1
        else:
            raise ValueError(f"not an operator tree: {text[at]!r} at {at}")
    if len(stack) != 1 or len(root.children) != 1:
        raise ValueError("not an operator tree: brackets do not match")
    return root.children[0]
