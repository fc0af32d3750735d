"""Visual ids."""

from __future__ import annotations

import pytest

from porism.corpus.build.visual import visual_key, visual_text
from porism.formula import parse
from porism.formula.parsed import opaque


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e^{x}", "e^x"),
        ("f''", r"f^{\prime\prime}"),
        (r"f:C\to B", r"f\colon C\to B"),
        (r"\binom{3}{1}", r"3\choose 1"),
        (r"a\,b", "ab"),
        (r"\infty", "∞"),
    ],
)
def test_formulas_that_share_a_visual_id_in_the_lab(one: str, other: str) -> None:
    assert visual_text(parse(one)) == visual_text(parse(other))


def test_the_key_of_a_square() -> None:
    assert visual_text(parse("x^2")) == ("slt", "[V!x,a[N!2]]")


def test_layout_keys_and_latex_keys_never_mix() -> None:
    assert visual_text(opaque("a b")) == ("latex", "ab")
    assert visual_text(parse(r"\newcommand{\a}{b}")) == ("latex", r"\newcommand{\a}{b}")
    assert visual_key(parse("x")) != visual_key(parse("y"))


def test_spaces_of_any_width_share_a_key_but_removed_content_does_not() -> None:
    assert visual_text(parse(r"\quad")) == visual_text(parse(r"\ \ \\"[:-1])) == ("slt", "[W!]")
    assert visual_text(parse("</p><p>")) == ("latex", "</p><p>")
