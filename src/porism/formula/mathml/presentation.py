"""Presentation MathML that people see: operator trees are written as it, and matched elements are highlighted in it."""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from typing import NamedTuple

from porism.formula.operators.table import ADD, BIG, INFIX, INT, MUL, POST, PRE, QUANT, REL, SYMBOLS
from porism.formula.tree import Node

# The sign of a constant is a label itself, such as `V!∞`.
_SIGNS = {
    symbol.label: (sign.removeprefix("V!"), symbol.form, symbol.prec)
    for sign, symbol in reversed(list(SYMBOLS.items()))
}
_SIGNS |= {"U!times": ("\u2062", MUL, 25), "O!divide-slash": ("/", MUL, 25), "U!plus": ("+", ADD, 20)}
_TIGHT, _BODY = 90, 27
# Brackets that denote an operation, and those of groups by the letter after `M!`.
_FENCED = {
    "F!abs": "||", "O!norm": "‖‖", "F!floor": "⌊⌋", "F!ceiling": "⌈⌉", "O!interval(O-O)": "()",
    "O!interval(C-C)": "[]", "O!interval(O-C)": "(]", "O!interval(C-O)": "[)",
}  # fmt: skip
_GROUPS = {"V": "()", "S": "{}", "L": ""}
_SCRIPTS = {"O!SUP": "msup", "O!SUB": "msub", "O!divide": "mfrac", "O!root": "mroot"}
_MARKS = {"O!prime": "′", "O!transpose": "T", "O!conjugate": "∗", "O!star": "∗", "O!degree": "∘", "O!units": "×"}
_MARKS |= {f"O!prime-{many}": "′" * many for many in range(2, 5)}
_ACCENTS = {"O!bar": "¯", "O!hat": "^", "O!tilde": "~", "O!vec": "→", "O!time-derivative": "˙"}
# Templates of other operations, by label and number of operands, with their precedence. {0} is an operand, {0t} an
# operand in brackets unless it is a single symbol, {0b} the body of a big operator.
_TEMPLATES = {
    ("O!binomial", 2): (90, '<mo>(</mo><mfrac linethickness="0">{0}{1}</mfrac><mo>)</mo>'),
    ("O!limit-from", 2): (90, "<msup>{0t}{1}</msup>"),
    ("O!modulo", 2): (0, "{0}<mrow><mo>(</mo><mi>mod</mi>{1}<mo>)</mo></mrow>"),
    ("O!conditional-set", 2): (90, "<mo>{</mo>{0}<mo>∣</mo>{1}<mo>}</mo>"),
    ("O!inner-product", 2): (90, "<mo>⟨</mo>{0}<mo>,</mo>{1}<mo>⟩</mo>"),
    ("O!evaluated-at", 2): (90, "{0t}<msub><mo>|</mo>{1}</msub>"),
    ("O!inverse", 1): (90, "<msup>{0t}<mrow><mo>−</mo><mn>1</mn></mrow></msup>"),
    ("O!upper", 2): (90, "<msup>{0t}<mrow><mo>(</mo>{1}<mo>)</mo></mrow></msup>"),
    ("O!presup", 2): (90, "<mmultiscripts>{0t}<mprescripts/><mrow></mrow>{1}</mmultiscripts>"),
    ("O!diff", 2): (25, "<mfrac><mrow><mi>d</mi>{0t}</mrow><mrow><mi>d</mi>{1t}</mrow></mfrac>"),
}
_NTH = "<mfrac><mrow><msup><mi>d</mi>{2}</msup>{0t}</mrow><mrow><mi>d</mi><msup>{1t}{2}</msup></mrow></mfrac>"
_TEMPLATES["O!diff", 3] = (25, _NTH)
for _label, _sign_of in (("O!limit", "lim"), ("O!limit-supremum", "lim sup"), ("O!limit-infimum", "lim inf")):
    _TEMPLATES[_label, 1] = (26, f"<mi>{_sign_of}</mi>{{0b}}")
    _TEMPLATES[_label, 2] = (26, f"<munder><mi>{_sign_of}</mi>{{1}}</munder>{{0b}}")
