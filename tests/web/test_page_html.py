from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from porism.search.display.results import FormulaUse, HighlightedSegment, segments_html
from porism.text.page import PageRenderer, picture_in_words
from porism.text.read import read_official
from porism.text.segment import Segment, Text
from porism.web.pages.page import SearchState, duration, formula_link, signed, threads
from porism.web.pages.thread_page import ThreadOptions, ThreadRenderer, with_comment_marks


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.0002, "under 1 ms"), (0.0123, "12 ms"), (0.9994, "999 ms"), (2.25, "2.2 s")]
)
def test_durations_are_readable(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(("number", "shown"), [(3, "3"), (0, "0"), (-4, "−4")])
def test_negative_votes_have_a_minus_sign(number: int, shown: str) -> None:
    assert signed(number) == shown


def test_a_picture_without_a_description_of_its_own_is_only_a_picture() -> None:
    assert picture_in_words("enter image description here", "a.png") == "<em>[picture]</em>"
    assert picture_in_words("a <plot>", "a.png") == "<em>[picture: a &lt;plot&gt;]</em>"


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("See https://a.example/b_c_d(e).", 'See <a href="https://a.example/b_c_d(e)">https://a.example/b_c_d(e)</a>.'),
        ("(http://a.example/?x=1&y=2)", '(<a href="http://a.example/?x=1&amp;y=2">http://a.example/?x=1&amp;y=2</a>)'),
        ("I mean _any_ n_1 and n_2, of [tag:limits]", "I mean <em>any</em> n_1 and n_2, of <code>limits</code>"),
        ("x_1 + x_2 = 0 and a_ b_", "x_1 + x_2 = 0 and a_ b_"),
    ],
)
def test_marks_of_comments(comment: str, shown: str) -> None:
    text = with_comment_marks(Text.of([Segment("text", comment)]))
    assert PageRenderer(lambda _: "").render(text).replace(' rel="nofollow noopener"', "") == shown


def test_addresses_in_links_and_code_stay_as_they_are() -> None:
    pieces = [
        Segment("tag", '<a href="https://a.example">'),
        Segment("text", "https://a.example _x_"),
        Segment("tag", "</a>"),
    ]
    assert with_comment_marks(Text.of(pieces)) == Text.of(pieces)


def test_a_thread_is_listed_once_under_a_formula_of_several_posts() -> None:
    uses = [FormulaUse(post, thread, 1, ()) for post, thread in ((7, 5), (9, 8), (6, 5))]
    assert [(one[0].post_id, len(one)) for one in threads(uses)] == [(7, 2), (9, 1)]


def test_punctuation_stays_on_the_line_of_its_formula() -> None:
    post = '<p>Let <span class="math-container" id="1">a&lt;b</span>, then <span class="math-container" id="2">c</span> &amp; on.</p>'
    renderer = ThreadRenderer(ThreadOptions(), None, [], {})
    shown = str(renderer.html(read_official(post)))
    assert '</math></a>,</span> then <a class="math-link"' in shown
    assert shown.count('<span class="kept">') == 1
    assert shown.endswith("</math></a> &amp; on.</p>")


def test_macros_of_one_formula_hold_for_the_thread() -> None:
    post = '<p><span class="math-container" id="1">\\newcommand{\\bra}[1]{\\langle#1|}</span><span class="math-container" id="2">\\bra{z}</span></p>'
    text = read_official(post)
    renderer = ThreadRenderer(ThreadOptions(), None, [text], {})
    shown = str(renderer.html(text))
    assert shown.count("<math") == 1
    assert "⟨</mo><mi>z</mi>" in shown


def test_segments_are_escaped_and_keep_their_punctuation() -> None:
    pieces = [
        HighlightedSegment("text", "a < "),
        HighlightedSegment("formula", "x", "<math><mi>x</mi></math>", 1),
        HighlightedSegment("text", ".) So "),
        HighlightedSegment("text", "<b>", highlighted=True),
        HighlightedSegment("formula", "y", "<math><mi>y</mi></math>", 2, True, (1,)),
        HighlightedSegment("text", " end"),
    ]
    assert segments_html(pieces) == (
        'a &lt; <span class="kept"><math><mi>x</mi></math>.)</span> So <mark>&lt;b&gt;</mark>'
        '<math class="highlight"><mi>y</mi></math> end'
    )


def test_a_formula_links_to_similar_formulas_whatever_it_contains() -> None:
    shown = str(formula_link("a<b\"&\ud800'", "<math></math>"))
    assert shown == (
        '<a class="math-link" href="/search?q=%24a%3Cb%22%26%3F%27%24&amp;tab=formulas" title="Similar formulas"'
        ' data-latex="a&lt;b&#34;&amp;\ud800&#39;"><math></math></a>'
    )


def test_addresses_keep_a_query_whatever_it_contains() -> None:
    query = 'a&b=c #1 + "é" \ud800'
    state = SearchState({"q": query, "tab": "questions", "offset": 0, "expand": True, "accepted": True})
    for address in (state.link(), state.thread_link(5, 7), state.why_link(7)):
        found = parse_qs(urlsplit(address).query)
        assert found["q"] == [query.replace("\ud800", "?")]
    assert parse_qs(urlsplit(state.link(tags="algebra")).query)["tags"] == ["algebra"]
    assert parse_qs(urlsplit(state.why_link(7)).query)["id"] == ["7"]
