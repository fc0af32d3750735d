"""The page of a thread: a question with its answers, comments, authors and related questions, and pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from porism.corpus.post import Comment
from porism.formula.latex.macros import Budget
from porism.formula.mathml.presentation import highlight
from porism.search.display.page_math import is_blank, page_math
from porism.search.display.post_formulas import mathml_of, readable_latex
from porism.search.display.results import HighlightedSegment, segments_html
from porism.search.display.snippet import SnippetBuilder, with_unmarked
from porism.search.engine import Engine
from porism.text.find import defined_macros, expand
from porism.text.page import MathBudget, PageRenderer, picture_in_words, remote_picture
from porism.text.segment import Segment, Text, plain_text
from porism.web.api import views
from porism.web.api.results import run_view
from porism.web.api.views import PostView, ThreadView
from porism.web.http.middleware import PICTURE_HEADERS
from porism.web.http.requests import parse_parameters
from porism.web.pages.attribution import NO_SITE, Attribution, author_names, bibtex_entries
from porism.web.pages.page import TAB, TEXT, SearchState, formula_link, render
from porism.web.site.look import public_root
from porism.web.site.settings import Licence

# The address of a picture in a stored text.
OWN_PICTURE = re.compile(r"images/([0-9a-f]{64}\.(?:png|jpg|gif|webp|svg))\Z")
TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml"}


async def image(request: Request) -> Response:
    """Return a picture of the collection."""
    name = str(request.path_params["name"])
    found = request.app.state.engine.content.images([name]) if OWN_PICTURE.match(f"images/{name}") else {}
    if name not in found:
        raise HTTPException(404)
    return Response(found[name], media_type=TYPES[name.rpartition(".")[2]], headers=PICTURE_HEADERS)


# An address ends before the punctuation of its sentence; a bracket belongs to it only with its partner.
_MARK = re.compile(
    r"(?P<address>https?://[^\s<>\"()\[\]]+(?:\([^\s<>\"()]*\)[^\s<>\"()\[\]]*)*(?<![.,;:!?'*_]))"
    r"|(?<![\w_$\\^{])_(?P<emphasis>[^\s_](?:[^_\n]{0,200}[^\s_])?)_(?![\w_])"
    r"|\[(?:meta-)?tag:(?P<tag>[\w.#+-]{1,40})\]"
)
_OPENING, _CLOSING = frozenset(("a", "code")), frozenset(("</a>", "</code>"))


def with_comment_marks(text: Text) -> Text:
    """Return the text of a comment with addresses, emphasis and tags as mark-up. Links and code stay as they are."""
    if not _MARK.search(text.stored):
        return text
    out: list[Segment] = []
    inside = 0
    for segment in text.segments:
        if segment.kind == "tag":
            name = re.match(r"<([a-z]+)", segment.text)
            inside += (name is not None and name[1] in _OPENING) - (segment.text in _CLOSING)
        out.extend(_marked(segment.text) if segment.kind == "text" and not inside else (segment,))
    return Text.of(out)


def _marked(text: str) -> list[Segment]:
    out: list[Segment] = []
    at = 0
    for found in _MARK.finditer(text):
        address, emphasis = found["address"], found["emphasis"]
        name = "a" if address else "em" if emphasis else "code"
        start = f'<a href="{html.escape(address)}">' if address else f"<{name}>"
        shown = Segment("text", address or emphasis or found["tag"])
        out += [Segment("text", text[at : found.start()]), Segment("tag", start), shown, Segment("tag", f"</{name}>")]
        at = found.end()
    return [*out, Segment("text", text[at:])]


MOST_COMPARED = 60  # formulas of a thread that are compared with those of the query
MOST_SIMILAR = 6  # questions that are similar to a question


@dataclass(frozen=True, slots=True)
class RenderedComment:
    """A comment as HTML with the name of its author."""

    body: Markup
    author: str
    created: str


@dataclass(frozen=True, slots=True)
class RenderedPost:
    """A post with its body and comments as HTML, its author, the address of the original, and its licence."""

    view: PostView
    body: Markup
    comments: tuple[RenderedComment, ...]
    author: str
    original: str
    licence: Licence | None


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """A question that is linked to another, or similar to it."""

    thread_id: int
    title: Markup
    kind: str


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """A thread ready for the template."""

    title: Markup
    plain_title: str
    question: RenderedPost
    answers: tuple[RenderedPost, ...]
    links: tuple[RelatedQuestion, ...]


@dataclass(frozen=True, slots=True)
class ThreadOptions:
    """How a site shows threads: whose posts they are, and whether pictures of other machines are shown."""

    attribution: Attribution = NO_SITE
    remote_images: bool = False


def thread_page(engine: Engine, thread: ThreadView, options: ThreadOptions, q: str = "") -> ThreadPage:
    """Return everything that the page of a thread shows, with matches of a query highlighted. The accepted answer comes
    first, then the others by score."""
    question = thread.question.post
    answers = sorted(
        thread.answers, key=lambda view: (view.post.id != question.accepted_id, -view.post.score, view.post.id)
    )
    views = (thread.question, *answers)
    comments = [comment for view in views for comment in view.comments]
    authors = author_names(engine.content, [*(view.post for view in views), *comments])
    highlights = engine.highlights(q, [view.post.id for view in views]) if q.strip() else None
    renderer = ThreadRenderer(options, highlights, [view.post.body for view in views], authors)
    return ThreadPage(
        Markup(renderer.title.render(with_unmarked(question.title))) or escape(f"Thread {question.id}"),
        plain_text(question.title, lambda formula: readable_latex(formula.text)),
        renderer.post(thread.question),
        tuple(renderer.post(view) for view in answers),
        tuple(_linked_questions(engine, thread)),
    )


class ThreadRenderer:
    """Renders the posts of one thread; macros that its bodies define hold for all of it."""

    def __init__(
        self,
        options: ThreadOptions,
        highlights: SnippetBuilder | None,
        bodies: Sequence[Text],
        authors: Mapping[int | None, str],
    ) -> None:
        self._authors = authors
        self._macros = defined_macros(bodies)
        self._budget = Budget(sum(len(body.stored) for body in bodies))
        self._options = options
        self._highlights = highlights
        self._compared = 0
        words: dict[str, Callable[..., str]] = {"words": self._words} if highlights else {}
        # Formulas of a body link to similar formulas. A title is a link elsewhere, so its formulas are not.
        page: dict[str, Callable[..., Any]] = {**words, "budget": MathBudget().whole_page}
        self.body = PageRenderer(self._linked_formula, picture=self._picture, **page)
        self.title = PageRenderer(self._formula, **page)

    def post(self, view: PostView) -> RenderedPost:
        """Return a post as HTML."""
        return RenderedPost(
            view,
            self.html(view.post.body),
            tuple(self._comment(comment) for comment in view.comments),
            self._authors.get(view.post.owner_id, ""),
            self._options.attribution.original(view.post),
            self._options.attribution.licence(view.post),
        )

    def _comment(self, comment: Comment) -> RenderedComment:
        body = self.html(with_comment_marks(comment.body))
        return RenderedComment(body, self._authors.get(comment.owner_id, ""), comment.created)

    def html(self, text: Text) -> Markup:
        """Return a field of a post as HTML; its formulas link to similar formulas."""
        return Markup(self.body.render(with_unmarked(text)))

    def _picture(self, alt: str, address: str) -> str:
        """Return the HTML of a picture, of the collection or of another machine."""
        if found := OWN_PICTURE.match(address):
            return f'<img src="/images/{found[1]}" alt="{html.escape(alt)}" loading="lazy">'
        return (remote_picture if self._options.remote_images else picture_in_words)(alt, address)

    def _words(self, text: str) -> str:
        assert self._highlights is not None
        return segments_html(self._highlights.words(text))

    def _formula(self, segment: Segment) -> str:
        return page_math(self._highlighted(self._expanded(segment)))

    def _linked_formula(self, segment: Segment) -> str:
        segment = self._expanded(segment)
        mathml = self._highlighted(segment)
        return "" if is_blank(mathml) else str(formula_link(segment.text, mathml))

    def _expanded(self, segment: Segment) -> Segment:
        """Return a formula with the macros that another formula of the thread defines, as the site shows it."""
        return segment._replace(text=expand(segment.text, self._macros, self._budget)) if self._macros else segment

    def _highlighted(self, segment: Segment) -> str:
        mathml = mathml_of(segment.text)
        if self._highlights is None or self._compared >= MOST_COMPARED:
            return mathml
        nodes = self._highlights.formula_nodes(segment)
        self._compared += bool(nodes)
        return highlight(mathml, nodes) if nodes else mathml


TITLE = PageRenderer(lambda segment: page_math(mathml_of(segment.text)))  # formulas of titles are not links


def _linked_questions(engine: Engine, thread: ThreadView) -> Iterable[RelatedQuestion]:
    posts = engine.content.posts_by_id(list(engine.content.known_posts([link.other_id for link in thread.links])))
    for link in thread.links:
        if other := posts.get(link.other_id):
            title = Markup(TITLE.render(with_unmarked(other.title)))
            yield RelatedQuestion(other.thread_id, title or escape(f"Post {other.id}"), link.kind)


def similar_questions(engine: Engine, id: int) -> tuple[RelatedQuestion, ...]:
    """Return the questions whose titles and texts are most similar to a question's title."""
    question = engine.content.posts_by_id([id])[id]
    title = plain_text(question.title)
    if not title.strip():
        return ()
    found = engine.search(title, k=MOST_SIMILAR + 1, kind="questions").hits
    similar = []
    for hit in found:
        if hit.thread_id != question.thread_id:
            unmarked = (HighlightedSegment(one.kind, one.text, one.mathml) for one in hit.title)
            shown = Markup(segments_html(unmarked, lambda latex, mathml: page_math(mathml)))
            similar.append(RelatedQuestion(hit.thread_id, shown, "similar"))
    return tuple(similar[:MOST_SIMILAR])


