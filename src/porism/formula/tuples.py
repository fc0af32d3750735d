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
    tokens = _Tuples(window)
    tokens.visit(layout)
    return ["#(start)#", *tokens.found, "#(end)#"]


class _Tuples:
    """Collects tokens on one walk over a tree; a stack instead of recursion, since rows are long."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.found: list[str] = []
        self.last: dict[str, str] = {}

    def visit(self, root: Node) -> None:
        stack: list[tuple[Node, str, int, bool]] = [(root, "", 0, False)]
        single = not root.children
        while stack:
            node, path, depth, done = stack.pop()
            label = written(node.label)
            if done:
                self.duplicate(node, label, path)
                continue
            children = list(zip(node.edges, node.children, strict=True))
            if "c" in node.edges:
                children.sort(key=_rank)
            if depth >= MAX_DEPTH:
                children = []
            self.symbol(label, children, path)
            if single:
                return
            stack.append((node, path, depth, True))
            start = "" if node.label in ANCHORS else path
            for edge, child in reversed(children):
                stack.append((child, _below(node, start, edge), depth + 1, False))

    def symbol(self, label: str, children: list[tuple[str, Node]], path: str) -> None:
        if not children:
            self.emit(f"({label},!0", ")", path)
            return
        if len(children) > 1:
            edges = ",".join(edge for edge, _ in children)
            self.emit(f"({label},[{edges}]", ")", path)
        for edge, child in children:
            self.emit(f"({label},{written(child.label)},{edge}", ")", path)

    def duplicate(self, node: Node, label: str, path: str) -> None:
        """Nodes come here in post-order; the last visited occurrence of the same label makes a pair with this one."""
        before = self.last.get(label)
        self.last[label] = path
        if before is None:
            return
        common = 0
        for one, other in zip(before, path, strict=False):
            if one != other:
                break
            common += 1
        earlier, current, place = before[common:], path[common:], path[:common]
        paths = _coded(earlier) if not current else f"{_coded(earlier)},{_coded(current)}"
        kind = node.label[0].lower() if node.label[1:2] == "!" else "o"
        self.emit(f"{{{label},{paths}", "}", place)
        self.emit(f"{{?{kind},{paths}", "}", place)

    def emit(self, head: str, close: str, path: str) -> None:
        self.found.append(head + close)
        if 1 + len(path) < self.window:
            self.found.append(f"{head},{_coded(path)}{close}")


def _rank(pair: tuple[str, Node]) -> int:
    return _ORDER.index(pair[0])


def _below(node: Node, path: str, edge: str) -> str:
    """The place of a child; below an anchor places start again."""
    return "" if node.label in ANCHORS else path + edge


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
