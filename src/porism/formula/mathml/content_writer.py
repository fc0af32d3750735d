"""Write operator trees as Content MathML.

An operator is a standard element where MathML has one, otherwise a `csymbol` of the dictionary `porism` with its label,
so that nothing is lost."""

from __future__ import annotations

import html
import re
from importlib.resources import files

from porism.formula.operators.table import BIG, INT, LIM, SYMBOLS
from porism.formula.tree import Node

WRITE: dict[str, str] = {}  # names of labels
READ: dict[str, str] = {}  # labels of names
for _line in files("porism.formula.mathml").joinpath("content_table.tsv").read_text(encoding="utf-8").splitlines():
    if _line and not _line.startswith("#"):
        _name, _label = _line.split("\t")
        WRITE.setdefault(_label, _name)
        READ.setdefault(_name.removeprefix("+"), _label)
# Functions for which MathML has an element.
ELEMENTARY = frozenset(
    [
        *("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch"),
        *("arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "arcsinh", "arccosh", "arctanh", "arccoth"),
        *("exp", "ln", "log", "max", "min", "gcd", "lcm", "arg", "real", "imaginary", "abs"),
    ]
)
INTEGRALS = frozenset(symbol.label for symbol in SYMBOLS.values() if symbol.form == INT)
BIG_OPERATORS = frozenset(symbol.label for symbol in SYMBOLS.values() if symbol.form in (BIG, LIM))
_INTERVAL = re.compile(r"O!interval\((O|C)-(O|C)\)$")
_CLOSURE = {"OO": "open", "CC": "closed", "OC": "open-closed", "CO": "closed-open"}


def to_content(tree: Node) -> str:
    """Return an operator tree as a Content MathML document."""
    out: list[str] = ['<math xmlns="http://www.w3.org/1998/Math/MathML">']
    stack: list[Node | str] = ["</math>", tree]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            opening, parts, closing = _element(item)
            out.append(opening)
            stack.append(closing)
            stack.extend(reversed(parts))
    return "".join(out)


def _element(node: Node) -> tuple[str, list[Node | str], str]:
    """Return the start, the content and the end of a node's element."""
    label = node.label
    children: list[Node | str] = list(node.children)
    kind, name = label[:2], label[2:]
    if (not children and kind in ("V!", "N!", "T!", "C!", "W!", "E!")) or label[:1] == "?":
        element = {"V!": "ci", "N!": "cn", "T!": "cs"}.get(kind)
        return f"<{element}>{html.escape(name, quote=False)}</{element}>" if element else _head(label), [], ""
    if label == "O!chain":
        return "<apply><and/>", _chain(node), "</apply>"
    if kind == "M!":
        for start, tag in (("V-", "vector"), ("S-", "set"), ("L-", "list"), ("M-", "matrix"), ("R!", "matrixrow")):
            if name.startswith(start):
                return f"<{tag}>", children, f"</{tag}>"
        return f"<apply>{_head(label)}", children, "</apply>"
    interval = _INTERVAL.match(label)
    if interval and len(children) == 2:
        return f'<interval closure="{_CLOSURE[interval[1] + interval[2]]}">', children, "</interval>"
    if label == "O!apply":
        return "<apply>", children, "</apply>"
    if label == "O!root" and len(children) == 2:
        return "<apply><root/>", ["<degree>", children[1], "</degree>", children[0]], "</apply>"
    head = _head(label)
    if children and (label in INTEGRALS or label in BIG_OPERATORS):
        return f"<apply>{head}", _bounded(node), "</apply>"
    return (f"<apply>{head}", children, "</apply>") if children else (head, [], "")


def _bounded(node: Node) -> list[Node | str]:
    """Return bound variable, limits and body of a big operator. A lower bound that is no equation is a condition."""
    body, *bounds = node.children
    parts: list[Node | str] = []
    if node.label in INTEGRALS and bounds:  # Content MathML of others may give an integral nothing but its body
        variable, bounds = bounds[0], bounds[1:]
        if variable.label != "W!":
            parts += ["<bvar>", variable, "</bvar>"]
        if bounds:
            parts += ["<lowlimit>", bounds[0], "</lowlimit>"]
    elif bounds and bounds[0].label == "U!eq" and len(bounds[0].children) == 2:
        variable, lower = bounds[0].children
        parts += ["<bvar>", variable, "</bvar><lowlimit>", lower, "</lowlimit>"]
    elif bounds and bounds[0].label != "W!":
        parts += ["<condition>", bounds[0], "</condition>"]
    if len(bounds) > 1:
        parts += ["<uplimit>", bounds[1], "</uplimit>"]
    return [*parts, body]


def _head(label: str) -> str:
    name = WRITE.get(label)
    if name is None:
        if label[:2] == "F!" and label[2:] in ELEMENTARY:
            return f"<{label[2:]}/>"
        return f'<csymbol cd="porism">{html.escape(label, quote=False)}</csymbol>'
    if name[0] == "+":
        return f'<csymbol cd="latexml">{html.escape(name[1:], quote=False)}</csymbol>'
    return f"<{name}/>"


def _chain(node: Node) -> list[Node | str]:
    """Return each relation of a chain as an element of its own; shared operands are written twice."""
    parts: list[Node | str] = []
    kids = node.children
    for at in range(1, len(kids) - 1, 2):
        relation = kids[at]
        parts += ["<apply>", _head(relation.label), kids[at - 1], kids[at + 1], *relation.children, "</apply>"]
    return parts
