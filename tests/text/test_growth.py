"""Hostile texts of a megabyte are read in seconds. If the time of a reader grew with the square of the text, these
tests would take hours."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from porism.corpus.build.fields import make_field
from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.documents.page import read_page
from porism.text.markup import limit_depth
from porism.text.page import PageRenderer
from porism.text.read import clean
from porism.text.typed.box import split_query

READERS: dict[str, Callable[[str], object]] = {
    "markdown": read_markdown,
    "page": read_page,
    "latex": read_latex,
    "html": lambda text: make_field(text, "html", False),
    "text": lambda text: make_field(text, "text", False),
    "compat": lambda text: make_field(text, "html", True),
}
HOSTILE = {
    "markdown": ("`", "<div>", "<ul><li>"),
    "page": ("<math>", "<math", "<div>", "<script>", "<script", "<!--", "<nav>", "<title>", "<a", "<"),
    "html": ("<div>", "<a", "<", "<span>", "<!--", "<pre>", "$", "\\begin{align}"),
    "text": ("`", "**a ", "*a ", "[a](", "$a "),
    "latex": ("\\item[", "\n", "\\textbf{a} ", "\\section{", "{", "%"),
    "compat": ("$", '<span class="math-container">$$'),
}


@pytest.mark.parametrize(("reader", "piece"), [(name, piece) for name, pieces in HOSTILE.items() for piece in pieces])
def test_a_megabyte_of_hostile_text_is_read(reader: str, piece: str) -> None:
    size = {"markdown": 300_000, "text": 100_000}.get(reader, 500_000)
    assert READERS[reader](piece * (size // len(piece))) is not None


def test_closed_elements_before_hostile_ones_are_found() -> None:
    page = read_page(
        "<body><math><annotation encoding='application/x-tex'>x^2</annotation></math>" + "<math>" * 100_000
    )
    assert "x^2" in page.sections[0].body


def test_mathml_of_a_query_is_found_among_tags_that_are_never_closed() -> None:
    parts = list(split_query("<math><mi>x</mi></math> and " + "<math>" * 3000))
    assert parts[0].source == "<math><mi>x</mi></math>"


def test_depth_is_limited_and_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "<div>" * 2000 + "text" + "</div>" * 2000 + "<p>after</p>"
    assert limit_depth(deep).count("<div>") == limit_depth(deep).count("</div>") == 500
    assert clean(deep).endswith("<p>after</p>")
    monkeypatch.setenv("PORISM_TAG_DEPTH", "3")
    cleaned = clean("<ul><li>" * 200 + "text" + "</li></ul>" * 200)
    assert cleaned.count("<ul>") == 3
    assert "text" in cleaned


def test_a_long_list_is_not_deep() -> None:
    flat = "<ul>" + "<li>one<p>two" * 5000 + "</ul>"
    assert limit_depth(flat) == flat


@pytest.mark.parametrize(
    ("before", "separator", "after"),
    [
        ("<p ", " ", ">x</p>"),
        ("<p/", "/", ">x</p>"),
        ("<p ", "='' ", ">x</p>"),
        ("<p>x</p ", " ", ">"),
        ("<p x='>' ", " ", ">x"),
        ('<!-- <p a=" --> <p ', "\n", ">x"),
        ('<p a=x\u00a0b="><p ', " ", '">'),
        ("<p ", "< ", ""),
        ('<style><p a="</style><p ', " ", ">x"),
        ("<p", "<p", ""),
        ("<p/a=", "<p/a=", ""),
    ],
)
def test_many_attributes_take_linear_time(before: str, separator: str, after: str) -> None:
    """A parser compares each attribute with all before it: a post of 300 KB took 8 seconds."""
    began = time.process_time()
    clean(before + separator.join(f"a{number}" for number in range(60_000)) + after)
    assert time.process_time() - began < 2


def test_a_tag_with_few_attributes_stays() -> None:
    few = " ".join(f'data-a{number}="{"1" * 50}"' for number in range(400))
    assert clean(f'<a {few} href="http://x.org/">t</a>').startswith('<a href="http://x.org/"')
    assert "&lt;a" in clean(f"<a {few} {few.replace('a', 'b')}>t</a>")


def test_plain_tags_are_not_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment of 200,000 asterisks has 160,000 tags; a page read each of them anew, which took 0.7 seconds."""
    monkeypatch.delattr(PageRenderer, "_tag")
    text = make_field("*" * 200_000, "text", compat=False).text
    assert PageRenderer(lambda segment: segment.text).render(text).count("<") == 160_000
