"""Features of the lab's systems: symbol pairs (Tangent-S) and mathtuples (MathDowers' L8), from trees of this package."""

from __future__ import annotations

from porism.formula.tree import Node

ANCHORS = frozenset((":=", *"<=>≠≤≥∝∼≅≈≡→↔↦⇒⇔⟹⊂⊆⊈"))
# Children are visited in this order; it differs from the tree's in the place of `c`.
_ORDER = "nabcoudwe"
_WRITTEN = {
    ",": "comma",
    "<": "lt",
    ">": "gt",
    "*": "ast",
    "(": "lparen",
    ")": "rparen",
    "[": "lsqb",
    "]": "rsqb",
    "{": "lbrace",
    "}": "rbrace",
    "#": "num",
    "?": "quest",
    '"': "quot",
    "'": "apos",
    "/": "/",
    "\\": "setminus",
}
MAX_DEPTH = 100


def mathtuples(layout: Node, window: int = 8) -> list[str]:
    """The L8 tokens of a layout tree, enclosed by `#(start)#` and `#(end)#`; with window 1 no token has a location ("L1").

    Pairs `(x,y,edge)`, terminals `(x,!0)`, compounds `(x,[edges])`, duplicates `{x,p}` and `{?v,p}`, then each again with its place.
    """
    tokens = ["#(start)#"]
    seen: list[tuple[str, str, str]] = []
    # A stack instead of recursion, since rows are long. The last child is visited first: backwards, that is post-order.
    stack: list[tuple[Node, str, int]] = [(layout, "", 0)]
    while stack:
        node, path, depth = stack.pop()
        label = written(node.label)
        seen.append((node.label, label, path))
        place = _coded(path) if len(path) < window - 1 else ""
        edges = node.edges
        if not edges or depth >= MAX_DEPTH:
            _say(tokens, f"{label},!0", place)
            continue
        children = node.children
        if "c" in edges:
            pairs = sorted(zip(edges, children, strict=True), key=lambda pair: _ORDER.index(pair[0]))
            edges, children = "".join([edge for edge, _ in pairs]), [child for _, child in pairs]
        if len(edges) > 1:
            _say(tokens, f"{label},[{','.join(edges)}]", place)
        anchor = node.label in ANCHORS
        for edge, child in zip(edges, children, strict=True):
            _say(tokens, f"{label},{written(child.label)},{edge}", place)
            stack.append((child, "" if anchor else path + edge, depth + 1))
    _duplicates(tokens, seen, window)
    tokens.append("#(end)#")
    return tokens


def _say(tokens: list[str], body: str, place: str) -> None:
    """What a node says of itself, and the same with its place where that is near enough."""
    tokens.append(f"({body})")
    if place:
        tokens.append(f"({body},{place})")


def _duplicates(tokens: list[str], seen: list[tuple[str, str, str]], window: int) -> None:
    """A label that comes again, nodes taken in post-order: the last occurrence makes a pair with this one."""
    last: dict[str, str] = {}
    for kind, label, path in reversed(seen):
        before = last.get(label)
        last[label] = path
        if before is None:
            continue
        common = len(path) if before.startswith(path) else _shared(before, path)
        paths = _coded(before[common:])
        if common < len(path):
            paths += "," + _coded(path[common:])
        place = _coded(path[:common]) if common < window - 1 else ""
        wildcard = kind[0].lower() if kind[1:2] == "!" else "o"
        for body in (f"{label},{paths}", f"?{wildcard},{paths}"):
            tokens.append(f"{{{body}}}")
            if place:
                tokens.append(f"{{{body},{place}}}")


def _shared(one: str, other: str) -> int:
    """How long the common beginning is."""
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common


def _coded(path: str) -> str:
    """A path as written: `-` when empty, runs counted when longer than five."""
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
    """A label as a token writes it: lower case, no blanks, no marks of the notation; fractions `f!`, roots `r!`."""
    found = _labels.get(label)
    if found is None:
        if len(_labels) > 50_000:
            _labels.clear()
        found = _labels[label] = _write(label)
    return found


def _write(label: str) -> str:
    if label == "O!divide":
        return "f!"
    if label == "O!root":
        return "r!"
    kind, text = (label[:2], label[2:]) if label[1:2] == "!" else ("", label)
    if kind == "M!":
        return label.lower().replace(" ", "")
    text = "".join(_WRITTEN.get(char, char) for char in text if not char.isspace())
    return (kind + text).lower()


def symbol_pairs(tree: Node, window: int = 4, ends: bool = True) -> list[tuple[str, str, str]]:
    """Pairs (label, label, path) of a node and each node at most `window` edges below it, in pre-order.

    Works on both trees. With `ends` also (label, `0!`, `n`) for the last node of a row, (label, `0!`, `0`) for a leaf of an operator
    tree. Operands are numbered 0-9A-Za-z.
    """
    pairs: list[tuple[str, str, str]] = []
    for node in tree.walk():
        stack = [(node, "")]
        while stack:
            below, path = stack.pop()
            if path:
                pairs.append((node.label, below.label, path))
            if len(path) < window:
                stack.extend((child, path + edge) for edge, child in reversed(_children(below)))
        if ends:
            pairs.extend(_end(node, tree))
    return pairs


def _end(node: Node, tree: Node) -> list[tuple[str, str, str]]:
    if tree.edges or not tree.children:
        return [] if "n" in node.edges else [(node.label, "0!", "n")]
    return [] if node.children else [(node.label, "0!", "0")]


_OPERANDS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _children(node: Node) -> list[tuple[str, Node]]:
    if node.edges:
        return list(zip(node.edges, node.children, strict=True))
    return list(zip(_OPERANDS, node.children, strict=False))
