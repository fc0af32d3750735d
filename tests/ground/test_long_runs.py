"""Long runs of one character are read in proportion to their length. Each of these took minutes, since a search began at every character."""

from __future__ import annotations

import pytest

from porism.search.generation.citations import CITATION
from porism.search.reading.runs import _WORD_WITH_POINTS
from porism.search.reading.wording import _EDGES
from porism.text.render import terminal_text
from porism.text.segment import Segment, Text

MANY = 400_000


@pytest.mark.parametrize("character", [" ", "\t", "\n", " \n"])
def test_blank_lines_of_a_post(character: str) -> None:
    text = Text.of([Segment("text", f"a{character * MANY}b\n \n\t\nc")])
    assert terminal_text(text).split() == ["a", "b", "c"]
    assert terminal_text(text).endswith("b\n\nc")


def test_punctuation_of_a_query() -> None:
    assert _EDGES.sub("", "a" + "," * MANY + "bb!?, ") == "a" + "," * MANY + "bb"


def test_a_long_word_of_a_query() -> None:
    assert not _WORD_WITH_POINTS.search("a" * MANY)
    assert _WORD_WITH_POINTS.search("a" * MANY + "-to")


def test_spaces_before_a_citation() -> None:
    assert CITATION.sub("", "a" + " " * MANY + "b [1, 2]") == "a" + " " * MANY + "b"
