"""Read Content MathML, of LaTeXML or others, as operator trees."""

from __future__ import annotations

from lxml import etree

from porism.formula.characters import xml_source
from porism.formula.layout.build import MAX_ELEMENTS, TOO_MANY, TooLarge
from porism.formula.layout.labels import token_labels
from porism.formula.mathml.content_operators import BOUNDS, applied, bounded, chained
from porism.formula.mathml.content_writer import ELEMENTARY, READ
from porism.formula.operators.table import SYMBOLS
from porism.formula.tree import Node

_PARSER = etree.XMLParser(recover=True, huge_tree=True, remove_comments=True, remove_pis=True, resolve_entities=False)
_GROUPS = {"vector": "M!V-", "set": "M!S-", "list": "M!L-", "matrixrow": "M!R!"}
_CLOSURES = {
    "open": "O!interval(O-O)",
    "closed": "O!interval(C-C)",
    "open-closed": "O!interval(O-C)",
    "closed-open": "O!interval(C-O)",
}
_PLAIN = {"italic-ϵ": "ϵ", "italic-ϕ": "ϕ", "ℎ": "h"}
MAX_DEPTH = 150


def from_content(text: str) -> Node:
    """Return the operator tree of a Content MathML document, also of one in an annotation or ill-formed. Raise TooLarge for too many symbols."""
    root = etree.fromstring(xml_source(text).encode(), _PARSER)
    if root is None:
        return Node("W!")
    for number, element in enumerate(root.iter()):
        if number > 2 * MAX_ELEMENTS:
            raise TooLarge(TOO_MANY)
        if _tag(element) == "annotation-xml" and "ontent" in (element.get("encoding") or ""):
            root = element
            break
    return read_element(root)


def read_element(root: etree._Element) -> Node:
    """Return the operator tree of a Content MathML element, or of its first child when it is only a wrapper."""
    while _tag(root) in ("math", "semantics", "annotation-xml"):
        inner = [child for child in root if isinstance(child.tag, str)]
        if not inner:
            return Node("W!")
        if _tag(root) != "semantics" and len(inner) > 1:
            return Node(f"M!L-{len(inner)}", [_read(child, 0) for child in inner])
        root = inner[0]
    return _read(root, 0)


def _tag(element: etree._Element) -> str:
    # A prefix without a namespace is part of the name.
    return element.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _read(element: etree._Element, depth: int) -> Node:
    tag = _tag(element)
    if depth > MAX_DEPTH:
        return Node("E!fragments")
    children = [child for child in element if isinstance(child.tag, str)]
    if tag in ("ci", "csymbol", "cn", "mtext", "cs", "mi", "mo", "mn"):
        return _leaf(tag, _text(element), element.get("cd") or "")
    if tag == "apply":
        return _apply(children, depth)
    if tag == "interval":
        label = _CLOSURES.get(element.get("closure") or "closed", "O!interval(C-C)")
        # LaTeXML reads a pair in round brackets as an open interval.
        label = "M!V-2" if label == "O!interval(O-O)" else label
        return Node(label, [_read(child, depth + 1) for child in children])
    if tag in _GROUPS:
        kids = [_read(child, depth + 1) for child in children]
        return Node(_GROUPS[tag] + ("" if tag == "matrixrow" else str(len(kids))), kids)
    if tag == "matrix":
        rows = [_read(child, depth + 1) for child in children]
        wide = max((len(row.children) for row in rows), default=0)
        return Node(f"M!M-{len(rows)}x{wide}", rows)
    if tag in ("cerror", "merror"):
        return Node("E!fragments", [_read(child, depth + 1) for child in children[1:]])
    if tag in (
        "semantics",
        "degree",
        "bvar",
        "condition",
        "lowlimit",
        "uplimit",
        "domainofapplication",
        "mrow",
        "mstyle",
    ):
        kids = [_read(child, depth + 1) for child in children if _tag(child) != "annotation"]
        return kids[0] if len(kids) == 1 else Node("U!times", kids) if kids else Node("W!")
    if children:
        return Node("O!" + tag, [_read(child, depth + 1) for child in children])
    return _named(tag)


def _named(name: str) -> Node:
    label = READ.get(name)
    if label is None:
        label = ("F!" if name in ELEMENTARY else "O!") + name
    return Node(label)


def _leaf(tag: str, text: str, dictionary: str) -> Node:
    if tag == "cn" or tag == "mn":
        return Node("N!" + text)
    if tag in ("mtext", "cs"):
        return Node("T!" + text)
    if tag == "csymbol" and dictionary == "porism":
        return Node(text)
    if tag == "csymbol" and (text in READ or dictionary in ("latexml", "ambiguous")):
        return _named(text)
    if text in ("~", "˜") or not text.strip("′"):
        return Node("V!" + (text or "~"))
    labels = token_labels("mi", _PLAIN.get(text, text))
    label = labels[0] if len(labels) == 1 else "V!" + text
    symbol = SYMBOLS.get(label) or SYMBOLS.get("V!" + label)
    if symbol is not None:
        return Node(symbol.label)
    return Node(label if label[1:2] == "!" else "V!" + label)


def _apply(children: list[etree._Element], depth: int) -> Node:
    """Read an operator applied to operands. Scripts of the operator become bounds, bases and powers."""
    if not children:
        return Node("W!")
    head = _read(children[0], depth + 1)
    if any(_tag(child) == "share" for child in children):
        # A relation of a chain: its left side is that of the relation before.
        return Node(head.label, [_read(child, depth + 1) for child in children[1:] if _tag(child) != "share"])
    if any(_tag(child) in BOUNDS for child in children):
        parts = [(_tag(child), _read(child, depth + 1)) for child in children[1:]]
        body = next((node for name, node in parts if name not in BOUNDS), Node("W!"))
        return bounded(head.label, body, {name: node for name, node in parts if name in BOUNDS})
    if head.label == "O!root":
        index = next((child for child in children[1:] if _tag(child) == "degree"), None)
        inside = [_read(child, depth + 1) for child in children[1:] if child is not index]
        return Node("O!root", [*inside[:1], _read(index, depth + 1) if index is not None else Node("N!2")])
    operands = [_read(child, depth + 1) for child in children[1:]]
    if head.label == "U!and":
        chain = chained(operands)
        if chain is not None:
            return chain
    return applied(head, operands)
