from __future__ import annotations

import pytest

from porism.text.bare import split_bare


def marked(text: str) -> str:
    return "".join(f"[{piece}]" if formula else piece for piece, formula in split_bare(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a^2+b^2=c^2", "[a^2+b^2=c^2]"),
        ("Proof that n^{3}+2n is divisible by 3 ", "Proof that [n^{3}+2n] is divisible by 3 "),
        (
            r"How many solutions does \cos x+\cos(2x)=-\frac{1}{2} have?",
            r"How many solutions does [\cos x+\cos(2x)=-\frac{1}{2}] have?",
        ),
        (
            r"Evaluating \int_{0}^{1}\frac{\sin x}{x}\,\mathrm{d}x ?",
            r"Evaluating [\int_{0}^{1}\frac{\sin x}{x}\,\mathrm{d}x] ?",
        ),
        ("solutions to ax+by=c ?", "solutions to [ax+by=c] ?"),
        ("Is 0.999... = 1?", "Is [0.999... = 1]?"),
        ("f(x) = x+1 is linear", "[f(x) = x+1] is linear"),
        ("What is a p-adic number?", "What is a p-adic number?"),
        ("the Cauchy-Schwarz inequality", "the Cauchy-Schwarz inequality"),
        ("a group of order 2", "a group of order 2"),
        ("an open { brace ^ never closes", "an open { brace ^ never closes"),
        ("", ""),
    ],
)
def test_formulas_without_delimiters(text: str, expected: str) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize("text", ["{{{", "^", "\\", "$", "= = =", "\ud800", "a" * 10000, "{" * 500 + "^"])
def test_any_string_is_legal_and_nothing_is_lost(text: str) -> None:
    assert "".join(piece for piece, _ in split_bare(text)) == text
