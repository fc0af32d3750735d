"""Trees of other converters with our labels, and the similarity of two trees."""

from __future__ import annotations

import re
import unicodedata

from lxml import etree

from porism.formula.mathml.content_reader import applied, read_element
from porism.formula.mathml.content_writer import READ
from porism.formula.operators.stack import InfixOperator, nary_node
from porism.formula.operators.table import REL, SYMBOLS
from porism.formula.tree import Node

_PARSER = etree.XMLParser(recover=True, huge_tree=True, remove_comments=True)
_XMLNS = "{http://www.w3.org/1998/Math/MathML}"


def tag(element: etree._Element) -> str:
    return str(etree.QName(element).localname)


def content_tree(text: str) -> Node | None:
    """Read the content tree of parallel markup. Names of concepts become the symbols that they annotate, for all
    converters in the same way."""
    root = etree.fromstring(text.encode(), _PARSER)
    if root is None:
        return None
    shown = {element.get("id"): element for element in root.iter() if element.get("id")}
    for element in root.iter():
        if tag(element) == "annotation-xml" and "Content" in (element.get("encoding") or ""):
            _name_symbols(element, shown)
            return read_element(element)
    return None


def _name_symbols(root: etree._Element, shown: dict[str | None, etree._Element]) -> None:
    for element in list(root.iter()):
        kind = tag(element)
        if kind == "csymbol":
            name = "".join(map(str, element.itertext())).strip()
            target = _single(shown.get(element.get("xref")))
            if name not in READ and target is not None and tag(target) == "mover" and len(target) == 2:
                element.tag = _XMLNS + "apply"
                element.text = None
                for shown_part in (target[1], target[0]):
                    etree.SubElement(element, _XMLNS + "ci").text = "".join(map(str, shown_part.itertext())).strip()
            elif name not in READ and target is not None and tag(target) in ("mi", "mo", "mn", "mtext"):
                element.tag = _XMLNS + "ci"
                element.text = "".join(map(str, target.itertext())).strip()
                for child in list(element):
                    element.remove(child)
        elif kind == "apply" and len(element) > 1:
            _apply_forms(element, shown)


def _apply_forms(element: etree._Element, shown: dict[str | None, etree._Element]) -> None:
    """Rewrite applications that name a concept where other converters keep the notation: indices, sums, derivatives."""
    head = element[0]
    name = "".join(map(str, head.itertext())).strip() if tag(head) == "csymbol" else ""
    if name in ("semantic-sum", "semantic-product") and len(element) >= 3:
        _bounded(element, "sum" if name.endswith("sum") else "product")
    elif name == "diffop" and len(element) == 3:
        head.text = "superscript"
        head.set("cd", "ambiguous")
        element[2].tag = _XMLNS + "ci"
        element[2].text = "′"
    elif name == "derivative":
        head.tag = _XMLNS + "diff"
        head.text = None
    elif name == "partial-derivative":
        head.tag = _XMLNS + "partialdiff"
        head.text = None
    elif ((tag(head) in ("csymbol", "ci", "int", "sum") and name not in READ) or name == "product") and len(
        element
    ) == 2:
        target = _single(shown.get(element.get("xref")))
        shows = "".join(map(str, head.itertext())).strip()
        letter = shows.isalnum() or tag(head) in ("csymbol", "int", "sum")
        if letter and target is not None and tag(target) in ("msub", "msubsup", "munder", "munderover"):
            script = etree.Element(_XMLNS + "csymbol", cd="ambiguous")
            script.text = "subscript"
            element.insert(0, script)


def _bounded(element: etree._Element, name: str) -> None:
    """Rewrite (semantic-sum k 1 n) as the sum sign with bounds below and above."""
    variable, lower, *upper = list(element)[1:]
    for child in list(element):
        element.remove(child)
    scripts = etree.SubElement(element, _XMLNS + "csymbol", cd="ambiguous")
    scripts.text = "superscript" if upper else "subscript"
    inner = etree.SubElement(element, _XMLNS + "apply") if upper else element
    if upper:
        below = etree.SubElement(inner, _XMLNS + "csymbol", cd="ambiguous")
        below.text = "subscript"
    etree.SubElement(inner, _XMLNS + name)
    equal = etree.SubElement(inner, _XMLNS + "apply")
    etree.SubElement(equal, _XMLNS + "eq")
    equal.extend([variable, lower])
    element.extend(upper)


def _single(element: etree._Element | None) -> etree._Element | None:
    while element is not None and tag(element) in ("mrow", "mpadded", "mstyle") and len(element) == 1:
        element = element[0]
    return element


# Speech-rule-engine's semantic tree, as Mathoid stores it in attributes.


