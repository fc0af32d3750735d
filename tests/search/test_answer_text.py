"""Answers as text: an even number of dollar signs by the lab's count, at most 1,200 characters, cut after a
sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.evaluate.text_measures import DOLLAR
from porism.search.generation.answer_text import as_text, fit, fitting_text, join, sentences_of
from porism.text.segment import Segment

PIECES = st.lists(
    st.builds(
        Segment,
        st.sampled_from(["text", "formula"]),
        st.text(alphabet="ab $\\.!?[\n A", max_size=12),
    ),
    max_size=8,
)


@given(PIECES)
def test_dollar_signs_are_even_by_the_count_of_the_lab(pieces: list[Segment]) -> None:
    assert len(DOLLAR.findall(as_text(pieces))) % 2 == 0


@given(st.lists(PIECES, max_size=6), st.integers(5, 60))
def test_what_is_kept_fits(sentences: list[list[Segment]], limit: int) -> None:
    assert len(join(fit(sentences, limit))) <= limit


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([Segment("formula", "a"), Segment("formula", "b")], "$a$ $b$"),
        ([Segment("formula", " "), Segment("text", "x")], "x"),
        ([Segment("formula", "x\\ ")], "$x\\ $"),
        ([Segment("text", "5$ and "), Segment("formula", "\\text{$y$}")], "5\uff04 and $\\text{y}$"),
    ],
)
def test_formulas_stay_whole(pieces: list[Segment], text: str) -> None:
    assert as_text(pieces) == text


def test_a_long_answer_ends_with_a_sentence() -> None:
    text = "First we see that $a. B$ holds. Then \\(c\\) follows. " + "X" * 50
    assert fitting_text(text, 60) == "First we see that $a. B$ holds. Then $c$ follows."
    assert fitting_text(text, 45) == "First we see that $a. B$ holds."
    assert len(sentences_of(text)) == 3


def test_a_sentence_that_is_too_long_is_cut_between_words_and_formulas() -> None:
    assert fitting_text("some words before $a+b+c+d+e+f+g$ and after", 30) == "some words before"
    assert fitting_text("some words that go on and on", 15) == "some words"
    assert fitting_text("$" + "x" * 50 + "$", 20) == ""
