"""What an assessor sees of a post, a topic or a written answer: clean HTML, native MathML, links only into the collection."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable
from urllib.parse import urlsplit

import lxml.html
import nh3

from porism.corpus.store.collection import Collection
from porism.formula import parse
from porism.text.html import ATTRIBUTES, TAGS, fill, token, without_tokens

HOSTS = frozenset({"math.stackexchange.com", "www.math.stackexchange.com"})
# `/questions/12/a-title/34#34`, `/q/12`, `/a/34`: the last number names the post.
POST_PATH = re.compile(r"/(?:questions|q|a)/(\d+)(?:/[^/]*(?:/(\d+))?)?/?")
ANSWER_ANCHOR = re.compile(r"(?:answer-)?(\d+)")
# Formulas of posts have numbers as ids, those of topics `q_12` or none.
SPAN = re.compile(r'<span class="math-container"(?: id="([^"]*)")?>(.*?)</span>', re.DOTALL)
IMAGE = re.compile(r'<img(?: alt="([^"]*)")?[^>]*>')
LINK = re.compile(r"<a [^>]*>|<a>")
TAG = re.compile(r"<[^>]*>")
BLOCKS = frozenset(["blockquote", "div", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"])
NEW_TAB = ' target="_blank" rel="noopener nofollow">'
DEAD_LINK = '<a class="dead" title="not followed: outside the collection">'
DOLLARS = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)

# (thread id, post id) -> address of the page that shows the post in its thread.
Address = Callable[[int, int], str]


@functools.lru_cache(maxsize=20_000)
def mathml(latex: str) -> str:
    """A formula for a page."""
    return parse(latex).mathml


def _formula(latex: str, lit: bool) -> str:
    return f'<mark class="formula">{mathml(latex)}</mark>' if lit else mathml(latex)


class Content:
    """Turns posts of a collection, topics and written answers into what is shown."""

    def __init__(self, collection: Collection, address: Address, hosts: frozenset[str] = HOSTS) -> None:
        self.collection = collection
        self.address = address
        self.hosts = hosts
        # A collection never changes, and an assessor sees the same topic beside hundreds of items.
        self._rendered = functools.lru_cache(maxsize=4096)(self._render)
        self._cut_up = functools.lru_cache(maxsize=4096)(self._blocks)

    def link(self, href: str) -> str | None:
        """The address of a linked post of the collection; None for every other link."""
        try:
            parts = urlsplit(href.strip())
        except ValueError:
            return None
        if parts.netloc.lower() not in self.hosts and (parts.netloc or parts.scheme):
            return None
        found = POST_PATH.fullmatch(parts.path)
        if found is None:
            return None
        anchor = ANSWER_ANCHOR.fullmatch(parts.fragment)
        for number in (anchor and anchor[1], found[2], found[1]):
            if number and len(number) < 18 and self.collection.has_post(int(number)):
                return self.post_address(int(number))
        return None

    def post_address(self, post_id: int) -> str:
        """The address of a post in its thread."""
        return self.address(self.collection.post(post_id).thread_id, post_id)

    def _attribute(self, tag: str, name: str, value: str) -> str | None:
        if tag == "a":
            return self.link(value) if name == "href" else None
        if tag == "img":
            return re.sub(r'[<>"&]', " ", value) if name == "alt" else None
        return value

    def _clean(self, text: str) -> str:
        """Whitelisted tags; links into the collection open a new tab, other links stay as text; pictures are named, not loaded."""
        clean = nh3.clean(
            text,
            tags=TAGS,
            attributes={**ATTRIBUTES, "a": {"href"}, "img": {"alt"}},
            attribute_filter=self._attribute,
            url_schemes={"http", "https"},
            link_rel=None,
        )
        clean = IMAGE.sub(
            lambda found: f'<span class="picture">picture not shown{": " + found[1] if found[1] else ""}</span>', clean
        )
        return LINK.sub(lambda found: found[0][:-1] + NEW_TAB if " href=" in found[0] else DEAD_LINK, clean)

    def render(self, text: str, lit: str = "") -> str:
        """The HTML of a post or topic for the page; the formula with the id `lit` is lit."""
        return self._rendered(text, lit)

    def _render(self, text: str, lit: str) -> str:
        body, formulas = _cut(text)
        return _filled(self._clean(body), formulas, lit)

    def blocks(self, text: str, lit: str = "") -> list[str]:
        """The same, cut into its top-level blocks (paragraphs, lists, ...), so that one can be marked as the most useful."""
        return list(self._cut_up(text, lit))

    def _blocks(self, text: str, lit: str) -> list[str]:
        body, formulas = _cut(text)
        return [_filled(block, formulas, lit) for block in _top_level(self._clean(body))]


Formulas = list[tuple[str, str]]


def _cut(text: str) -> tuple[str, Formulas]:
    """The text with a token in the place of each formula, so that LaTeX never meets the cleaner; and (id, LaTeX) of each."""
    formulas: Formulas = []

    def put(found: re.Match[str]) -> str:
        formulas.append((found[1] or "", html.unescape(found[2])))
        return token(len(formulas) - 1)

    return SPAN.sub(put, without_tokens(text)), formulas


def _filled(text: str, formulas: Formulas, lit: str) -> str:
    def put(number: int) -> str:
        name, latex = formulas[number]
        return _formula(latex, bool(lit) and name == lit)

    return fill(text, put)


def _top_level(text: str) -> list[str]:
    """Top-level blocks as strings. Loose text and inline elements between blocks are joined to paragraphs; empty blocks vanish."""
    if not text.strip():
        return []
    blocks: list[str] = []
    loose = ""
    for node in lxml.html.fragments_fromstring(text):
        if isinstance(node, str):
            loose += html.escape(node, quote=False)
            continue
        tail, node.tail = html.escape(node.tail or "", quote=False), None
        shown = lxml.html.tostring(node, encoding="unicode")
        if node.tag not in BLOCKS:
            loose += shown + tail
            continue
        blocks += [f"<p>{loose}</p>", shown]
        loose = tail
    return [block for block in [*blocks, f"<p>{loose}</p>"] if TAG.sub("", block).strip()]


def written_blocks(text: str) -> list[str]:
    """A written answer of Task 3, plain text with LaTeX between dollar signs, as blocks of HTML like those of a post."""
    paragraphs = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    return [f"<p>{_written(paragraph)}</p>" for paragraph in paragraphs if paragraph.strip()]


def _written(text: str) -> str:
    out, at = [], 0
    for found in DOLLARS.finditer(text):
        out += [_plain(text[at : found.start()]), mathml((found[1] or found[2]).strip())]
        at = found.end()
    return "".join([*out, _plain(text[at:])])


def _plain(text: str) -> str:
    return html.escape(text.replace("\\$", "$"), quote=False).replace("\n", "<br>")
