"""An operator tree as Presentation MathML: how a formula that came as Content MathML looks."""

from __future__ import annotations

import html

from porism.formula.operators_table import ADD, BIG, INFIX, INT, MUL, POST, PRE, QUANT, REL, SYMBOLS
from porism.formula.tree import Node

_SIGNS = {symbol.label: (sign, symbol.form, symbol.prec) for sign, symbol in reversed(list(SYMBOLS.items()))}
_SIGNS |= {"U!times": ("\u2062", MUL, 25), "O!divide-slash": ("/", MUL, 25), "U!plus": ("+", ADD, 20)}
_TIGHT = 90
# Brackets that stand for an operation, and those of groups by the letter after `M!`.
_FENCED = {
    "F!abs": "||",
    "O!norm": "‖‖",
    "F!floor": "⌊⌋",
    "F!ceiling": "⌈⌉",
    "O!interval(O-O)": "()",
    "O!interval(C-C)": "[]",
    "O!interval(O-C)": "(]",
    "O!interval(C-O)": "[)",
}
_GROUPS = {"V": "()", "S": "{}", "L": ""}
_SCRIPTS = {"O!SUP": "msup", "O!SUB": "msub", "O!divide": "mfrac", "O!root": "mroot"}
_MARKS = {"O!prime": "′", "O!transpose": "T", "O!conjugate": "∗"}


def present(tree: Node) -> str:
    """Clean Presentation MathML of an operator tree."""
    return f"<math>{_shown(tree, 0)}</math>"


def _shown(node: Node, around: int) -> str:
    """A node as MathML, in brackets when it binds less than what stands around it."""
    label, children = node.label, node.children
    if not children:
        return _leaf(label)
    if label in _FENCED:
        return _fenced(_FENCED[label], children)
    if label[:2] == "M!":
        return _group(node)
    if label in _SCRIPTS:
        return _scripted(label, children)
    if label in _MARKS:
        return f"<msup>{_row(_shown(children[0], _TIGHT))}<mo>{_MARKS[label]}</mo></msup>"
    sign, form, precedence = _SIGNS.get(label, ("", 0, _TIGHT))
    if label == "O!minus":
        sign, form, precedence = "−", ADD if len(children) > 1 else PRE, 20
    text = _operation(label, children, sign, form, precedence)
    return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>" if precedence < around else text


def _operation(label: str, children: list[Node], sign: str, form: int, precedence: int) -> str:
    if label == "O!chain":
        return "".join(
            _shown(child, 11) if child.children or child.label not in _SIGNS else _sign(_SIGNS[child.label][0])
            for child in children
        )
    if form in (REL, ADD, MUL, INFIX):
        return _sign(sign).join(_shown(child, precedence + 1) for child in children)
    if form in (BIG, INT):
        return _big(sign, children, form == INT)
    if form in (PRE, QUANT):
        return _sign(sign) + "".join(_shown(child, precedence + 1) for child in children)
    if form == POST:
        return _shown(children[0], _TIGHT) + _sign(sign)
    if label == "O!apply":
        return _shown(children[0], _TIGHT) + _fenced("()", children[1:])
    return _leaf("V!" + label[2:]) + _fenced("()", children)


def _big(sign: str, children: list[Node], integral: bool) -> str:
    """A big operator (body, lower, upper), or an integral (body, variable, lower, upper)."""
    bounds = children[2:] if integral else children[1:]
    body = _shown(children[0], 27)
    if integral and len(children) > 1:
        body += f"<mi>d</mi>{_shown(children[1], _TIGHT)}"
    tag = ("mo", "munder", "munderover")[min(len(bounds), 2)]
    inside = "".join(_row(_shown(bound, 0)) for bound in bounds[:2])
    head = _sign(sign)
    return (f"<{tag}>{head}{inside}</{tag}>" if bounds else head) + body


def _scripted(label: str, children: list[Node]) -> str:
    if label == "O!root" and (len(children) == 1 or children[1].label == "N!2"):
        return f"<msqrt>{_shown(children[0], 0)}</msqrt>"
    around = _TIGHT if label in ("O!SUP", "O!SUB") else 0
    parts = [_row(_shown(children[0], around)), *(_row(_shown(child, 0)) for child in children[1:2])]
    return f"<{_SCRIPTS[label]}>{''.join(parts)}</{_SCRIPTS[label]}>" if len(parts) == 2 else parts[0]


def _group(node: Node) -> str:
    if node.label.startswith("M!M-"):
        rows = "".join(
            f"<mtr>{''.join(f'<mtd>{_shown(cell, 0)}</mtd>' for cell in row.children)}</mtr>" for row in node.children
        )
        return f"<mrow><mo>(</mo><mtable>{rows}</mtable><mo>)</mo></mrow>"
    return _fenced(_GROUPS.get(node.label[2:3], "()"), node.children)


def _fenced(fences: str, children: list[Node]) -> str:
    inside = "<mo>,</mo>".join(_shown(child, 0) for child in children)
    return f"<mrow><mo>{fences[0]}</mo>{inside}<mo>{fences[1]}</mo></mrow>" if fences else inside


def _row(text: str) -> str:
    return f"<mrow>{text}</mrow>"


def _sign(sign: str) -> str:
    return f"<mo>{html.escape(sign, quote=False)}</mo>" if sign else ""


def _leaf(label: str) -> str:
    if label in _SIGNS:
        return _sign(_SIGNS[label][0])
    kind, text = (label[0], label[2:]) if label[1:2] == "!" else ("", label)
    tag = {"N": "mn", "T": "mtext", "": "mi" if label[:1] == "?" else "mo"}.get(kind, "mi")
    return f"<{tag}>{html.escape(text, quote=False)}</{tag}>" if text else "<mrow></mrow>"
