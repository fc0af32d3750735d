"""The lab's own key of a formula: the exact Tangent-S string of Presentation MathML, without any normalisation. Only
for comparison."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from xml.etree.ElementTree import Element, ParseError, fromstring

ORDER = ("next", "above", "below", "over", "under", "c", "d", "within", "element")
MARKS = dict(zip(ORDER, ("", ",a", ",b", ",o", ",u", ",c", ",d", ",w", ",e"), strict=True))
TYPES = {"mi": "V!", "mn": "N!", "mtext": "T!", "ms": "T!", "mo": ""}
NOTHING = frozenset(("mspace", "none", "mphantom", "mprescripts"))
ONE = frozenset(("math", "semantics", "mstyle"))
ROWS = frozenset(("mrow", "mpadded", "mtd", "mtr"))
SCRIPTS = {
    "msub": ("below",),
    "msup": ("above",),
    "msubsup": ("below", "above"),
    "munder": ("under",),
    "mover": ("over",),
    "munderover": ("under", "over"),
}
ON_OPERATOR = {"below": "under", "above": "over"}
ESCAPES = {"?": "&quest;", ",": "&comma;", "[": "&lsqb;", "]": "&rsqb;"}
OPENING, CLOSING = ("(", "{", "|", "∥", "&lsqb;"), (")", "}", "|", "∥", "&rsqb;")
XMLNS = re.compile(r'\sxmlns(:\w+)?="[^"]*"')
INVISIBLE = re.compile("[\u2061-\u2064]")


class Symbol:
    """A symbol and the symbols that are linked to it."""

    def __init__(self, label: str, **links: Symbol) -> None:
        self.label = label
        self.links = links

    def __str__(self) -> str:
        return f"[{self.label}{''.join(MARKS[name] + str(self.links[name]) for name in ORDER if name in self.links)}]"


def lab_key(mathml: str) -> str:
    """Return the key; empty if the MathML cannot be read."""
    try:
        return str(_symbol(fromstring(XMLNS.sub("", mathml))))
    except (ParseError, LookupError, RecursionError):
        return ""


def _symbol(element: Element) -> Symbol:
    tag, children = str(element.tag), list(element)
    if tag in ONE:
        return _symbol(children[0])
    if tag in TYPES:
        text = INVISIBLE.sub("", _text(element))
        return Symbol(TYPES[tag] + text) if text or tag == "mo" else Symbol("W!")
    if tag in NOTHING:
        return Symbol("W!")
    if tag == "merror":
        return Symbol("E!" + _text(element))
    if tag in ROWS or (tag in SCRIPTS and len(children) != len(SCRIPTS[tag]) + 1):
        return _row(children)
    if tag in SCRIPTS:
        return _scripts(_symbol(children[0]), tag, children[1:])
    return MAKERS[tag](element, children)


def _text(element: Element) -> str:
    text = "".join(element.itertext()).strip()
    return "".join(ESCAPES.get(char, char) for char in text)


def _row(children: list[Element]) -> Symbol:
    symbols = [_symbol(child) for child in children]
    symbols = [symbol for symbol in symbols if symbol.label not in ("W!", "") or symbol.links]
    fenced = len(symbols) > 2 and symbols[0].label in OPENING and symbols[-1].label in CLOSING
    if not fenced or symbols[0].links or symbols[-1].links:
        return _chain(symbols)
    fences, inside = symbols[0].label + symbols[-1].label, symbols[1:-1]
    if len(inside) == 1 and re.match(r"M!\d", inside[0].label) and "next" not in inside[0].links:
        inside[0].label = f"M!{fences}{inside[0].label[2:]}"
        return inside[0]
    parts: list[list[Symbol]] = [[]]
    for symbol in inside:
        parts[-1].append(symbol)
        if symbol.label == "&comma;":
            parts.append([])
    return _table(f"M!{fences}1x", [_chain(part) for part in parts if part])


def _chain(symbols: list[Symbol]) -> Symbol:
    for one, following in pairwise(symbols):
        while "next" in one.links:
            one = one.links["next"]
        one.links["next"] = following
    return symbols[0] if symbols else Symbol("W!")


def _table(label: str, cells: list[Symbol]) -> Symbol:
    table = Symbol(label + str(len(cells)) if label.endswith("1x") else label)
    for at, cell in enumerate(cells):
        (cells[at - 1] if at else table).links["element" if at else "within"] = cell
    return table


def _scripts(base: Symbol, tag: str, scripts: list[Element]) -> Symbol:
    names = SCRIPTS[tag]
    if tag[1] == "s" and base.label[1:2] != "!" and base.label[:1] != "?":
        names = tuple(ON_OPERATOR[name] for name in names)
    if "next" in base.links or any(name in base.links for name in names):
        base = Symbol("M!1x1", within=base)
    for name, script in zip(names, scripts, strict=True):
        base.links[name] = _symbol(script)
    return base


def _multiscripts(_: Element, children: list[Element]) -> Symbol:
    base = _symbol(children[0])
    if "next" in base.links:
        base = Symbol("M!1x1", within=base)
    names, at = ("below", "above"), 0
    for child in children[1:]:
        if child.tag == "mprescripts":
            names, at = ("d", "c"), 0
            continue
        script = _symbol(child)
        if script.label != "W!":
            base.links[names[at % 2]] = script
        at += 1
    return base


def _grid(_: Element, rows: list[Element]) -> Symbol:
    cells = [[_symbol(cell) for cell in row] for row in rows]
    return _table(f"M!{len(cells)}x{max(map(len, cells), default=0)}", [cell for row in cells for cell in row])


MAKERS: dict[str, Callable[[Element, list[Element]], Symbol]] = {
    "mfrac": lambda _, parts: Symbol("O!divide", over=_symbol(parts[0]), under=_symbol(parts[1])),
    "msqrt": lambda _, parts: Symbol("O!root", within=_row(parts)),
    "mroot": lambda _, parts: Symbol("O!root", within=_symbol(parts[0]), c=_symbol(parts[1])),
    "menclose": lambda element, parts: Symbol("O!" + element.get("notation", ""), within=_row(parts)),
    "mmultiscripts": _multiscripts,
    "mtable": _grid,
}