def semantic_tree(text: str) -> Node | None:
    """Read the semantic tree that Mathoid (speech-rule-engine) writes into its Presentation MathML."""
    root = etree.fromstring(text.encode(), _PARSER)
    if root is None:
        return None
    nodes = {e.get("data-semantic-id"): e for e in root.iter() if e.get("data-semantic-id")}
    top = [e for e in nodes.values() if e.get("data-semantic-parent") is None]
    return _semantic(top[0], nodes, 0) if top else None


def _semantic(e: etree._Element, nodes: dict[str | None, etree._Element], depth: int) -> Node:
    kind, role = e.get("data-semantic-type") or "", e.get("data-semantic-role") or ""
    if depth > 80:
        return Node("E!fragments")

    def ids(name: str) -> list[etree._Element]:
        return [nodes[i] for i in (e.get(name) or "").split(",") if i in nodes]

    kids = [_semantic(child, nodes, depth + 1) for child in ids("data-semantic-children")]
    if not kids:
        text = " ".join("".join(map(str, e.itertext())).split())
        return _semantic_leaf(kind, _styled(text, e.get("data-semantic-font") or ""))
    marks = ["".join(map(str, mark.itertext())).strip() for mark in ids("data-semantic-content")]
    if role == "binomial" and len(kids) == 2:
        return Node("O!binomial", kids)
    if kind in ("infixop", "multirel", "relseq"):
        return _between(kind, [_operator(mark) for mark in marks], kids)
    if kind in ("prefixop", "postfixop"):
        sign = "O!minus" if kind == "prefixop" else "O!factorial"
        return Node(_operator(marks[0]) if marks else sign, kids)
    if kind == "fenced":
        return _fenced(marks, kids[0])
    made = _construct(kind, kids)
    if made is not None:
        return made
    return Node("O!" + kind, kids) if len(kids) > 1 else kids[0]


def _between(kind: str, labels: list[str], kids: list[Node]) -> Node:
    if kind == "infixop" and set(labels) == {"U!times"}:
        return applied(Node("U!times"), kids)
    if kind == "infixop":
        return nary_node(
            3 if set(labels) - {"U!plus", "O!minus"} else 2, [InfixOperator(label) for label in labels], kids
        )
    return (
        nary_node(REL, [InfixOperator(label) for label in labels], kids)
        if len(labels) == len(kids) - 1
        else Node("E!", kids)
    )


def _construct(kind: str, kids: list[Node]) -> Node | None:
    """Convert nodes whose type alone determines them."""
    simple = {
        "subscript": "O!SUB",
        "matrix": f"M!M-{len(kids)}x{len(kids[0].children)}",
        "row": "M!R!",
        "vector": f"M!M-{len(kids)}x1",
        "cases": "O!cases",
    }
    if kind in simple:
        return Node(simple[kind], kids)
    if kind == "fraction":
        return applied(Node("O!divide"), kids)
    if kind == "subsup" and len(kids) == 3:
        return applied(Node("O!SUP"), [Node("O!SUB", kids[:2]), kids[2]])
    if kind == "superscript" and len(kids) == 2:
        return applied(Node("O!SUP"), kids)
    if kind in ("sqrt", "root"):
        return Node("O!root", [kids[-1], kids[0] if kind == "root" else Node("N!2")])
    if kind in ("appl", "bigop", "integral"):
        return _applied(kind, kids)
    if kind in ("limboth", "limlower", "limupper"):
        scripts = Node("O!SUB", kids[:2]) if kind != "limupper" else Node("O!SUP", kids[:2])
        return Node("O!SUP", [scripts, kids[2]]) if kind == "limboth" and len(kids) > 2 else scripts
    if kind == "punctuated":
        return _punctuated([kid for kid in kids if kid.label not in ("M!L-", "V!⁣", "V!,", "T!", "V!")])
    if kind in ("overscore", "underscore") and len(kids) > 1:
        accent = Node("V!~") if kids[1].label == "O!not" else kids[1]
        return applied(accent, kids[:1]) if accent.label[:2] == "V!" else Node("O!over", kids)
    return None


def _applied(kind: str, kids: list[Node]) -> Node:
    if kind == "integral" and len(kids) == 3:
        by = Node("O!differential-d", kids[2].children[-1:] or [kids[2]])
        kids = [kids[0], Node("U!times", [kids[1], by])]
    arguments = kids[1].children if len(kids) > 1 and kids[1].label[:4] in ("M!L-", "M!V-") else kids[1:]
    return applied(kids[0], list(arguments))


