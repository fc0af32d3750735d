"""Long runs of one character are read in proportion to their length. Each of these took minutes, since a search began
at every character."""

from __future__ import annotations

import pytest

from porism.formula import parse
from porism.formula.mathml.presentation import _TAG
from porism.search.analytics import _PERSONAL
from porism.search.display.page_math import page_math
from porism.search.generation.answer_text import CITATION
from porism.search.reading.reader import _EDGES
from porism.store.memory.store import split_title
from porism.systems.dprl.math_amr import _GRAPH
from porism.text.markup import decode_latex
from porism.text.segment import Segment, Text, terminal_text
from porism.text.typed.box import read_box
from porism.text.typed.runs import _OPERATOR, _WORD_WITH_POINTS

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


def test_spaces_of_a_formula_with_a_broken_entity() -> None:
    assert decode_latex("a&\\displaystyle amp;" + " " * MANY + "b") == "a&\\displaystyle " + " " * MANY + "b"


def test_a_name_of_an_environment_that_never_ends() -> None:
    assert parse("\\begin{" + " " * 5_000).path == parse("\\begin{ ").path


def test_an_open_tag_that_never_ends() -> None:
    assert not list(_TAG.finditer("<a" + "a" * MANY))
    assert page_math('<mi style="' + "<a" * 10_000) == '<mi style="' + "<a" * 10_000


def test_brackets_of_a_query_that_never_close() -> None:
    typed = "\\[" * 9_000 + " tag:calculus"
    assert read_box(typed).tags == ("calculus",)


def test_commas_of_a_query() -> None:
    assert not _OPERATOR.search("{" + "," * MANY)
    assert _OPERATOR.search("{a,b}")


def test_signs_of_an_address_in_a_query() -> None:
    assert not _PERSONAL.search("@" * MANY)
    assert _PERSONAL.search("mail to a.b@c.d-e.org")


def test_roles_of_a_graph() -> None:
    assert _GRAPH.findall(":" * MANY + '(a / sum :op1 "x")') == [("sum", ""), ("", '"x"')]


def test_a_long_first_line_of_a_text_in_memory() -> None:
    title, body = split_title("a." * MANY)
    assert (title, body) == ("", "a." * MANY)
