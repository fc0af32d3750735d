"""Compressed trees of the formula index."""

from __future__ import annotations

import pytest

from porism.formula import parse
from porism.formula.binary import pack
from porism.store.embedded.formulas.store import compress_trees, expand_trees


@pytest.mark.parametrize("latex", ["", "x", r"\frac{a+b}{\sqrt{2}}", r"\sum_{n=1}^\infty \frac{1}{n^2}", "∰\ud800"])
def test_compressed_trees_expand_to_what_they_were(latex: str) -> None:
    packed = pack(parse(latex))
    assert expand_trees(compress_trees(packed)) == packed


def test_common_formulas_take_less_than_half_of_their_size() -> None:
    packed = [pack(parse(latex)) for latex in (r"\frac{a+b}{\sqrt{2}}", "a^2+b^2=c^2", "f(x)=0", r"\sin(x) \leq 1")]
    assert sum(len(compress_trees(one)) for one in packed) < sum(map(len, packed)) / 2
