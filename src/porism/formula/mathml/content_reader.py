"""Read Content MathML as operator trees: bounds, bodies, powers of functions, chains of relations."""

from __future__ import annotations

from lxml import etree

from porism.formula.characters import xml_source
from porism.formula.layout.build import MAX_ELEMENTS, TOO_MANY, TooLarge
from porism.formula.layout.labels import token_labels
from porism.formula.mathml.content_writer import BIG_OPERATORS, ELEMENTARY, INTEGRALS, READ
from porism.formula.operators.scripts import is_function_like
from porism.formula.operators.stack import InfixOperator, nary_node
from porism.formula.operators.table import FUN, REL, SYMBOLS
from porism.formula.tree import Node

_BIGS = INTEGRALS | BIG_OPERATORS
_RELATIONS = frozenset(symbol.label for symbol in SYMBOLS.values() if symbol.form == REL)
_FUNCTIONS = frozenset(symbol.label for symbol in SYMBOLS.values() if symbol.form == FUN)
_SUPERSCRIPTS = {
    "O!prime": "O!prime", "V!′": "O!prime", "V!′′": "O!prime-2", "V!′′′": "O!prime-3", "U!asterisk": "O!star",
    "V!*": "O!star", "V!∗": "O!star", "U!times": "O!star", "O!compose": "O!degree", "V!°": "O!degree",
    "O!degree": "O!degree", "V!†": "O!dagger", "U!perpendicular": "O!perp",
}  # fmt: skip
_ACCENTS = {
    "V!¯": "O!bar", "V!^": "O!hat", "V!~": "O!tilde", "V!˙": "O!time-derivative", "V!¨": "O!time-derivative-2",
    "V!ˇ": "O!check", "V!⏟": "O!underbrace", "V!⏞": "O!overbrace",
}  # fmt: skip
BOUNDS = frozenset(("bvar", "lowlimit", "uplimit", "condition"))
_D = frozenset(("O!differential-d", "O!diff", "V!d"))


def applied(head: Node, operands: list[Node]) -> Node:
    """Return the operator node of an operator applied to operands."""
    label = head.label
    if head.children:
        return _compound(head, operands)
    if label == "O!SUP" and len(operands) == 2:
        return _superscript(*operands)
    if label in _BIGS:
        return _big(label, operands, [])
    if label == "O!formulae-sequence":
        flat = [part for item in operands for part in (item.children if item.label[:4] == "M!L-" else [item])]
        return Node(f"M!L-{len(flat)}", flat)
    if label == "O!divide" and len(operands) == 2:
        return _derivative(*operands) or Node(label, operands)
    if label == "U!times":
        return _product(operands)
    if label == "O!to" and len(operands) == 1:
        return Node("O!vec", operands)
    if label in _ACCENTS and len(operands) == 1:
        return Node(_ACCENTS[label], operands)
    if label[:2] == "V!" and len(label) > 3 and label[2:].isalpha() and label[2:].isascii():
        return Node("F!" + label[2:], operands)  # a symbol of several letters is the name of a function
    if label[:2] in ("V!", "N!", "C!", "W!"):
        return Node("O!apply", [head, *operands])
    return Node(label, operands)


def _derivative(over: Node, under: Node) -> Node | None:
    """Read a fraction of differentials as a derivative: `∂f/∂x` and, as a product with the letter d, `df/dx`."""
    part = _of_partial(under)
    if part is not None:
        of = _of_partial(over)
        if of is None and over.label == "O!partialdiff" and not over.children:
            of = Node("W!")
        return None if of is None else Node("O!partialdiff", [of, part])
    by = _of_d(under)
    if by is None:
        return None
    if over.label == "V!d":
        return Node("O!diff", [Node("W!"), by])
    of = _of_d(over)
    return None if of is None else Node("O!diff", [of, by])


def _of_partial(node: Node) -> Node | None:
    """Return what follows `∂`, as its operand or as the next factor."""
    if node.label == "O!partialdiff" and len(node.children) == 1:
        return node.children[0]
    if node.label == "U!times" and len(node.children) == 2 and node.children[0].label == "O!partialdiff":
        return node.children[1] if not node.children[0].children else None
    return None


def _of_d(node: Node) -> Node | None:
    if node.label == "U!times" and len(node.children) == 2 and node.children[0].label == "V!d":
        return node.children[1]
    return node.children[1] if node.label == "O!apply" and node.children[0].label == "V!d" else None


def _product(operands: list[Node]) -> Node:
    """Return a product; `d/dx` among the factors applies to those after it."""
    for at, node in enumerate(operands[:-1]):
        if node.label in ("O!diff", "O!partialdiff") and node.children and node.children[0].label == "W!":
            rest = operands[at + 1 :]
            made = Node(node.label, [rest[0] if len(rest) == 1 else Node("U!times", rest), node.children[1]])
            return made if at == 0 else Node("U!times", [*operands[:at], made])
    return Node("U!times", operands)


def _superscript(base: Node, power: Node) -> Node:
    script = _SUPERSCRIPTS.get(power.label)
    if script is not None and not power.children:
        return Node(script, [base])
    if power.label == "V!T" and base.label[:2] == "V!" and not "a" <= base.label[2:3] <= "t":
        return Node("O!transpose", [base])
    minus_one = power.label == "O!minus" and len(power.children) == 1 and power.children[0].label == "N!1"
    if minus_one and is_function_like(base):
        return Node("O!inverse", [base])
    return Node("O!SUP", [base, power])


