"""Passages: whole sentences with complete formulas."""

from __future__ import annotations

from porism.search.display.snippet import _within, best_window, whole_sentences
from porism.text.segment import Segment, Text


def texts(sentences: list[list[Segment]]) -> list[str]:
    return [" ".join("".join(f"${one.text}$" if one.is_formula else one.text for one in s).split()) for s in sentences]


def test_a_sentence_keeps_its_formulas() -> None:
    post = Text.of(
        [
            Segment("text", "Let "),
            Segment("formula", "n", 1, 1),
            Segment("text", " be even. Then i.e. "),
            Segment("formula", "n^2", 2, 2),
            Segment("text", " is even: done. "),
            Segment("tag", "</p>"),
            Segment("tag", "<p>"),
            Segment("text", "Next paragraph"),
        ]
    )
    assert texts(whole_sentences(post)) == [
        "Let $n$ be even.",
        "Then i.e. $n^2$ is even: done.",
        "Next paragraph",
    ]


def test_the_window_starts_at_a_sentence() -> None:
    assert best_window([0.0, 2.0, 1.0], [50, 40, 30], 80) == (1, 3)


def test_a_formula_that_does_not_fit_is_left_out_whole() -> None:
    pieces = [Segment("text", "We have "), Segment("formula", "x" * 50, 1, 1), Segment("text", " so.")]
    assert _within(pieces, 30) == pieces[:1]
    shown = _within([Segment("text", "some words that are too long for the limit")], 20)
    assert shown == [Segment("text", "some words that …")]