_OPERAND = re.compile(r"\{(\d)([tb]?)\}")
_AROUND = {"": 0, "t": _TIGHT, "b": _BODY}
_TEMPLATES |= {
    ("O!partialdiff", many): (precedence, text.replace("<mi>d</mi>", "<mo>∂</mo>"))
    for (label, many), (precedence, text) in _TEMPLATES.items()
    if label == "O!diff"
}


def to_presentation(tree: Node) -> str:
    """Return an operator tree as clean Presentation MathML."""
    return f"<math>{_element(tree, 0)}</math>"


def _element(node: Node, around: int) -> str:
    """Write a node as MathML, in brackets when it binds less tightly than what surrounds it."""
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
        return f"<msup>{_row(_element(children[0], _TIGHT))}<mo>{_MARKS[label]}</mo></msup>"
    if label in _ACCENTS:
        return f'<mover accent="true">{_row(_element(children[0], 0))}<mo>{_ACCENTS[label]}</mo></mover>'
    sign, form, precedence = _SIGNS.get(label, ("", 0, _TIGHT))
    if label == "O!minus":
        sign, form, precedence = "−", ADD, 20
    if form == ADD and len(children) == 1:
        form = PRE
    if (label, len(children)) in _TEMPLATES:
        precedence, template = _TEMPLATES[label, len(children)]
        # An operand is written once, however often it occurs.
        slots = {found[0]: found for found in _OPERAND.finditer(template)}
        written = {name: _row(_element(children[int(found[1])], _AROUND[found[2]])) for name, found in slots.items()}
        text = _OPERAND.sub(lambda found: written[found[0]], template)
    else:
        text = _operation(label, children, sign, form, precedence)
    return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>" if precedence < around else text


def _operation(label: str, children: list[Node], sign: str, form: int, precedence: int) -> str:
    if label == "O!chain":
        return "".join(
            _element(child, 11) if child.children or child.label not in _SIGNS else _sign(_SIGNS[child.label][0])
            for child in children
        )
    if form in (REL, ADD, MUL, INFIX):
        return _sign(sign).join(_element(child, precedence + 1) for child in children)
    if form in (BIG, INT):
        return _big(sign, children, form == INT)
    if form in (PRE, QUANT):
        return _sign(sign) + "".join(_element(child, precedence + 1) for child in children)
    if form == POST:
        return _element(children[0], _TIGHT) + _sign(sign)
    if label == "O!apply":
        return _element(children[0], _TIGHT) + _fenced("()", children[1:])
    if label == "O!text":
        return "".join(_element(child, _BODY) for child in children)
    if label[:2] == "F!" and label[-1] == "_" and len(children) == 2:  # log_, max_, sup_
        return f"<msub>{_leaf(label[:-1])}{_row(_element(children[1], 0))}</msub>{_element(children[0], _BODY)}"
    return _leaf("V!" + label[2:]) + _fenced("()", children)


def _big(sign: str, children: list[Node], integral: bool) -> str:
    """Write a big operator (body, lower, upper), or an integral (body, variable, lower, upper)."""
    bounds = children[2:] if integral else children[1:]
    body = _element(children[0], _BODY)
    if integral and len(children) > 1:
        body += f"<mi>d</mi>{_element(children[1], _TIGHT)}"
    tag = ("mo", "munder", "munderover")[min(len(bounds), 2)]
    inside = "".join(_row(_element(bound, 0)) for bound in bounds[:2])
    head = _sign(sign)
    return (f"<{tag}>{head}{inside}</{tag}>" if bounds else head) + body


def _scripted(label: str, children: list[Node]) -> str:
    if label == "O!root" and (len(children) == 1 or children[1].label == "N!2"):
        return f"<msqrt>{_element(children[0], 0)}</msqrt>"
    around = _TIGHT if label in ("O!SUP", "O!SUB") else 0
    parts = [_row(_element(children[0], around)), *(_row(_element(child, 0)) for child in children[1:2])]
    return f"<{_SCRIPTS[label]}>{''.join(parts)}</{_SCRIPTS[label]}>" if len(parts) == 2 else parts[0]


