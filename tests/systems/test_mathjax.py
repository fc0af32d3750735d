"""Boxes of glyphs by the real MathJax, which `make programs` installs beside the virtual environment's packages."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from porism.systems.xyphoc.boxes import GlyphBox, mathjax_formula

PACKAGES = Path(sys.prefix) / "node" / "node_modules"


def middle(box: GlyphBox) -> float:
    return (box.top + box.bottom) / 2


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.skipif(not (PACKAGES / "mathjax").exists(), reason="mathjax is not installed (make programs, needs npm)")
def test_boxes_of_mathjax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_PATH", str(PACKAGES))
    mathjax_formula.cache_clear()
    found = {box.name: box for box in mathjax_formula(r"\frac{a}{\sqrt{b}}")}
    assert set(found) == {"𝑎", "𝑏", "√", "-"}
    assert middle(found["𝑎"]) > middle(found["-"]) > middle(found["𝑏"])
    assert found["√"].right >= found["𝑏"].right
    assert [box.name for box in mathjax_formula(r"\sin x")] == ["s", "i", "n", "𝑥"]  # no invisible operator
    mathjax_formula.cache_clear()
