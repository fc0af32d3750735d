"""The texts of a query that an encoder reads."""

from __future__ import annotations

from porism.search.query import read_query
from porism.search.retrieval.query_terms import encoder_text, encoder_texts

TITLE = 'Roots of <span class="math-container" id="1">x^2</span>'


def test_a_question_is_read_as_a_whole_and_by_its_title() -> None:
    query = read_query(TITLE, "<p>How many\n are there?</p>")
    assert encoder_texts(query) == ("Roots of $x^2$\nHow many are there?", "Roots of $x^2$")
    assert encoder_text(query) == encoder_texts(query)[0]


def test_a_title_or_a_body_alone_is_one_text() -> None:
    assert encoder_texts(read_query(TITLE)) == ("Roots of $x^2$",)
    assert encoder_texts(read_query("", "<p>How many?</p>")) == ("How many?",)


def test_a_query_without_text_has_none() -> None:
    assert encoder_texts(read_query("")) == ()