async def thread(request: Request) -> Response:
    """Show a question with its answers; matches of a query are highlighted."""
    values = parse_parameters((TEXT, TAB), request.query_params)
    id = int(request.path_params["id"])
    view = await run_view(request, views.thread, {"id": id})
    options = request.app.state.thread_options
    page = await run_view(request, thread_page, {"thread": view, "options": options, "q": values["q"]})
    return render(request, "thread.html", page=page, values=values, state=SearchState(values))


async def related(request: Request) -> Response:
    """Show the questions similar to one, as a page of its own; the page of the thread inserts its list."""
    id = int(request.path_params["id"])
    view = await run_view(request, views.thread, {"id": id})
    similar = await run_view(request, similar_questions, {"id": id})
    linked = {link.other_id for link in view.links}
    others = [one for one in similar if one.thread_id not in linked]
    return render(request, "related.html", thread_id=id, similar=others)


async def post(request: Request) -> Response:
    """Redirect to the post on the page of its thread."""
    view = await run_view(request, views.post, {"id": int(request.path_params["id"])})
    return RedirectResponse(f"/threads/{view.post.thread_id}#post-{view.post.id}", status_code=303)


async def cite(request: Request) -> Response:
    """Return the BibTeX entry of a post."""
    view = await run_view(request, views.post, {"id": int(request.path_params["id"])})
    state = request.app.state
    attribution = state.thread_options.attribution
    return PlainTextResponse(bibtex_entries(state.engine.content, [view.post], attribution, public_root(request)))


ROUTES = [
    Route("/threads/{id:number}", thread),
    Route("/threads/{id:number}/related", related),
    Route("/posts/{id:number}", post),
    Route("/posts/{id:number}/cite", cite),
    Route("/images/{name}", image),
]
