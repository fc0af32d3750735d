"""The text format of layout trees in Tangent-S: `[label next ,edge[...]]`."""

from __future__ import annotations

import re

from porism.formula.tree import Node, attach

_ESCAPES = {"?": "&quest;", ",": "&comma;", "[": "&lsqb;", "]": "&rsqb;"}
_ESCAPE = re.compile(r"[?,\[\]]")
_UNESCAPE = re.compile("|".join(_ESCAPES.values()))
_BACK = {value: key for key, value in _ESCAPES.items()}


def tangent(node: Node) -> str:
    """Write a layout tree as one line: x² is `[V!x,a[N!2]]`."""
    out: list[str] = []
    stack: list[Node | str] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        label = item.label
        begun = _begun.get(label)
        out.append(_begin(label) if begun is None else begun)
        children = item.children
        if not children:
            out.append("]")
            continue
        stack.append("]")
        edges = item.edges
        for at in range(len(children) - 1, -1, -1):
            stack.append(children[at])
            edge = edges[at]
            if edge != "n":
                stack.append("," + edge)
    return "".join(out)


_begun: dict[str, str] = {}  # labels with a bracket before them, escaped: most formulas have only labels that are known
_MAX_BEGUN = 50_000


def _begin(label: str) -> str:
    if len(_begun) > _MAX_BEGUN:
        _begun.clear()
    found = _begun[label] = "[" + escape(label)
    return found


def from_tangent(text: str) -> Node:
    """Read a layout tree that `tangent` wrote. Raise ValueError for any other text."""
    root = Node("")
    stack = [(root, "w")]
    at = 0
    while at < len(text):
        char = text[at]
        if char == "[":
            end = at + 1
            while end < len(text) and text[end] not in "[],":
                end += 1
            node = Node(unescape(text[at + 1 : end]))
            parent, edge = stack[-1]
            attach(parent, edge, node)
            stack.append((node, "n"))
            at = end
        elif char == "," and len(stack) > 1 and text[at + 1 : at + 2] in tuple("aboucdwe"):
            stack[-1] = (stack[-1][0], text[at + 1])
            at += 2
        elif char == "]" and len(stack) > 1:
            stack.pop()
            at += 1
        else:
            raise ValueError(f"not a layout tree: {char!r} at {at}")
    if len(stack) != 1 or len(root.children) != 1:
        raise ValueError("not a layout tree: brackets do not match")
    return root.children[0]


def escape(label: str) -> str:
    """Escape a label: the marks of the notation become entities; a wildcard keeps its question mark."""
    if label[:1] == "?" and len(label) > 1:
        return "?" + _ESCAPE.sub(lambda found: _ESCAPES[found[0]], label[1:])
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], label)


def unescape(text: str) -> str:
    """Return the label of an escaped one."""
    return _UNESCAPE.sub(lambda found: _BACK[found[0]], text)
