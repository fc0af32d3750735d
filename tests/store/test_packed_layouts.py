"""Layout trees read in bulk give the tuples and the nodes that they give one by one."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.analysis.features import flat_layout
from porism.errors import PorismError
from porism.formula import Node, parse
from porism.formula.binary import HEAD, pack_tree
from porism.formula.layout.tuples import mathtuples
from porism.formula.tree import EDGES
from porism.store.embedded.formulas.packed_layouts import layout_table
from porism.store.embedded.terms.dictionary import hash_terms

LATEX = [
    "x",
    "",
    r"\frac{a+b}{2}=c^2",
    r"{}^{12}_{6}C + \sqrt[3]{x} + {}_1F_2(a;b,c;z)",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}^{-1}",
    r"x_1+x_2+x_3+x_4+x_5+x_6+x_7+x_8 = x_1x_1x_1x_1",
    r"\text{" + "a long text, " * 30 + r"} + \text{if}\ x",
    "+".join(["a"] * 60),  # a row that is cut at the depth of 100
    "+".join(["b"] * 200),  # more nodes than are kept
    "x^{" * 12 + "y" + "}" * 12,
    r"𝒳 ∪ α′′ ≤ 5!",
]


def packed(*layouts: Node) -> list[bytes]:
    """Return trees as they are stored, each with an operator tree that nobody reads."""
    return [b"\1" + pack_tree(layout) + pack_tree(Node("W!")) for layout in layouts]


def check(*layouts: Node) -> None:
    """Check that all trees together give what each gives alone."""
    found = layout_table(packed(*layouts))
    tuples = [mathtuples(layout) for layout in layouts]
    flats = [flat_layout(layout) for layout in layouts]
    assert found.sizes.tolist() == [len(tokens) for tokens in tuples]
    assert found.hashes.tolist() == hash_terms([token for tokens in tuples for token in tokens]).tolist()
    labels = [label for flat in flats for label in flat.labels]
    assert found.labels == list(dict.fromkeys(labels))
    assert [found.labels[number] for number in found.label_ids] == labels
    assert found.edges.tolist() == [edge for flat in flats for edge in flat.edges]
    assert found.ends.tolist()[-1] == len(labels)


def test_formulas() -> None:
    layouts = [parse(latex).layout for latex in LATEX]
    check(*layouts)
    for layout in layouts:
        check(layout)


LABELS = st.sampled_from(
    ["V!x", "V!X", "N!1", "=", "+", ",", "?x", "?", "T!if so", "M!()1x2", "O!divide", "!", "W!", "V!ℝ"]
)


def trees(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Return trees with any edges in their order."""

    def join(label: str, below: dict[str, Node]) -> Node:
        edges = "".join(edge for edge in EDGES if edge in below)
        return Node(label, [below[edge] for edge in edges], edges)

    return st.builds(join, LABELS, st.dictionaries(st.sampled_from(EDGES), children, min_size=1, max_size=4))


@settings(max_examples=60)
@given(st.lists(st.recursive(LABELS.map(Node), trees, max_leaves=40), min_size=1, max_size=5))
def test_any_trees(layouts: list[Node]) -> None:
    check(*layouts)


def test_damaged_trees() -> None:
    whole = packed(parse("a+b^2").layout)[0]
    nodes, places, edges, labels = HEAD.unpack_from(whole, 1)
    after = 1 + HEAD.size
    wrong = [
        whole[:30],
        whole[:1] + struct.pack("<4I", nodes + 1, places, edges, labels) + whole[after:],
        whole[:1] + struct.pack("<4I", nodes, places, edges, labels + 9999) + whole[after:],
        whole[:after] + b"\7" + whole[after + 1 :],
        whole.replace(b"nn", b"nz"),
    ]
    for data in wrong:
        with pytest.raises(PorismError, match="the stored trees of a formula are damaged"):
            layout_table([data])
    with pytest.raises(PorismError, match="format 9"):
        layout_table([b"\x09"])