def _group(node: Node) -> str:
    if node.label.startswith("M!M-"):
        rows = "".join(
            f"<mtr>{''.join(f'<mtd>{_element(cell, 0)}</mtd>' for cell in row.children)}</mtr>" for row in node.children
        )
        return f"<mrow><mo>(</mo><mtable>{rows}</mtable><mo>)</mo></mrow>"
    fences = node.label[4:] if node.label.startswith("M!D-") else _GROUPS.get(node.label[2:3], "()")
    return _fenced(fences, node.children)


def _fenced(fences: str, children: list[Node]) -> str:
    inside = "<mo>,</mo>".join(_element(child, 0) for child in children)
    return f"<mrow><mo>{fences[0]}</mo>{inside}<mo>{fences[1]}</mo></mrow>" if fences else inside


def _row(text: str) -> str:
    return f"<mrow>{text}</mrow>"


def _sign(sign: str) -> str:
    return f"<mo>{html.escape(sign, quote=False)}</mo>" if sign else ""


def _leaf(label: str) -> str:
    if label in _SIGNS and label[:2] != "C!":
        return _sign(_SIGNS[label][0])
    label = "V!" + _SIGNS[label][0] if label in _SIGNS else label
    kind, text = (label[0], label[2:]) if label[1:2] == "!" else ("", label)
    tag = {"N": "mn", "T": "mtext", "": "mi" if label[:1] == "?" else "mo"}.get(kind, "mi")
    return f"<{tag}>{html.escape(text, quote=False)}</{tag}>" if text else "<mrow></mrow>"


_TAG = re.compile(r"<(/?)([a-z]++)[^<>]*+>")
_OPEN_TAG = re.compile(r"<([a-z]++)([^<>]*+)>")
_NEUTRAL = re.compile(r"[()\[\]{}\u2061-\u2064]?<")
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))


class Coverage(NamedTuple):
    """Elements (by pre-order number) to fill, none inside another, and elements to frame."""

    filled: frozenset[int]
    framed: frozenset[int]


def highlight(mathml: str, places: Collection[int]) -> str:
    """Return clean MathML with places highlighted: class `highlight` fills an element, `frame` frames it."""
    found = coverage(mathml, places)
    return add_class(add_class(mathml, found.filled), found.framed, "frame")


def add_class(mathml: str, places: Collection[int], name: str = "highlight") -> str:
    """Return clean MathML with a class on the elements at these places (pre-order numbers; `math` is 0)."""
    wanted = frozenset(places)
    number = -1

    def mark(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f'<{found[1]} class="{name}"{found[2]}>' if number in wanted else found[0]

    return _OPEN_TAG.sub(mark, mathml)


def coverage(mathml: str, places: Collection[int]) -> Coverage:
    """Return the largest elements whose symbols are all among the places, and the elements among the places that have
    other symbols too.

    Brackets and invisible operators do not count as symbols."""
    wanted = frozenset(places)
    ends: list[int] = []
    symbols, chosen = [0], [0]  # running totals before each element
    open_: list[int] = []
    for tag in _TAG.finditer(mathml):
        if tag[1]:
            ends[open_.pop()] = len(ends)
            continue
        number = len(ends)
        open_.append(number)
        ends.append(0)
        symbol = tag[2] in _TOKENS and not _NEUTRAL.match(mathml, tag.end())
        symbols.append(symbols[-1] + symbol)
        chosen.append(chosen[-1] + (symbol and number in wanted))
    filled: set[int] = set()
    framed: set[int] = set()
    reached = 0
    for at, end in enumerate(ends):
        if at < reached:
            continue
        inside = symbols[end] - symbols[at]
        if inside and chosen[end] - chosen[at] == inside:
            filled.add(at)
            reached = end
        elif inside and at in wanted:  # a bracket alone has no frame
            framed.add(at)
    return Coverage(frozenset(filled), frozenset(framed))
