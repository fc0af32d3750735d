"""The binary format of trees."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.formula import Node, parse
from porism.formula.binary import VERSION, pack, pack_tree, unpack, unpack_layout, unpack_operators, unpack_tree
from porism.formula.tree import EDGES

FORMULAS = ["x", "", r"\sum_{k=1}^n k^2=\frac{n(n+1)}{2}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "(", "x" * 30_000]


def same(one: Node, other: Node) -> bool:
    return one == other and [node.places for node in one.walk()] == [node.places for node in other.walk()]


@pytest.mark.parametrize("latex", FORMULAS, ids=lambda latex: latex[:20])
def test_round_trip(latex: str) -> None:
    parsed = parse(latex)
    data = pack(parsed)
    layout, operators = unpack(data)
    assert data[0] == VERSION
    assert same(layout, parsed.layout)
    assert same(operators, parsed.operators)
    assert same(unpack_layout(data), parsed.layout)
    assert same(unpack_operators(data), parsed.operators)


labels = st.text(st.characters(exclude_characters="\0"), max_size=5)
places = st.lists(st.integers(0, 65535), max_size=3).map(tuple)
leaves = st.builds(Node, labels, st.none(), st.just(""), places)


def branch(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    edges = st.lists(st.tuples(st.sampled_from(EDGES), children), min_size=1, max_size=4)
    return st.builds(
        lambda label, pairs, at: Node(label, [child for _, child in pairs], "".join(edge for edge, _ in pairs), at),
        labels,
        edges,
        places,
    )


@given(st.recursive(leaves, branch, max_leaves=30))
def test_any_tree_round_trips(tree: Node) -> None:
    found, end = unpack_tree(b"xyz" + pack_tree(tree), 3)
    assert same(found, tree)
    assert end == 3 + len(pack_tree(tree))


@pytest.mark.parametrize(("data", "found"), [(b"", "are missing"), (b"\x07", "are stored in format 7")])
def test_another_format_is_reported(data: bytes, found: str) -> None:
    with pytest.raises(PorismError) as caught:
        unpack(data)
    assert str(caught.value) == f"the trees {found}; this version reads format 1\n  fix: build the collection again"


@pytest.mark.parametrize("edges", [0, 1, 5, 8])
def test_edges_that_do_not_fit_the_children_are_damage(edges: int) -> None:
    """A flipped bit in the number of edges, found by fuzzing: the tree was read, and its text failed later."""
    data = bytearray(pack(parse("a^2+b^2=c^2")))
    head = struct.unpack_from("<4I", data, 1)
    struct.pack_into("<4I", data, 1, head[0], head[1], edges, head[3] + head[2] - edges)
    for read in (unpack, unpack_layout):
        with pytest.raises(PorismError, match="damaged"):
            read(bytes(data))
