from __future__ import annotations

import pytest

from porism.text.find import decode_accents


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"Koll\'ar", "Kollár"),
        (r"Crit\`ere", "Critère"),
        (r"l'H\^{o}pital", "l'Hôpital"),
        (r"G\"odel and Erd\H{o}s", "Gödel and Erdős"),
        (r"\v{C}ech", "Čech"),
        (r"St{\o}rmer, \L ukasiewicz", "Størmer, Łukasiewicz"),
        (r"Barb\u{a", "Barbă"),
    ],
)
def test_accents_of_latex_become_letters(latex: str, text: str) -> None:
    assert decode_accents(latex) == text


@pytest.mark.parametrize("text", [r"$\'a$ and $\o$", r"\oint f", r"\lambda", "no backslash", r"a \\ b", r"\{x\}"])
def test_formulas_and_commands_stay(text: str) -> None:
    assert decode_accents(text) == text