def _compound(head: Node, operands: list[Node]) -> Node:
    """Return the application of an operator that has scripts."""
    inner, lower, upper = head, None, None
    while inner.label in ("O!SUP", "O!SUB", "O!inverse") and inner.children:
        if inner.label == "O!SUB" and lower is None and len(inner.children) > 1:
            lower = inner.children[1]
        elif inner.label == "O!SUP" and upper is None and len(inner.children) > 1:
            upper = inner.children[1]
        else:
            break
        inner = inner.children[0]
    label = inner.label
    if label in _BIGS and not inner.children:
        bounds = [] if lower is None and upper is None else [lower or Node("W!")]
        return _big(label, operands, bounds if upper is None else [*bounds, upper])
    if label in _FUNCTIONS and not inner.children:
        if lower is not None:
            operands, label = [*operands, lower], label + "_"
        node = Node(label, operands)
        return node if upper is None else _superscript(node, upper)
    if not inner.children and (label in _RELATIONS or label[:2] == "U!" or label == "O!partialdiff"):
        marks = ("_" if lower is not None else "") + ("^" if upper is not None else "")
        return Node(label + marks, [*operands, *(part for part in (lower, upper) if part is not None)])
    return Node("O!apply", [head, *operands])


def _big(label: str, operands: list[Node], bounds: list[Node]) -> Node:
    """Return a big operator with its body, the variable of an integral, and bounds."""
    body = operands[0] if operands else Node("W!")
    if label not in INTEGRALS:
        return Node(label, [body, *operands[1:], *bounds])
    body, names = _differentials(body)
    by = Node("W!") if not names else names[0] if len(names) == 1 else Node(f"M!L-{len(names)}", names)
    return Node(label, [body, by, *bounds])


def bounded(label: str, body: Node, bounds: dict[str, Node]) -> Node:
    """Return a big operator with its body and bounds; the bounds have the names of their elements (`BOUNDS`)."""
    variable, lower, upper = bounds.get("bvar"), bounds.get("lowlimit"), bounds.get("uplimit")
    parts = [body]
    if label in INTEGRALS:
        parts.append(variable or Node("W!"))
    elif variable is not None and lower is not None:
        lower = Node("U!eq", [variable, lower])
    else:
        lower = lower or bounds.get("condition") or variable
    if lower is not None or upper is not None:
        parts.append(lower or Node("W!"))
    return Node(label, parts if upper is None else [*parts, upper])


def _differentials(body: Node) -> tuple[Node, list[Node]]:
    """Return the integrand, and the variables of the differentials among its factors."""
    if body.label in _D and body.children:
        return Node("N!1"), [body.children[0]]
    if body.label == "O!divide" and len(body.children) == 2:
        over, names = _differentials(body.children[0])
        if names:
            return Node("O!divide", [over, body.children[1]]), names
    if body.label != "U!times":
        return body, []
    names = [kid.children[0] for kid in body.children if kid.label in _D and kid.children]
    rest = [kid for kid in body.children if not (kid.label in _D and kid.children)]
    if len(rest) > 2 and not names and rest[-2].label == "V!d":
        names, rest = [rest[-1]], rest[:-2]
    return (rest[0] if len(rest) == 1 else Node("U!times", rest)), names


def chained(relations: list[Node]) -> Node | None:
    """Return relations in a chain (each shares its left side with the one before) as a node, else None."""
    if len(relations) < 2 or not all(relation.label in _RELATIONS for relation in relations):
        return None
    before = relations[0]
    if len(before.children) != 2:
        return None
    for relation in relations[1:]:
        repeated = len(relation.children) == 2 and relation.children[0] == before.children[-1]
        if len(relation.children) != 1 and not repeated:
            return None
        before = relation
    operands = [relations[0].children[0], *(relation.children[-1] for relation in relations)]
    return nary_node(REL, [InfixOperator(relation.label) for relation in relations], operands)


_PARSER = etree.XMLParser(recover=True, huge_tree=True, remove_comments=True, remove_pis=True, resolve_entities=False)
_GROUPS = {"vector": "M!V-", "set": "M!S-", "list": "M!L-", "matrixrow": "M!R!"}
# LaTeXML reads a pair in round brackets as an open interval.
_CLOSURES = {"open": "M!V-2", "open-closed": "O!interval(O-C)", "closed-open": "O!interval(C-O)"}
_LEAVES = frozenset(("ci", "csymbol", "cn", "mtext", "cs", "mi", "mo", "mn"))
_WRAPPERS = BOUNDS | {"semantics", "degree", "domainofapplication", "mrow", "mstyle"}
_PLAIN = {"italic-ϵ": "ϵ", "italic-ϕ": "ϕ", "ℎ": "h"}
MAX_DEPTH = 150


def from_content(text: str) -> Node:
    """Return the operator tree of a Content MathML document or annotation. Raise TooLarge if it is."""
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
    if tag in _LEAVES:
        return _leaf(tag, _text(element), element.get("cd") or "")
    if tag == "apply":
        return _apply(children, depth)
    if tag == "interval":
        label = _CLOSURES.get(element.get("closure") or "", "O!interval(C-C)")
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
    if tag in _WRAPPERS:
        kids = [_read(child, depth + 1) for child in children if _tag(child) != "annotation"]
        return kids[0] if len(kids) == 1 else Node("U!times", kids) if kids else Node("W!")
    if children:
        return Node("O!" + tag, [_read(child, depth + 1) for child in children])
    return _named(tag)


def _named(name: str) -> Node:
    return Node(READ.get(name) or ("F!" if name in ELEMENTARY else "O!") + name)


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
    return (chained(operands) if head.label == "U!and" else None) or applied(head, operands)
