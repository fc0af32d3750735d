"""Posts, topics and written answers as assessors see them: clean HTML, MathML, and links only into the collection."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.lab.judging.assignments import Card
from porism.search.display.page_math import page_math
from porism.search.display.post_formulas import mathml_of
from porism.text.page import PageRenderer
from porism.text.read import official_number, read_official, read_plain
from porism.text.segment import Segment, Text

HOSTS = frozenset({"math.stackexchange.com", "www.math.stackexchange.com"})
# `/questions/12/a-title/34#34`, `/q/12`, `/a/34`: the last number is the id of the post.
POST_PATH = re.compile(r"/(?:questions|q|a)/(\d+)(?:/[^/]*(?:/(\d+))?)?/?")
ANSWER_ANCHOR = re.compile(r"(?:answer-)?(\d+)")
NEW_TAB = ' target="_blank" rel="noopener nofollow">'
DISABLED_LINK = '<a class="disabled" title="disabled: outside the collection">'

# Thread id and post id -> address of the page that shows the post in its thread.
Address = Callable[[int, int], str]


def page_mathml(latex: str) -> str:
    """Return a formula as MathML for a page without inline styles."""
    return page_math(mathml_of(latex))


class ContentRenderer:
    """Renders the posts of a collection, topics and written answers for assessors."""

    def __init__(self, collection: Content, address: Address, math: Callable[[str], str] = page_mathml) -> None:
        self.collection, self.address, self.math = collection, address, math
        # A collection never changes, and an assessor sees the same topic beside hundreds of items.
        self._cached_html = functools.lru_cache(maxsize=4096)(
            lambda text, highlight: self._renderer(highlight).render(_segmented(text))
        )
        self._cached_blocks = functools.lru_cache(maxsize=4096)(
            lambda text: self._renderer("").blocks(_segmented(text))
        )

    def link(self, href: str) -> str | None:
        """Return the address of a linked post of the collection, or None for every other link."""
        try:
            parts = urlsplit(href.strip())
        except ValueError:
            return None
        if parts.netloc.lower() not in HOSTS and (parts.netloc or parts.scheme):
            return None
        found = POST_PATH.fullmatch(parts.path)
        if found is None:
            return None
        anchor = ANSWER_ANCHOR.fullmatch(parts.fragment)
        named = [int(number) for number in (anchor and anchor[1], found[2], found[1]) if number and len(number) < 18]
        known = self.collection.known_posts(named)
        return next((self.post_address(number) for number in named if number in known), None)

    def post_address(self, post_id: int) -> str:
        """Return the address of a post in its thread."""
        return self.address(self.collection.posts_by_id([post_id])[post_id].thread_id, post_id)

    def render(self, text: Text | str, highlight: str = "") -> str:
        """Return a post, or a topic in the official form, as HTML; highlight the formula with this id."""
        return self._cached_html(text, highlight)

    def blocks(self, text: Text | str) -> list[str]:
        """Return the same as top-level blocks (paragraphs, lists, ...), so that one can be marked as most useful."""
        return list(self._cached_blocks(text))

    def _renderer(self, highlight: str) -> PageRenderer:
        highlighted_id = official_number(highlight)

        def formula(segment: Segment) -> str:
            shown = self.math(segment.text)
            is_highlighted = bool(highlighted_id) and segment.formula_id == highlighted_id
            return f'<mark class="formula">{shown}</mark>' if is_highlighted else shown

        def link(href: str) -> str:
            """Return the opening tag: a link into the collection opens a new tab, any other is disabled."""
            address = self.link(href) if href else None
            return DISABLED_LINK if address is None else f'<a href="{html.escape(address)}"{NEW_TAB}'

        def picture(alt: str, address: str) -> str:
            return f'<span class="picture">picture not shown{": " + html.escape(alt) if alt else ""}</span>'

        return PageRenderer(formula, link, picture)


def _segmented(text: Text | str) -> Text:
    return read_official(text) if isinstance(text, str) else text


def written_blocks(text: str, math: Callable[[str], str] = page_mathml) -> list[str]:
    """Return a written answer of Task 3 (text with LaTeX between dollar signs) as blocks of HTML, like a post."""
    paragraphs = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    renderer = PageRenderer(lambda segment: math(segment.text))
    return [f"<p>{renderer.render(read_plain(paragraph))}</p>" for paragraph in paragraphs if paragraph.strip()]


def answer_blocks(
    content: ContentRenderer, card: Card, text: str, posts: Mapping[int, Post] | None = None
) -> list[str]:
    """Return the answer of Task 1 or 3 as blocks of HTML. A post and a written answer look the same."""
    if card.post_id:
        return content.blocks(_post(content, card.post_id, posts).body)
    return written_blocks(text, content.math)


def formula_html(content: ContentRenderer, card: Card, posts: Mapping[int, Post] | None = None) -> str:
    """Return a post of Task 2 with its formula highlighted; a question comes with its title."""
    post = _post(content, card.post_id or 0, posts)
    formula = str(card.formula_id or 0)
    title = f"<h4>{content.render(post.title, formula)}</h4>" if post.title else ""
    return title + content.render(post.body, formula)


def _post(content: ContentRenderer, number: int, posts: Mapping[int, Post] | None) -> Post:
    return (content.collection.posts_by_id([number]) if posts is None else posts)[number]
