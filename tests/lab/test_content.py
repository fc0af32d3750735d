from __future__ import annotations

import re

import pytest

from lab_case import ATTACK, LabCase
from porism.lab.judging.content import ContentRenderer, written_blocks


@pytest.fixture
def content(case: LabCase) -> ContentRenderer:
    return ContentRenderer(case.collection, lambda thread, post: f"/thread/{thread}#p{post}")


def math(latex: str, name: str = "") -> str:
    return (
        f'<span class="math-container" id="{name}">{latex}</span>'
        if name
        else f'<span class="math-container">{latex}</span>'
    )


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("https://math.stackexchange.com/questions/2/sum-of-odd", "/thread/2#p2"),
        ("http://math.stackexchange.com/questions/2", "/thread/2#p2"),
        ("//math.stackexchange.com/q/2/77", "/thread/2#p2"),
        ("https://math.stackexchange.com/a/14", "/thread/2#p14"),
        ("https://math.stackexchange.com/questions/2/sum/14#14", "/thread/2#p14"),
        ("https://math.stackexchange.com/questions/2/sum#answer-15", "/thread/2#p15"),
        ("/questions/2/sum", "/thread/2#p2"),
        ("https://math.stackexchange.com/questions/999", None),
        ("https://math.stackexchange.com/users/1", None),
        ("https://math.stackexchange.com.evil.org/q/2", None),
        ("https://evil.org/q/2", None),
        ("javascript:alert(1)", None),
        ("javascript://math.stackexchange.com/q/2%0aalert(1)", None),
        ("https://[", None),
        ("https://math.stackexchange.com/q/99999999999999999999999", None),
    ],
)
def test_only_links_into_the_collection_are_followed(content: ContentRenderer, href: str, address: str | None) -> None:
    assert content.link(href) == address


def test_links_into_the_collection_open_a_new_tab_and_others_are_disabled(content: ContentRenderer) -> None:
    shown = content.render(
        '<a href="https://math.stackexchange.com/a/14" onclick="x()">in</a> <a href="https://evil.org">out</a>'
    )
    assert shown == (
        '<a href="/thread/2#p14" target="_blank" rel="noopener nofollow">in</a> '
        '<a class="disabled" title="disabled: outside the collection">out</a>'
    )


def test_pictures_are_described_and_not_loaded(content: ContentRenderer) -> None:
    assert (
        content.render('<img src="https://evil.org/x.png" alt=\'a "plot" <b>\'>')
        == '<span class="picture">picture not shown: a &quot;plot&quot; &lt;b&gt;</span>'
    )


def test_formulas_become_mathml_and_one_is_highlighted(content: ContentRenderer) -> None:
    shown = content.render(f"<p>{math('a&lt;b', 'q_1')} and {math('c', '7')} and {math('d')}</p>", highlight="7")
    assert shown == (
        "<p><math><mi>a</mi><mo>&lt;</mo><mi>b</mi></math> and "
        '<mark class="formula"><math><mi>c</mi></math></mark> and <math><mi>d</mi></math></p>'
    )


def test_hostile_content_loses_everything_that_could_run(content: ContentRenderer) -> None:
    for shown in (content.render(ATTACK), "".join(content.blocks(ATTACK))):
        tags = set(re.findall(r"<\s*/?\s*([a-zA-Z0-9]+)", shown))
        assert not tags & {
            "script",
            "iframe",
            "svg",
            "form",
            "input",
            "button",
            "style",
            "meta",
            "body",
            "textarea",
            "img",
        }
        assert not re.search(r"<[^>]*\son\w+\s*=", shown)
        assert "javascript:" not in shown
        assert "An answer" in shown


def test_the_content_brings_no_tokens_of_its_own(content: ContentRenderer) -> None:
    assert content.render("<p>\ue0000\ue001 x</p>") == "<p>\ufffd0\ufffd x</p>"


def test_blocks_are_the_top_level_elements(content: ContentRenderer) -> None:
    blocks = content.blocks(f"loose {math('x')} <b>bold</b><p>one</p> <p></p> tail <ul><li>two</li></ul>")
    assert blocks == [
        "<p>loose <math><mi>x</mi></math> <b>bold</b></p>",
        "<p>one</p>",
        "<p> tail </p>",
        "<ul><li>two</li></ul>",
    ]
    assert content.blocks("") == []
    assert content.blocks("<p></p>") == []


def test_a_written_answer_looks_like_a_post() -> None:
    assert written_blocks("Let $x$ be.\nSo <b>\\$5\n\n$$y$$") == [
        "<p>Let <math><mi>x</mi></math> be.<br>So &lt;b&gt;$5</p>",
        '<p><span class="display"><math><mi>y</mi></math></span></p>',
    ]
