"""Records become safe HTML: segments, formulas with lit parts, posts, statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote_plus

from markupsafe import Markup, escape

from porism.corpus.stats import Count, distributions
from porism.corpus.store.collection import Collection
from porism.formula.mathml.highlight import highlight
from porism.search.display.notebook import segments_html
from porism.search.display.parsed_formulas import mathml_of
from porism.search.display.results import FormulaUse, FoundFormula, HighlightedSegment
from porism.search.engine import Engine
from porism.search.query import parts
from porism.text.page import PageRenderer
from porism.text.render import plain_text
from porism.text.segment import Segment, Text
from porism.web.api.views import PostView, ThreadView


def formula_link(latex: str, mathml: str) -> Markup:
    """A formula that leads to formulas like it."""
    # Nothing is left in a quoted text that HTML would have to escape.
    address = f"/search?q={quote_plus(f'${latex}$', errors='replace')}&amp;tab=formulas"
    return Markup(f'<a class="math-link" href="{address}" title="Similar formulas">{mathml}</a>')


def segments(pieces: Iterable[HighlightedSegment], links: bool = True) -> Markup:
    """Text and formulas of a hit, with what matched lit; formulas lead to formulas like them."""
    return Markup(segments_html(pieces, formula_link) if links else segments_html(pieces))


def naming(pieces: Iterable[HighlightedSegment]) -> Markup:
    """A name for a link that shows nothing but formulas, for those who listen to a page."""
    seen = list(pieces)
    if any(piece.kind == "text" and piece.text.strip() for piece in seen):
        return Markup("")
    return Markup(' aria-label="{}"').format(" ".join(piece.text for piece in seen) or "untitled")


def lit_formula(hit: FoundFormula) -> Markup:
    """A found formula with its matched part lit."""
    return Markup(highlight(hit.mathml, hit.highlighted_nodes) if hit.highlighted_nodes else hit.mathml)


def query(text: str) -> Markup:
    """A query or a reason as people read it: its formulas are set, not spelled."""
    return Markup("").join(
        Markup(mathml_of(part.source)) if part.kind == "formula" else escape(part.source) for part in parts(text)
    )


def formula(latex: str) -> Markup:
    """Return a formula as MathML."""
    return Markup(mathml_of(latex))


def name(text: str) -> Markup:
    """Return a name as MathML; the value of a wildcard is text already."""
    return Markup(mathml_of(text)) if text.isalnum() else escape(text)


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """A thread that uses a formula: the first of its posts that does, and how many of those shown do."""

    first: FormulaUse
    posts: int


def threads(uses: Iterable[FormulaUse]) -> list[ThreadUse]:
    """Uses of a formula, each thread once."""
    found: dict[int, list[FormulaUse]] = {}
    for use in uses:
        found.setdefault(use.thread_id, []).append(use)
    return [ThreadUse(posts[0], len(posts)) for posts in found.values()]


def took(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 0.001:
        return "under 1 ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


FILTERS = {
    "segments": segments,
    "link_label": naming,
    "highlighted_formula": lit_formula,
    "query": query,
    "formula": formula,
    "binding": name,
    "threads": threads,
    "duration": took,
}


@dataclass(frozen=True, slots=True)
class ShownPost:
    """A post ready for a page."""

    view: PostView
    body: Markup
    comments: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A linked question in the collection."""

    thread_id: int
    title: Markup
    kind: str


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """A thread ready for a page."""

    title: Markup
    plain_title: str
    question: ShownPost
    answers: tuple[ShownPost, ...]
    links: tuple[LinkedQuestion, ...]


def thread_page(engine: Engine, seen: ThreadView) -> ThreadPage:
    """Everything that the page of a thread shows."""
    question = seen.question.post
    accepted = question.accepted_id
    answers = sorted(seen.answers, key=lambda a: (a.post.id != accepted, -a.post.score, a.post.id))
    title = body_html(question.title) or escape(f"Thread {question.id}")
    plain = plain_text(question.title, lambda formula: formula.text)
    return ThreadPage(title, plain, shown(seen.question), tuple(shown(a) for a in answers), tuple(linked(engine, seen)))


def shown(view: PostView) -> ShownPost:
    """A post with its formulas set."""
    return ShownPost(view, body_html(view.post.body), tuple(body_html(c.body) for c in view.comments))


def linked_formula(segment: Segment) -> str:
    """A formula of a post, which leads to formulas like it."""
    return str(formula_link(segment.text, mathml_of(segment.text)))


BODIES = PageRenderer(linked_formula)
TITLES = PageRenderer(lambda segment: mathml_of(segment.text))


def body_html(text: Text) -> Markup:
    """A field of a post as HTML of a page: formulas as MathML that lead to formulas like them."""
    return Markup(BODIES.render(text))


def linked(engine: Engine, seen: ThreadView) -> Iterable[LinkedQuestion]:
    """Linked questions that are in the collection."""
    for link in seen.links:
        if engine.collection.has_post(link.other_id):
            other = engine.collection.post(link.other_id)
            title = Markup(TITLES.render(other.title))
            yield LinkedQuestion(other.thread_id, title or escape(f"Post {other.id}"), link.kind)


@dataclass(frozen=True, slots=True)
class ShownDistribution:
    """A distribution: values with their counts, the greatest count, and whether the values are formulas."""

    name: str
    rows: tuple[Count, ...]
    most: int
    has_formulas: bool


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a collection holds."""

    counts: tuple[Count, ...]
    distributions: tuple[ShownDistribution, ...]


# What is counted, and its name on the page.
COUNTED = {
    "posts": "posts",
    "comments": "comments",
    "formulas": "formulas",
    "expressions": "different LaTeX texts",
    "visuals": "formulas that look different",
    "links": "links between questions",
    "users": "users",
    "tags": "tags",
}


def statistics(engine: Engine) -> Statistics:
    """Counts and distributions; computed once, since a collection never changes."""
    return statistics_of(engine.collection)


@lru_cache(maxsize=4)
def statistics_of(collection: Collection) -> Statistics:
    """The same for a collection."""
    counts = tuple(Count(label, collection.count(name)) for name, label in COUNTED.items())
    made = tuple(
        ShownDistribution(d.title, d.rows, max((n for _, n in d.rows), default=1), "latex" in d.columns)
        for d in distributions(collection)
    )
    return Statistics(counts, made)