def _punctuated(items: list[Node]) -> Node:
    """Convert a list; older versions read a factorial sign as punctuation."""
    folded: list[Node] = []
    for item in items:
        if item.label == "O!factorial" and not item.children and folded:
            folded[-1] = Node("O!factorial", [folded[-1]])
        else:
            folded.append(item)
    if len(folded) < len(items) and len(folded) > 1:
        return Node("U!times", folded)
    return folded[0] if len(folded) == 1 else Node(f"M!L-{len(folded)}", folded)


def _fenced(marks: list[str], inside: Node) -> Node:
    around = {"|": "F!abs", "∥": "O!norm", "‖": "O!norm", "⌊": "F!floor", "⌈": "F!ceiling"}.get(
        marks[0] if marks else ""
    )
    if around:
        return Node(around, [inside])
    if marks and marks[0] == "{":
        items = inside.children if inside.label[:4] == "M!L-" else [inside]
        return Node(f"M!S-{len(items)}", items)
    if inside.label[:4] == "M!L-":
        label = "O!interval(C-C)" if marks[:1] == ["["] and len(inside.children) == 2 else "M!V" + inside.label[3:]
        return Node(label, inside.children)
    return inside


def _operator(text: str) -> str:
    if text in ("\u2062", ""):
        return "U!times"
    symbol = SYMBOLS.get({"-": "−", "⟺": "⇔"}.get(text, text))
    return symbol.label if symbol is not None else "O!" + text


_FONTS = {
    "bold": "BOLD",
    "script": "SCRIPT",
    "double-struck": "DOUBLE-STRUCK",
    "fraktur": "FRAKTUR",
    "caligraphic": "SCRIPT",
}


def _styled(text: str, font: str) -> str:
    """Return a letter and its font as the single character of our labels."""
    kind = _FONTS.get(font)
    if kind is None or len(text) != 1 or not text.isascii() or not text.isalpha():
        return text
    size = "CAPITAL" if text.isupper() else "SMALL"
    for name in (
        f"MATHEMATICAL {kind} {size} {text.upper()}",
        f"{kind} {size} {text.upper()}",
        f"BLACK-LETTER {size} {text.upper()}",
    ):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return text


def _semantic_leaf(kind: str, text: str) -> Node:
    if kind == "number":
        return Node("N!" + text)
    if kind == "text":
        return Node("T!" + text)
    if re.fullmatch("′+", text):
        return Node("V!" + text)
    symbol = SYMBOLS.get(text) or SYMBOLS.get("V!" + text)
    return Node(symbol.label if symbol is not None else "V!" + text)


def distance(first: Node, second: Node) -> int:
    """Return the tree edit distance of Zhang and Shasha (1989) with unit costs."""
    a, b = _postorder(first), _postorder(second)
    la, lb = a[1], b[1]
    n, m = len(la), len(lb)
    tree = [[0] * m for _ in range(n)]
    for i in a[2]:
        for j in b[2]:
            _subtree(a, b, i, j, tree)
    return tree[n - 1][m - 1]


def _postorder(root: Node) -> tuple[list[str], list[int], list[int]]:
    """Return the labels in post-order, the leftmost leaf of each node, and the key roots."""
    labels: list[str] = []
    left: list[int] = []
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        node, start = stack.pop()
        if start < 0:
            stack.append((node, len(labels)))
            stack.extend((child, -1) for child in reversed(node.children))
        else:
            labels.append(node.label)
            left.append(start)
    last = {start: at for at, start in enumerate(left)}
    return labels, left, sorted(last.values())


def _subtree(
    a: tuple[list[str], list[int], list[int]],
    b: tuple[list[str], list[int], list[int]],
    i: int,
    j: int,
    tree: list[list[int]],
) -> None:
    (al, ll, _), (bl, rl, _) = a, b
    li, lj = ll[i], rl[j]
    m, n = i - li + 2, j - lj + 2
    forest = [[0] * n for _ in range(m)]
    for x in range(1, m):
        forest[x][0] = x
    forest[0] = list(range(n))
    for x in range(1, m):
        ax = li + x - 1
        row, before = forest[x], forest[x - 1]
        for y in range(1, n):
            by = lj + y - 1
            best = min(before[y], row[y - 1]) + 1
            if ll[ax] == li and rl[by] == lj:
                row[y] = min(best, before[y - 1] + (al[ax] != bl[by]))
                tree[ax][by] = row[y]
            else:
                row[y] = min(best, forest[ll[ax] - li][rl[by] - lj] + tree[ax][by])


def similarity(first: Node, second: Node) -> float:
    """Return 1 - edit distance / size of the larger tree: 1 for equal trees, 0 if nothing matches."""
    return 1 - distance(first, second) / max(first.size(), second.size())
