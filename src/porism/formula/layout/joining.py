"""Join neighbours of a row that are one symbol, however they were typed or converted."""

from __future__ import annotations

import html
import unicodedata

from porism.formula.layout.commands import command_label
from porism.formula.layout.labels import LONGEST_WITH_ENTITIES, token_labels
from porism.formula.tree import Node, attach

# Labels that may join with a neighbour; a row without them stays as it is.
_FONTS = frozenset(("V!\\mathbb", "V!\\Bbb", "V!\\mathfrak", "V!\\mathscr", "V!\\mathcal", "V!\\mathbf"))
JOINABLE = frozenset((".", "⋅", ":", "′", "′′", "W!", "&", "\u0338")) | _FONTS
# Edges of scripts above and below the baseline, pre-scripts included.
_ABOVE, _BELOW = "aoc", "bud"
_TRIPLES = {".": "V!…", "⋅": "V!⋯"}


def join_neighbours(row: list[Node]) -> list[Node]:
    """Join dots to an ellipsis, primes, `:=`, a point with its decimals; turn scripts on an empty base into
    pre-scripts."""
    out: list[Node] = []
    for node in _join_primes(row):
        label = node.label
        if out:
            if label == ";":
                if _entity(out, node):
                    continue
            elif out[-1].label in _FONTS and not out[-1].children and label[:2] == "V!" and len(label) == 3:
                out[-1] = _joined(command_label(out[-1].label[2:], label[2]), out[-1], node)
                continue
            elif label == "\u0338":
                out[-1].label = unicodedata.normalize("NFC", out[-1].label + label)
                continue
            before = out[-1]
            if label in _TRIPLES and len(out) > 1 and before.label == label == out[-2].label:
                if not (before.children or out[-2].children):
                    out[-2:] = [_joined(_TRIPLES[label], out[-2], before, node)]
                    continue
            elif label == "=" and before.label == ":" and not before.children:
                out[-1] = _joined(":=", before, node)
                continue
            elif label[:1] == "′" == before.label[:1] and not before.children:
                out[-1] = _joined(before.label + label, before, node)
                continue
            elif label[:2] == "N!" and before.label == "." and not before.children and label[2] != ".":
                if len(out) == 1 or out[-2].label[1:2] != "!":
                    out[-1] = _joined("N!." + label[2:], before, node)
                    continue
            elif before.label == "W!" and label[1:2] == "!" and _has_room(before, node):
                out[-1] = _prescripted(before, node)
                continue
        out.append(node)
    return [node for node in out if node.label != "W!" or node.children]


def _entity(out: list[Node], last: Node) -> bool:
    """Join an HTML entity that was escaped once too often and set symbol by symbol (`&`, `l`, `t`, `;`) to its
    character."""
    for at in range(len(out) - 1, max(len(out) - 8, -1), -1):
        if out[at].label == "&":
            break
    else:
        return False
    nodes = [*out[at:], last]
    text = "".join(node.label.split("!")[-1] for node in nodes)
    char = html.unescape(text[:LONGEST_WITH_ENTITIES])
    if len(char) != 1 or any(node.children for node in nodes[:-1]):
        return False
    del out[at:]
    found = [_joined(label, *nodes) for label in token_labels("mo", html.escape(char))]
    if found and found[0].label == "′" and out and "a" not in out[-1].edges:
        attach(out[-1], "a", found[0])
    else:
        out.extend(found)
    return True


def _join_primes(row: list[Node]) -> list[Node]:
    """Join runs of primes, each run at once: prime by prime, a long run would take quadratic time."""
    out: list[Node] = []
    at = 0
    while at < len(row):
        end = at + 1
        if row[at].label[:1] == "′":
            while end < len(row) and row[end].label[:1] == "′" and not row[end - 1].children:
                end += 1
        run = row[at:end]
        out.append(run[0] if len(run) == 1 else _joined("".join([node.label for node in run]), *run))
        at = end
    return out


def _joined(label: str, *nodes: Node) -> Node:
    places = tuple(place for node in nodes for place in node.places)
    return Node(label, nodes[-1].children, nodes[-1].edges, places)


def _has_room(empty: Node, node: Node) -> bool:
    """Check that the symbol has no pre-scripts, and the empty base at most one script above and one below."""
    above = sum(edge in _ABOVE for edge in empty.edges)
    below = sum(edge in _BELOW for edge in empty.edges)
    return above <= 1 and below <= 1 and "c" not in node.edges and "d" not in node.edges


def _prescripted(empty: Node, node: Node) -> Node:
    """Make the scripts of an empty base the pre-scripts of the next symbol: `{}^n C`."""
    for edge, child in zip(empty.edges, empty.children, strict=True):
        attach(node, "c" if edge in _ABOVE else "d", child)
    return node
