"""Math tuples of a layout tree: the L8 tokens of MathDowers (Tangent-L)."""

from __future__ import annotations

from porism.formula.tree import Node

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
    """Return a label as tokens write it: lower case, without blanks and marks of the notation; fractions are `f!`,
    roots `r!`."""
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
