"""A layout tree as text: the L8 tokens of MathDowers (Tangent-L), and the notation of Tangent-S."""

from __future__ import annotations

import re

from porism.formula.tree import Node, attach

ANCHORS = frozenset((":=", *"<=>≠≤≥∝∼≅≈≡→↔↦⇒⇔⟹⊂⊆⊈"))
# The order in which children are visited; it differs from the order of the tree's edges in the position of `c`.
CHILD_ORDER = "nabcoudwe"
_WRITTEN = {
    ",": "comma", "<": "lt", ">": "gt", "*": "ast", "(": "lparen", ")": "rparen", "[": "lsqb", "]": "rsqb",
    "{": "lbrace", "}": "rbrace", "#": "num", "?": "quest", '"': "quot", "'": "apos", "/": "/", "\\": "setminus",
}  # fmt: skip
MAX_DEPTH = 100
WINDOW = 8  # tokens whose path is shorter by two have a location


def mathtuples(layout: Node, window: int = WINDOW) -> list[str]:
    """Return the L8 tokens of a layout tree, enclosed by `#(start)#` and `#(end)#`. With window 1 no token has a
    location ("L1").

    Pairs `(x,y,edge)`, terminals `(x,!0)`, compounds `(x,[edges])`, duplicates `{x,p}` and `{?v,p}`, then each again
    with its location."""
    tokens = ["#(start)#"]
    seen: list[tuple[str, str, str]] = []
    # A stack instead of recursion, because rows are long. The last child is visited first: read backwards, that is
    # post-order.
    stack: list[tuple[Node, str, int]] = [(layout, "", 0)]
    while stack:
        node, path, depth = stack.pop()
        label = written(node.label)
        seen.append((node.label, label, path))
        location = _coded(path) if len(path) < window - 1 else ""
        edges = node.edges
        if not edges or depth >= MAX_DEPTH:
            _add(tokens, f"{label},!0", location)
            continue
        children = node.children
        if "c" in edges:
            pairs = sorted(zip(edges, children, strict=True), key=lambda pair: CHILD_ORDER.index(pair[0]))
            edges, children = "".join([edge for edge, _ in pairs]), [child for _, child in pairs]
        if len(edges) > 1:
            _add(tokens, f"{label},[{','.join(edges)}]", location)
        anchor = node.label in ANCHORS
        for edge, child in zip(edges, children, strict=True):
            _add(tokens, f"{label},{written(child.label)},{edge}", location)
            stack.append((child, "" if anchor else path + edge, depth + 1))
    _duplicates(tokens, seen, window)
    tokens.append("#(end)#")
    return tokens


def _add(tokens: list[str], body: str, location: str) -> None:
    """Add a token, and the same with its location where that is near enough."""
    tokens.append(f"({body})")
    if location:
        tokens.append(f"({body},{location})")


def _duplicates(tokens: list[str], seen: list[tuple[str, str, str]], window: int) -> None:
    """Add tokens for labels that occur again, nodes in post-order: each occurrence is paired with the one before it."""
    last: dict[str, str] = {}
    for kind, label, path in reversed(seen):
        before = last.get(label)
        last[label] = path
        if before is None:
            continue
        common = len(path) if before.startswith(path) else _common_prefix(before, path)
        paths = _coded(before[common:])
        if common < len(path):
            paths += "," + _coded(path[common:])
        location = _coded(path[:common]) if common < window - 1 else ""
        wildcard = wildcard_kind(kind)
        for body in (f"{label},{paths}", f"?{wildcard},{paths}"):
            tokens.append(f"{{{body}}}")
            if location:
                tokens.append(f"{{{body},{location}}}")


def wildcard_kind(label: str) -> str:
    """Return the letter of the wildcard in place of a label: its type, `o` for operators."""
    return label[0].lower() if label[1:2] == "!" else "o"


def _common_prefix(left: str, right: str) -> int:
    """Return the length of the common prefix."""
    common = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        common += 1
    return common


def _coded(path: str) -> str:
    """Write a path: `-` when empty, run-length coded when longer than five."""
    if not path:
        return "-"
    if len(path) <= 5:
        return path
    out, at = [], 0
    while at < len(path):
        end = at
        while end < len(path) and path[end] == path[at]:
            end += 1
        out.append(f"{end - at}{path[at]}")
        at = end
    return "".join(out)


_labels: dict[str, str] = {}


def written(label: str) -> str:
    """Return a label as tokens write it: lower case, no blanks or marks; fractions `f!`, roots `r!`."""
    found = _labels.get(label)
    if found is None:
        if len(_labels) > 50_000:
            _labels.clear()
        found = _labels[label] = _write(label)
    return found


def _write(label: str) -> str:
    if label in ("O!divide", "O!root"):
        return "f!" if label == "O!divide" else "r!"
    kind, text = (label[:2], label[2:]) if label[1:2] == "!" else ("", label)
    if kind == "M!":
        return label.lower().replace(" ", "")
    text = "".join(_WRITTEN.get(char, char) for char in text if not char.isspace())
    return (kind + text).lower()


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
        begun = _begun.get(item.label)
        if begun is None:
            if len(_begun) > _MAX_BEGUN:
                _begun.clear()
            begun = _begun[item.label] = "[" + escape(item.label)
        out.append(begun)
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
