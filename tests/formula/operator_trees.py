"""Shared by the tests of operator trees: the list of constructs, and trees for property tests."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from porism.formula.tree import Node

LINES = [
    line.split("\t")
    for line in Path(__file__).with_name("operators.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


NAMES = st.sampled_from(["V!a", "V!b", "V!c", "V!x", "V!y"])
LEAVES = st.one_of(NAMES, st.sampled_from(["N!0", "N!1", "N!2", "C!π", "V!e", "V!C", "T!if"])).map(Node)
LABELS = st.sampled_from(
    [
        *("U!plus", "U!times", "U!dot", "O!minus", "O!divide", "O!divide-slash", "O!SUP", "O!SUB", "O!root", "U!eq"),
        *(
            "O!gt",
            "O!leq",
            "O!geq-slant",
            "O!chain",
            "F!sin",
            "F!abs",
            "O!apply",
            "O!inverse",
            "O!presub",
            "M!S-2",
            "F!gcd",
        ),
        *("O!implied-by", "U!and", "F!log_", "O!given"),
    ]
)


def trees() -> st.SearchStrategy[Node]:
    """Generate operator trees, including some that no formula has."""
    return st.recursive(
        LEAVES,
        lambda inner: st.builds(lambda label, kids: Node(label, kids), LABELS, st.lists(inner, min_size=1, max_size=4)),
        max_leaves=14,
    )


def renamed(tree: Node, names: dict[str, str]) -> Node:
    return Node(names.get(tree.label, tree.label), [renamed(child, names) for child in tree.children])


def shuffled(tree: Node, turn: int) -> Node:
    kids = [shuffled(child, turn + 1) for child in tree.children]
    if tree.label[:2] == "U!" and kids:
        cut = turn % len(kids)
        kids = (kids[cut:] + kids[:cut])[::-1]
    return Node(tree.label, kids)
