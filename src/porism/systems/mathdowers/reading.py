"""Read Presentation MathML as the symbol tree from which Tangent-L takes its tuples.

It differs from Porism's own layout tree: it follows the MathML element by element, with the losses of the original
program, because documents and queries must contain the tokens that the original wrote (labels and edges: `symbols`).

Losses that are part of the definition: brackets are recognised by the opening one only, so the last item of such a row
counts as the closing bracket and loses its scripts; a leading ASCII minus merges with a number and drops what the
number's item held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from xml.parsers import expat

from porism.systems.mathdowers.symbols import (
    PRESCRIPTS,
    Item,
    Symbol,
    UnreadableMathML,
    make_cell,
    make_group,
    make_matrix,
    make_matrix_row,
    make_row,
)

Builder = Callable[[Sequence[Item]], Item]
_ESCAPES = str.maketrans(
    {
        "\t": "\\t",
        "\n": "\\n",
        "\r": "\\r",
        " ": "␣",
        '"': "&quot;",
        "'": "&apos;",
        "?": "&quest;",
        ",": "&comma;",
        "[": "&lsqb;",
        "]": "&rsqb;",
    }
)
_INVISIBLE = ("\u2061", "\u2062", "\u2063", "\u2064")


def symbol_tree(mathml: str) -> Symbol | None:
    """Return the symbol tree of a `math` element, or None when nothing is visible.

    Raise UnreadableMathML for ill-formed MathML and for elements that the original does not know.
    """
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    try:
        parser.Parse(mathml.encode(), True)
    except expat.ExpatError as error:
        raise UnreadableMathML(str(error)) from None
    return reader.items[0] if reader.items else None


class _Reader:
    """Collects the items of open elements and builds a node when an element ends, so that no nesting overflows the
    stack."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._open: list[tuple[dict[str, str], list[Item], list[str]]] = []
        self._text: list[str] = []
        self._skipped = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element; annotations are skipped whole."""
        if self._skipped or name.rpartition(":")[2] in ("annotation", "annotation-xml"):
            self._skipped += 1
            return
        self._open.append((attributes, self.items, self._text))
        self.items, self._text = [], []

    def data(self, text: str) -> None:
        """Collect text."""
        if not self._skipped:
            self._text.append(text)

    def end(self, name: str) -> None:
        """Build the node of an element and give it to its parent."""
        if self._skipped:
            self._skipped -= 1
            return
        name = name.rpartition(":")[2]
        children, text = self.items, "".join(self._text)
        attributes, self.items, self._text = self._open.pop()
        if name != "mmultiscripts" and PRESCRIPTS in children:
            raise UnreadableMathML(f"prescripts in {name}")
        if name in _TOKENS:
            self.items.append(_token(name, children[0].label if children and children[0] else text))
        elif name in _BUILD:
            self.items.append(_BUILD[name](children))
        elif name in _BUILD_WITH_ATTRIBUTES:
            self.items.append(_BUILD_WITH_ATTRIBUTES[name](children, attributes))
        else:
            raise UnreadableMathML(f"unknown element {name}")


_TOKENS = {"mi": "V!", "mn": "N!", "mo": "", "mtext": "T!", "ms": "T!"}


def _token(name: str, text: str) -> Symbol:
    text = text.strip().translate(_ESCAPES)
    if text in _INVISIBLE:
        text = ""
    return Symbol(_TOKENS[name] + text if text or name == "mo" else "W!")


def _scripts(on_symbol: str, on_operator: str) -> Builder:
    """Return the builder of a script element from the edges of its scripts on a symbol and on an operator."""

    def build(items: Sequence[Item]) -> Item:
        if len(items) != len(on_symbol) + 1:
            return None
        base, *scripts = _visible(items)
        edges = on_operator if base.is_operator() else on_symbol
        if "n" in base.links or any(edge in base.links for edge in edges):
            base = make_matrix([base])
        for edge, script in zip(edges, scripts, strict=True):
            base.links[edge] = script
        return base

    return build


def _visible(items: Sequence[Item]) -> list[Symbol]:
    """Replace items without content by `W!`."""
    return [Symbol("W!") if item is None or item.is_invisible() else item for item in items]


def _fraction(items: Sequence[Item]) -> Item:
    if len(items) != 2:
        return None
    above, below = _visible(items)
    return Symbol("F!", o=above, u=below)


def _root(items: Sequence[Item]) -> Item:
    if len(items) != 2:
        return None
    radicand, index = _visible(items)
    return Symbol("R!", c=index, w=radicand)


def _around(label: str) -> Builder:
    """Return the builder of an element that holds a row within."""
    return lambda items: Symbol(label, w=make_row(items))


def _enclosed(items: Sequence[Item], attributes: dict[str, str]) -> Item:
    return Symbol(attributes.get("notation", "longdiv"), w=make_row(items))


def _fenced(items: Sequence[Item], attributes: dict[str, str]) -> Item:
    separators = attributes.get("separators", ",").split()
    row = [Symbol(attributes.get("open", "(").replace("[", "&lsqb;"))]
    content = [item for item in items if item is not None and not item.is_invisible()]
    if len(content) > 1 and not separators:
        raise UnreadableMathML("mfenced without separators")
    for position, item in enumerate(content):
        if position:
            row.append(Symbol(separators[min(position - 1, len(separators) - 1)]))
        row.append(item)
    row.append(Symbol(attributes.get("close", ")").replace("]", "&rsqb;")))
    return make_group(row, (*separators, "&comma;") if "," in separators else separators)


def _multiscripts(items: Sequence[Item]) -> Item:
    """Attach pairs of scripts behind and, after `mprescripts`, in front of a base; several pairs are linked in a
    row."""
    if not items:
        return None
    before = next((place for place, item in enumerate(items) if item is PRESCRIPTS), len(items))
    if before % 2 == 0 or (before < len(items) and len(items) % 2):
        return None
    if PRESCRIPTS in items[before + 1 :]:
        raise UnreadableMathML("prescripts twice")
    base = Symbol("W!") if items[0] is None or items[0].is_invisible() else items[0]
    if before > 1:
        _attach_pairs(base, items[1:before], "ba")
    if before < len(items) - 2:
        _attach_pairs(base, items[before + 1 :], "dc")
    return base


def _attach_pairs(base: Symbol, scripts: Sequence[Item], edges: str) -> None:
    for edge, chain in zip(edges, (scripts[::2], scripts[1::2]), strict=True):
        if len(chain) == 1:
            base.link(edge, None if chain[0] is None or chain[0].label == "W!" else chain[0])
            continue
        nodes = [node or Symbol("W!") for node in chain]
        base.links[edge] = nodes[0]
        for node, following in pairwise(nodes):
            node.links["n"] = following


_BUILD: dict[str, Builder] = {
    **dict.fromkeys(("math", "mrow", "mstyle", "mpadded", "msrow", "mscarries", "maction"), make_row),
    **dict.fromkeys(("mtable", "mstack"), make_matrix),
    **dict.fromkeys(("mtr", "mlabeledtr"), make_matrix_row),
    **dict.fromkeys(("mtd", "mscarry"), make_cell),
    **dict.fromkeys(("none", "mphantom", "mspace"), lambda items: Symbol("W!")),
    **dict.fromkeys(("malignmark", "maligngroup"), lambda items: None),
    "semantics": lambda items: items[0] if items else None,
    "mfrac": _fraction,
    "msqrt": _around("R!"),
    "mroot": _root,
    "merror": _around("E!"),
    "msub": _scripts("b", "u"),
    "msup": _scripts("a", "o"),
    "msubsup": _scripts("ba", "uo"),
    "munder": _scripts("u", "u"),
    "mover": _scripts("o", "o"),
    "munderover": _scripts("uo", "uo"),
    "mmultiscripts": _multiscripts,
    "mprescripts": lambda items: PRESCRIPTS,
    "msline": lambda items: Symbol("="),
}
_BUILD_WITH_ATTRIBUTES: dict[str, Callable[[Sequence[Item], dict[str, str]], Item]] = {
    "menclose": _enclosed,
    "mfenced": _fenced,
    "mglyph": lambda items, attributes: Symbol(attributes.get("src", "")),
    "qvar": lambda items, attributes: Symbol("?" + attributes.get("name", "")),
}
